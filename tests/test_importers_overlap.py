"""A log that is exported again may begin in the midst of what is known: each message is held once, none is lost."""

import json
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import ingest
from memory.bank.bank import Bank

START = datetime(2024, 5, 1, 8, 0)

MESSAGE = st.tuples(
    st.sampled_from([0, 0, 0, 1, 5, 60 * 7]),  # minutes since the one before: many in one, some after a long pause
    st.sampled_from(["Ana", "Bo"]),
    st.sampled_from(["ha", "ok", "Where is my kayak?", "By the lake."]),
)


@st.composite
def chats(draw):
    """A chat, where the first export of it ends and where the second begins.

    The second begins with words that do not come twice: where they stand twice in one minute, no file tells which.
    """
    said = draw(st.lists(MESSAGE, min_size=2, max_size=25))
    begins = draw(st.integers(0, len(said) - 1))
    ends = draw(st.integers(begins + 1, len(said)))
    said[begins] = (*said[begins][:2], "Now then.")
    return timed(said), begins, ends


def timed(said):
    at, lines = START, []
    for pause, speaker, text in said:
        at += timedelta(minutes=pause)
        lines.append((at, speaker, text))
    return lines


def whatsapp(folder, lines):
    folder.mkdir()
    path = folder / "WhatsApp Chat with Bo.txt"
    path.write_text("".join(f"{at:%d/%m/%Y, %H:%M} - {who}: {text}\n" for at, who, text in lines), encoding="utf-8")
    return path


def telegram(folder, numbered):
    folder.mkdir()
    path = folder / "result.json"
    told = [
        {"id": n, "type": "message", "date": at.isoformat(), "from": who, "from_id": f"user{who}", "text": text}
        for n, (at, who, text) in numbered
    ]
    path.write_text(json.dumps({"name": "Bo", "type": "personal_chat", "id": 22, "messages": told}), encoding="utf-8")
    return path


def held(bank):
    """All that was said, in order."""
    return [
        (turn.said_at.replace(tzinfo=None), turn.speaker, turn.text)
        for session in sorted(bank.sessions(1), key=lambda s: (s.started_at, s.id))
        for turn in bank.turns(1, session.id)
    ]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(chats())
def test_a_whatsapp_chat_in_two_parts_that_overlap_is_the_chat(tmp_path_factory, chat):
    lines, begins, ends = chat
    folder = tmp_path_factory.mktemp("overlap")
    bank = Bank(folder / "bank.db")
    first, second = whatsapp(folder / "1", lines[:ends]), whatsapp(folder / "2", lines[begins:])
    ingest.ingest(bank, first)
    report = ingest.ingest(bank, second).histories[0]
    assert held(bank) == lines
    assert report.stored.turns == len(lines) - ends
    assert report.stored.known_turns == ends - begins
    for file in (first, second, whatsapp(folder / "3", lines)):
        ingest.ingest(bank, file)
    assert held(bank) == lines


@settings(max_examples=30, deadline=None)
@given(chats())
def test_a_telegram_chat_in_two_parts_that_overlap_is_the_chat(tmp_path_factory, chat):
    lines, begins, ends = chat
    folder = tmp_path_factory.mktemp("overlap")
    bank = Bank(folder / "bank.db")
    numbered = list(enumerate(lines, start=1))
    ingest.ingest(bank, telegram(folder / "1", numbered[:ends]))
    ingest.ingest(bank, telegram(folder / "2", numbered[begins:]))
    assert held(bank) == lines
    ingest.ingest(bank, telegram(folder / "3", numbered))
    assert held(bank) == lines


def test_a_part_that_disagrees_is_another_session(tmp_path):
    bank = Bank(tmp_path / "bank.db")
    ingest.ingest(bank, whatsapp(tmp_path / "1", timed([(0, "Ana", "Hello."), (1, "Bo", "Hi."), (1, "Ana", "Bye.")])))
    ingest.ingest(bank, whatsapp(tmp_path / "2", timed([(1, "Bo", "Hi."), (1, "Ana", "Another chat.")])))
    assert [s.turn_count for s in bank.sessions(1)] == [3, 2]
