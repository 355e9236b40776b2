"""Archives: read where they lie, refused by name where they lie about themselves, and nothing is changed by those."""

import io
import struct
import tracemalloc
import zipfile

import pytest

from memory.__main__ import main
from memory.errors import UnreadableFile
from memory.importers import detect as archive
from memory.importers.detect import unpack
from memory.importers.generic import memoir
from memory.importers.reading.source import read_head
from memory.ingest import ingest, summarize
from support.bad_input import assert_unharmed, persona, seeded, session, write_lines
from support.export_files import EXPORTS, read_all, skips, turns, write_zip

CHATGPT = (EXPORTS / "chatgpt.json").read_text()
OFFICE = {"[Content_Types].xml": "<x/>", "word/document.xml": "<x/>"}


@pytest.fixture
def bank(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))
    return seeded(tmp_path / "home")


def nested(tmp_path):
    return write_zip(tmp_path / "inner.zip", {"conversations.json": CHATGPT}).read_bytes()


def encrypted():
    """An archive whose one member is marked as encrypted, in both places where that is said."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as zipped:
        zipped.writestr("conversations.json", CHATGPT)
    content = bytearray(packed.getvalue())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def declaring(size):
    """An archive that declares another size for its member than it has."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("conversations.json", CHATGPT)
    content = bytearray(packed.getvalue())
    struct.pack_into("<L", content, content.index(b"PK\x01\x02") + 24, size)
    return bytes(content)


def in_folder(name):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as zipped:
        zipped.writestr(name, CHATGPT)
    return packed.getvalue()


