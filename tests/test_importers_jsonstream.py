"""Streaming JSON: values with their places, and faults with theirs."""

import json
import tracemalloc

import pytest

from memory.errors import UnreadableFile
from memory.importers.reading import json_stream as jsonstream
from memory.importers.reading import source
from memory.importers.reading.json_stream import format_place, outline, stream_values


def written(tmp_path, content):
    path = tmp_path / "data.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def values_of(path, depth=1):
    return list(stream_values(path, lambda place: len(place) < depth))


def test_values_come_with_their_places(tmp_path):
    path = written(tmp_path, {"a": [1, {"b": 2}], "c": [], "d": "x"})
    assert values_of(path) == [(("a",), [1, {"b": 2}]), (("c",), []), (("d",), "x")]
    assert values_of(path, depth=2) == [(("a", 0), 1), (("a", 1), {"b": 2}), (("d",), "x")]


def test_a_truncated_file_gives_all_before_the_break_and_says_where(tmp_path):
    path = written(tmp_path, b'[{"a": 1}, {"a": 2}, {"a": ')
    kept = []
    with pytest.raises(UnreadableFile) as fault:
        kept.extend(stream_values(path, lambda place: not place))
    assert [value for _, value in kept] == [{"a": 1}, {"a": 2}]
    assert "data.json ends unexpectedly at byte 27, in [2]: expected the rest" in str(fault.value)


def test_broken_json_names_the_byte_the_line_and_what_was_expected(tmp_path):
    path = written(tmp_path, b'[{"a": 1},\n {"a" 2}]')
    kept = []
    with pytest.raises(UnreadableFile) as fault:
        kept.extend(stream_values(path, lambda place: not place))
    assert kept == [((0,), {"a": 1})]
    assert "byte 18 (line 2), in [1]: object key and value must be separated by a colon" in str(fault.value)


def test_the_byte_is_named_in_a_later_chunk_too(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "CHUNK_BYTES", 7)
    path = written(tmp_path, b'["one", "two", oops]')
    with pytest.raises(UnreadableFile, match="at byte 15 "):
        values_of(path)


@pytest.mark.parametrize("place", [0, 1, 63, 64, 4095, 4096, 4097, 200_000])
def test_the_byte_is_found_in_few_steps_behind_a_long_text(tmp_path, monkeypatch, place):
    pushed = []
    push = jsonstream._push
    monkeypatch.setattr(jsonstream, "_push", lambda parser, data: pushed.append(data) or push(parser, data))
    start = b'["' + b"x" * 300_000 + b"y" * place
    path = written(tmp_path, start + b'\n", 1]')  # a line break has to be escaped
    with pytest.raises(UnreadableFile, match=f"at byte {len(start):,} \\(line 1\\), in \\[0\\]"):
        values_of(path)
    assert len(pushed) < 300


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 1000])
def test_escaped_surrogates_survive_any_chunking(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(source, "CHUNK_BYTES", chunk)
    path = written(
        tmp_path, rb'["\ud83c\udf0a", "\ud800", "\udc00x", "\\ud800", "\ud800\ud83c\udf0a", "\\\\", "\u00e9"]'
    )
    texts = [value for _, value in values_of(path)]
    assert texts == ["🌊", "\ufffd", "\ufffdx", r"\ud800", "\ufffd🌊", "\\\\", "é"]


@pytest.mark.parametrize("number", ["1" * 6000, "1e999999999999", "-"])
def test_a_number_that_cannot_be_held_is_a_fault_of_the_file(tmp_path, number):
    with pytest.raises(UnreadableFile, match="invalid JSON"):
        values_of(written(tmp_path, f"[1, {number}]".encode()))


def test_deep_nesting_is_read_or_refused_without_a_crash(tmp_path):
    with pytest.raises(UnreadableFile, match=r"the value at \[0\] is nested over 200 levels deep"):
        values_of(written(tmp_path, b"[" * 200_000))


def test_one_endless_value_is_refused_instead_of_held(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonstream, "MAX_TEXT_BYTES", 1 << 20)
    path = written(tmp_path, b'["' + b"x" * (8 << 20) + b'"]')
    with pytest.raises(UnreadableFile, match=r"one value at \[0\] is over 1,048,576 bytes"):
        values_of(path)


def test_one_endless_list_is_refused_instead_of_held(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonstream, "MAX_VALUE_BYTES", 1 << 20)
    path = written(tmp_path, b"[[" + b"1," * (1 << 20) + b"1]]")
    with pytest.raises(UnreadableFile, match=r"one value at \[0\] is over 1,048,576 bytes"):
        values_of(path)


def test_memory_does_not_grow_with_the_file(tmp_path):
    path = tmp_path / "large.json"
    item = json.dumps({"text": "word " * 10_000}).encode()
    path.write_bytes(b"[" + b",".join([item] * 600) + b"]")
    tracemalloc.start()
    try:
        count = sum(1 for _ in stream_values(path, lambda place: not place))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 600
    assert peak < path.stat().st_size / 5


def test_outline_reads_a_head_that_breaks_off():
    assert {("[]", "qa", "[]", "evidence"), ("[]",)} <= outline(b'[{"qa": [{"evidence": ["D1:1"], "answ')


def test_places_read_as_a_path():
    assert format_place((3, "haystack_sessions", 12)) == "[3].haystack_sessions[12]"
    assert format_place(()) == "the start"
