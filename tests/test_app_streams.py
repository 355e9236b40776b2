"""The stream on which a page hears of its events: no event is left unheard, though it comes as the stream ends."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import httpx
import pytest

from graph.server.page import CROSSING, LINGER, Page, isolate_pages
from support.browser_app import served

SESSION = "window"


@pytest.fixture
def window(tmp_path: Path) -> Iterator[httpx.Client]:
    """What asks as a page would whose two buttons count."""
    isolate_pages()
    with Page() as page:
        for number in range(2):
            gr.Button().click(lambda number=number: number, None, gr.Number())
    with served(page, tmp_path) as url, httpx.Client(base_url=f"{url}gradio_api/", timeout=60) as asking:
        yield asking


def join(window: httpx.Client, number: int, **named: str) -> str:
    asked = {"fn_index": number, "data": [], "session_hash": SESSION, **named}
    return str(window.post("queue/join", json=asked).raise_for_status().json()["event_id"])


def hear(window: httpx.Client) -> Iterator[tuple[str, str | None]]:
    """The kind of each message and the event that it is about, until the stream ends."""
    with window.stream("GET", "queue/data", params={"session_hash": SESSION}) as told:
        for line in told.iter_lines():
            if line:
                message = json.loads(line.removeprefix("data: "))
                yield message["msg"], message.get("event_id")


def test_what_is_asked_right_after_the_last_event_is_heard_on_the_same_stream(window: httpx.Client) -> None:
    first, heard = join(window, 0), hear(window)
    assert ("process_completed", first) in iter(heard.__next__, ("close_stream", None))
    time.sleep(LINGER / 5)
    second = join(window, 1)
    assert ("process_completed", second) in iter(heard.__next__, ("close_stream", None))
    assert [kind for kind, _ in heard][-1] == "close_stream"


def test_what_is_asked_while_the_word_of_the_end_is_on_its_way_is_answered_when_that_has_come(
    window: httpx.Client,
) -> None:
    join(window, 0)
    assert [kind for kind, _ in hear(window)][-1] == "close_stream"
    ended = time.monotonic()
    second = join(window, 1)
    assert time.monotonic() - ended > CROSSING / 2
    assert ("process_completed", second) in list(hear(window))


def test_a_stream_ends_that_is_opened_long_after_its_last_event(window: httpx.Client) -> None:
    first = join(window, 0)
    time.sleep(LINGER * 2)
    told = list(hear(window))
    assert ("process_completed", first) in told
    assert told[-1] == ("close_stream", None)


def test_a_call_of_a_program_ends_with_its_answer_and_tells_nothing_more(window: httpx.Client) -> None:
    called = window.post("call/lambda", json={"data": [], "session_hash": SESSION}).raise_for_status().json()
    told = window.get(f"call/lambda/{called['event_id']}").text
    assert told.count("event: complete") == 1
