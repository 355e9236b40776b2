"""Reading files: encodings, lines of bounded length, and texts that a bank can hold."""

import tracemalloc

import pytest

from memory.errors import UnreadableFile
from memory.importers.reading import source
from memory.importers.reading.source import TextLine, clean_text, read_chunks, read_lines
from memory.types import Skip


def lines_of(path, skips=None):
    return list(read_lines(path, [] if skips is None else skips))


def written(tmp_path, content):
    path = tmp_path / "history.txt"
    path.write_bytes(content)
    return path


def test_lines_are_counted_from_one_and_lose_their_ends(tmp_path):
    assert lines_of(written(tmp_path, b"one\r\n\ntwo")) == [
        TextLine("line 1", "one", True),
        TextLine("line 2", "", True),
        TextLine("line 3", "two", False),
    ]


def test_a_byte_order_mark_is_accepted_and_not_read(tmp_path):
    assert lines_of(written(tmp_path, "\ufeffhello".encode())) == [TextLine("line 1", "hello", False)]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_wide_encodings_with_a_mark_are_decoded(tmp_path, encoding):
    assert lines_of(written(tmp_path, "héllo 🌊\nשלום".encode(encoding)))[0].text == "héllo 🌊"


def test_a_character_across_two_chunks_stays_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "CHUNK_BYTES", 3)
    assert lines_of(written(tmp_path, "a🌊b\nцве́т".encode())) == [
        TextLine("line 1", "a🌊b", True),
        TextLine("line 2", "цве́т", False),
    ]


def test_wrong_encoding_names_the_byte_after_what_stands_before_it(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "CHUNK_BYTES", 4)
    path = written(tmp_path, b"good\nbad caf\xe9 here")
    chunks = read_chunks(path)
    kept = []
    with pytest.raises(UnreadableFile, match=r"history\.txt is not UTF-8 text: byte 0xe9 at offset 12"):
        kept.extend(iter(lambda: next(chunks), None))
    assert b"".join(kept) == b"good\nbad caf"


def test_an_overlong_line_is_passed_over_with_its_number(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "MAX_LINE_BYTES", 10)
    skips = []
    first, last = lines_of(written(tmp_path, b"short\n" + b"x" * 50 + b"\nend"), skips)
    assert (first.text, last) == ("short", TextLine("line 3", "end", False))
    assert skips == [Skip("line 2", "longer than 10 bytes; skipped")]


def test_an_overlong_line_is_never_held_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "MAX_LINE_BYTES", 1 << 20)
    path = written(tmp_path, b"x" * (32 << 20) + b"\nAnna: hi\n")
    tracemalloc.start()
    try:
        skips = []
        found = lines_of(path, skips)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(skips), [line.text for line in found]) == (1, ["Anna: hi"])
    assert peak < 6 << 20


def test_a_missing_file_is_unreadable_rather_than_an_os_error(tmp_path):
    with pytest.raises(UnreadableFile, match=r"nowhere\.txt cannot be read"):
        lines_of(tmp_path / "nowhere.txt")


def test_clean_removes_zeros_and_replaces_lone_surrogates():
    skips = []
    assert clean_text("a\x00b\ud800c", "line 1", skips) == "ab\ufffdc"
    assert skips == [Skip("line 1", "1 U+0000 characters removed, 1 unpaired surrogates replaced by U+FFFD")]


def test_clean_leaves_emoji_and_right_to_left_text_alone():
    text = "👩‍👩‍👧 שלום \u200fمرحبا"
    skips = []
    assert (clean_text(text, "line 1", skips), skips) == (text, [])
