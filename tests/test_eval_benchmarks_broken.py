"""Whatever a file holds, an adapter makes histories of it or refuses it; it never fails otherwise."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eval.benchmarks.beam import adapter as beam
from eval.benchmarks.locomo import adapter as locomo
from eval.benchmarks.longmemeval import adapter as longmemeval
from eval.benchmarks.madial import adapter as madial
from eval.benchmarks.memoir import adapter as memoir
from eval.benchmarks.perltqa import adapter as perltqa
from memory.errors import UnreadableFile

LIVES = Path(__file__).parent / "data" / "lives"

QUESTION = {
    "question_id": "q",
    "question_type": "t",
    "question": "q?",
    "question_date": "2024/05/30 (Thu) 23:40",
    "answer": "a",
    "answer_session_ids": ["s"],
    "haystack_dates": ["2024/05/01 (Wed) 09:30"],
    "haystack_session_ids": ["s"],
    "haystack_sessions": [[{"role": "user", "content": "c", "has_answer": True}]],
}
SAMPLE = {
    "sample_id": "c",
    "qa": [{"question": "q?", "answer": "a", "evidence": ["D1:1"], "category": 4}],
    "conversation": {"speaker_a": "A", "session_1": [{"speaker": "A", "dia_id": "D1:1", "text": "t"}]},
}
CHARACTER = {
    "profile": {"Protagonist": "P", "Age": 3},
    "social_relationship": {"1_1": {"Supporting Characters": "M"}},
    "events": {"1_1_0": {"content": "c", "Creation Time": "2018"}},
    "dialogues": {"1_1_0#1": {"contents": {"2018-07-15 10:00": ["A: b"]}}},
}
ITEM = {"Question": "q?", "Answer": "a", "Reference Memory": "['1_1_0']", "Memory Anchors": [{"a": [0, 1]}]}
DIALOGUE = {
    "dialogue": ["<BOD>", '<Bart>: "a"', '<Assistant>: "b"'],
    "test-turn": [2],
    "relevant-id": [1],
    "user-id": 1,
}
MEMORY = {"1": {"time": "2023-12-25", "scene": "s", "emotion": "e", "event": "Bart v", "user-id": 1}}
PROBE = {"id": "p", "ability": "temporal", "question": "q?", "asked_at": "2026-10-04", "answers": ["a"], "evidence": []}
MESSAGE = {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "c ->-> 1,1"}
ASKED = {"knowledge_update": [{"question": "q?", "answer": "a", "source_chat_ids": {"old": [0], "new": [0]}}]}

FILES = {
    beam: {
        "chat.json": json.dumps([{"batch_number": 1, "turns": [[MESSAGE]]}]),
        "probing_questions/probing_questions.json": json.dumps(ASKED),
    },
    longmemeval: {"longmemeval_s.json": json.dumps([QUESTION])},
    locomo: {"locomo10.json": json.dumps([SAMPLE])},
    perltqa: {
        "perltmem.json": json.dumps([CHARACTER]),
        "perltqa.json": json.dumps([{"P": {"profile": [], "events": [{"1_1_0": [ITEM]}]}}]),
    },
    madial: {"a-dialogue.json": json.dumps(DIALOGUE) + "\n", "a-memory.json": json.dumps(MEMORY) + "\n"},
    memoir: {
        "pia.jsonl": (LIVES / "pia.jsonl").read_text(encoding="utf-8"),
        "pia.probes.jsonl": json.dumps(PROBE) + "\n",
    },
}
REPLACED = (b"null", b"[]", b"{}", b'"', b"7", b"-1", b"true", b'"x"', b"[[", b"\\ud800", b"9" * 30, b"\xff", b"NaN")


@pytest.mark.parametrize("adapter", FILES, ids=lambda adapter: adapter.TITLE)
def test_the_files_used_here_are_whole(adapter, tmp_path):
    for name, text in FILES[adapter].items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert [len(history.probes) for history in adapter.load(tmp_path)] == [1]


@pytest.mark.parametrize("adapter", FILES, ids=lambda adapter: adapter.TITLE)
@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_damaged_file_is_read_or_refused(adapter, tmp_path, data):
    for name, text in FILES[adapter].items():
        content = bytearray(text.encode())
        for _ in range(data.draw(st.integers(0, 3))):
            start = data.draw(st.integers(0, len(content)))
            end = data.draw(st.integers(start, min(len(content), start + 20)))
            content[start:end] = data.draw(st.binary(max_size=4) | st.sampled_from(REPLACED))
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    check(adapter, tmp_path)


@pytest.mark.parametrize("adapter", FILES, ids=lambda adapter: adapter.TITLE)
@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_value_of_another_kind_is_read_or_refused(adapter, tmp_path, data):
    for name, text in FILES[adapter].items():
        lines = [json.loads(line) for line in text.splitlines()]
        for _ in range(data.draw(st.integers(0, 3))):
            number = data.draw(st.integers(0, len(lines) - 1))
            lines[number] = change(lines[number], data)
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    check(adapter, tmp_path)


def change(value, data):
    """Put something else at some place within."""
    if isinstance(value, dict | list) and value and data.draw(st.integers(0, 5)):
        key = data.draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
        changed = value.copy()
        changed[key] = change(value[key], data)
        return changed
    others = [None, True, 5, -1.5, "", "x", "[1", "{1}", [], [[]], {}, {"a": {}}, [None], "1_1_0", "2018"]
    return data.draw(st.sampled_from(others))


def check(adapter, folder):
    with suppress(UnreadableFile):
        histories = list(adapter.load(folder))
        ids = [(history.id, probe.id) for history in histories for probe in history.probes]
        assert len(set(ids)) == len(ids)
        for history in histories:
            stored = {turn.external_id for session in history.sessions for turn in session.turns}
            stored |= {memory.external_id for memory in history.memories}
            sessions = {session.external_id for session in history.sessions}
            for probe in history.probes:
                assert probe.question.strip()
                assert probe.asked_at.utcoffset() is not None
                assert set(probe.gold.turns) <= stored
                assert set(probe.gold.sessions) <= sessions
                assert set(probe.gold.items) <= stored | sessions
