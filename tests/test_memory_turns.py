"""What somebody asked is computed before what is embedded and learned in the background."""

import threading
import time

import numpy as np
import pytest

from memory.embedding import minilm, networks, turns


def started(work) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_the_background_waits_while_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 60)
    done: list[str] = []

    def work() -> None:
        with turns.background_turn():
            done.append("embedded")

    with turns.asking():
        with turns.asking():
            background = started(work)
        time.sleep(0.2)
        assert done == []
    background.join(30)
    assert done == ["embedded"]


def test_the_background_goes_on_where_somebody_always_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.1)
    with turns.asking(), turns.background_turn():
        pass


def test_one_thing_at_a_time_is_done_in_the_background() -> None:
    at_once, most = 0, 0

    def work() -> None:
        nonlocal at_once, most
        with turns.background_turn():
            at_once += 1
            most = max(most, at_once)
            time.sleep(0.01)
            at_once -= 1

    for thread in [started(work) for _ in range(6)]:
        thread.join(30)
    assert most == 1


def test_who_asks_and_fails_lets_the_background_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 60)
    with pytest.raises(ValueError, match="asked"), turns.asking():
        raise ValueError("asked")
    with turns.background_turn():
        pass


def test_who_is_stopped_while_others_ask_and_work_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 60)
    began = time.monotonic()
    with turns.asking(), turns.background_turn(lambda: True):
        pass
    assert time.monotonic() - began < 30


def test_what_is_asked_never_waits_for_its_own_turn_however_many_sentences_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder, waited = minilm.MiniLM(), list[int]()
    monkeypatch.setattr(networks, "give_way", lambda: waited.append(1))
    texts = ["word " * count for count in range(1, 240, 17)]  # each of another length, so computed by itself
    with turns.asking():
        asked = encoder.encode(texts)
    assert waited == []
    with turns.background_turn():
        embedded = encoder.encode(texts)
    assert len(waited) == len(texts)
    np.testing.assert_allclose(asked, embedded, atol=1e-5)