def whole(**members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in members.items():
            zipped.writestr(name.replace("_", "."), content)
    return packed.getvalue()


REFUSED = {
    "encrypted": (encrypted, "'conversations.json' in it is encrypted; expected an archive without a password"),
    "traversal": (lambda: in_folder("../../conversations.json"), "contains a path outside itself ('../../conver"),
    "backslashes": (lambda: in_folder("a\\..\\..\\b.json"), "contains a path outside itself"),
    "absolute": (lambda: in_folder("/etc/conversations.json"), "contains a path outside itself ('/etc/"),
    "drive": (lambda: in_folder("C:\\conversations.json"), "contains a path outside itself"),
    "truncated": (lambda: whole(a_json=CHATGPT)[:-30], "is damaged or incomplete (it has no list of files at its end)"),
    "headless": (lambda: b"PK\x03\x04" + b"rest of it", "is damaged or incomplete"),
    "bomb": (lambda: whole(a_json=b"[" + b" " * (8 << 20)), "unpacks to 1"),
    "huge": (lambda: declaring(0xFFFFFFFE), "unpacks to 4,294,967,294 bytes; expected at most 2,147,483,648"),
    "empty": (lambda: whole(), "it looks like a zip archive without a file of a known format (it is empty)"),
    "document": (lambda: whole(**OFFICE), "without a file of a known format"),
    "unknown": (lambda: whole(a_json='{"rows": [1]}'), "a.json: it looks like JSON with the keys rows"),
    "pickled": (lambda: whole(a_json=b"\x80\x04K\x01."), "a.json: it looks like a Python pickle"),
    "blank": (lambda: whole(a_txt=b""), "a.txt: it is empty (0 bytes)"),
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("name", ["export.zip", "conversations.json"])
def test_an_archive_that_must_not_be_read_is_refused_and_changes_nothing(bank, tmp_path, capsys, kind, name):
    make, reason = REFUSED[kind]
    path = tmp_path / name
    path.write_bytes(make())
    for read in (summarize, lambda path: ingest(bank, path)):
        with pytest.raises(UnreadableFile) as refusal:
            read(path)
        assert str(refusal.value).startswith(f"{name} cannot be imported: it looks like a zip archive")
        assert reason in str(refusal.value)
    assert main(["import", str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"memoir: {name} cannot be imported")
    assert [p.name for p in bank.personas()] == ["Iris"]
    assert_unharmed(bank)
    assert {p.name for p in tmp_path.iterdir()} == {"home", name}


def test_an_archive_in_an_archive_is_named_with_what_to_do(tmp_path):
    path = write_zip(tmp_path / "outer.zip", {"inner.zip": nested(tmp_path)})
    with pytest.raises(UnreadableFile, match=r"inner\.zip: an archive inside the archive; unpack this one and import"):
        unpack(path)


def test_an_archive_within_that_is_called_json_is_not_opened(tmp_path):
    path = write_zip(tmp_path / "outer.zip", {"conversations.json": nested(tmp_path)})
    with pytest.raises(UnreadableFile, match=r"conversations\.json: it looks like a zip archive within another"):
        unpack(path)


def test_a_member_that_is_longer_than_declared_is_told_as_damaged(bank, tmp_path):
    path = tmp_path / "export.zip"
    path.write_bytes(declaring(200))
    with pytest.raises(UnreadableFile, match=r"export\.zip: conversations\.json is damaged in its archive: Bad CRC-32"):
        summarize(path)
    assert_unharmed(bank)


def test_a_member_that_is_damaged_is_kept_up_to_there(bank, tmp_path):
    lines = write_lines(tmp_path / "h.jsonl", persona("Zoe"), *(session(n, turns=20) for n in range(400))).read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as zipped:
        zipped.writestr("h.jsonl", lines)
    content = bytearray(packed.getvalue())
    content[400_000] ^= 1
    path = tmp_path / "h.zip"
    path.write_bytes(content)
    report = ingest(bank, path)
    assert report.fault.startswith("h.zip: h.jsonl is damaged in its archive: Bad CRC-32")
    assert 0 < report.histories[0].stored.sessions <= 400
    assert_unharmed(bank)


def test_any_known_format_is_read_out_of_an_archive(tmp_path):
    lines = write_lines(tmp_path / "h.jsonl", persona("Zoe"), session(1))
    zipped = write_zip(tmp_path / "h.zip", {"folder/h.jsonl": lines.read_bytes()})
    assert unpack(zipped).importer is memoir
    assert read_all(zipped) == read_all(lines)


def test_an_archive_is_read_as_the_format_that_says_most_of_itself(tmp_path):
    claude = (EXPORTS / "claude.json").read_text()
    members = {"notes.txt": "Ana: hi\nBo: hello\n", "claude.json": claude, "conversations.json": CHATGPT}
    records = read_all(write_zip(tmp_path / "both.zip", members))
    assert [turn.external_id for turn in turns(records)] == ["n-question", "n-answer-2"]
    reason = "not ChatGPT; only one format is read from an archive. Import it by itself"
    assert skips(records)[-2:] == [
        ("notes.txt", f"it is transcript, {reason}"),
        ("claude.json", f"it is Claude, {reason}"),
    ]


def test_notes_of_macos_are_passed_over(tmp_path):
    members = {"conversations.json": CHATGPT, "__MACOSX/._conversations.json": b"\x00\x05", "folder/": ""}
    records = read_all(write_zip(tmp_path / "export.zip", members))
    assert skips(records)[-1] == ("__MACOSX/._conversations.json", "metadata added by macOS")


def test_an_endless_list_of_members_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_DIRECTORY_BYTES", 1000)
    path = write_zip(tmp_path / "many.zip", {f"{n}.json": CHATGPT for n in range(100)})
    with pytest.raises(UnreadableFile, match=r"lists [0-9,]+ bytes of files; expected at most 1,000"):
        unpack(path)


def test_an_archive_of_very_many_names_is_refused_before_they_are_listed(tmp_path, monkeypatch):
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as zipped:
        for n in range(archive.MAX_MEMBERS + 1):
            zipped.writestr(zipfile.ZipInfo(f"{n:06}.jpg"), b"")
    content = bytearray(path.read_bytes())
    struct.pack_into("<HH", content, len(content) - 14, 1, 1)  # the number of members, as if there were one
    path.write_bytes(content)
    monkeypatch.setattr(zipfile, "ZipFile", None)
    with pytest.raises(UnreadableFile, match=r"lists 50,001 files; expected at most 50,000"):
        unpack(path)


def test_an_archive_of_very_many_texts_is_refused_before_they_are_looked_into(tmp_path, monkeypatch):
    path = write_zip(tmp_path / "many.zip", {f"{n}.json": "" for n in range(archive.MAX_TEXTS + 1)})
    monkeypatch.setattr(archive, "read_head", lambda source: read_head(path) if source == path else pytest.fail("read"))
    with pytest.raises(UnreadableFile, match=r"contains 5,001 texts; expected at most 5,000"):
        unpack(path)


def test_records_that_contradict_each_other_hide_no_list_of_members(tmp_path, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    monkeypatch.setattr(archive, "MAX_DIRECTORY_BYTES", 1000)
    path = write_zip(tmp_path / "many.zip", {f"{n}.json": CHATGPT for n in range(100)})
    content = bytearray(path.read_bytes())
    struct.pack_into("<L", content, len(content) - 10, 100)  # the size in the last record; the 64-bit one has the true
    path.write_bytes(content)
    with pytest.raises(UnreadableFile, match=r"lists [0-9,]+ bytes of files; expected at most 1,000"):
        unpack(path)


def test_a_directory_of_64_bits_is_measured_too(tmp_path, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    path = write_zip(tmp_path / "large.zip", {"conversations.json": CHATGPT, "user.json": "{}"})
    assert b"PK\x06\x06" in path.read_bytes()
    assert len(turns(read_all(path))) == 2


def test_a_method_that_inflates_without_bound_is_refused(tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as zipped:
        zipped.writestr("conversations.json", CHATGPT)
    with pytest.raises(UnreadableFile, match=r"is packed by method 12; expected deflate, as exports are"):
        unpack(path)


def test_progress_is_told_of_what_is_unpacked(bank, tmp_path):
    lines = write_lines(tmp_path / "h.jsonl", persona("Zoe"), *(session(n, words="gulls " * 50) for n in range(50)))
    told = []
    ingest(bank, write_zip(tmp_path / "h.zip", {"h.jsonl": lines.read_bytes()}), progress=told.append)
    assert told == sorted(told)
    assert told[len(told) // 2] < 0.9


def test_memory_does_not_grow_with_an_archive(tmp_path):
    words = "".join(f"{n} gulls over the water, " for n in range(1500))
    conversation = CHATGPT.strip()[1:-1].replace("Hang it from the beams", words)
    large = "[" + ",".join([conversation] * 400) + "]"
    found = unpack(write_zip(tmp_path / "export.zip", {"conversations.json": large}))
    tracemalloc.start()
    try:
        count = sum(1 for _ in found.importer.read(found.sources[0]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count > 400
    assert peak < len(large) / 3
