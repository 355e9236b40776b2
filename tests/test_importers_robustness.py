"""Whatever bytes come, an importer reads them or refuses them; it never fails otherwise."""

import json
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.errors import UnreadableFile
from memory.importers import IMPORTERS
from memory.importers.detect import unpack
from memory.importers.reading.source import HEAD_BYTES
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Skip
from support.export_files import write_zip
from support.import_seeds import CARD, EDITS, SEEDS

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
names = st.sampled_from(
    (
        "memoir persona session sessions turns memory memories text store started_at event conversation session_1 time "
        "session_1_date_time speaker_a question_id haystack_sessions haystack_dates haystack_session_ids history "
        "profile events dialogues contents 2024-05-01 mapping message parent author content parts chat_messages sender "
        "chat currentId id parentId role messageId parentMessageId children messagesTree type from_id date chats list "
        "spec data name description tags character_book entries mes is_user send_date swipes"
    ).split()
)
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | st.text(max_size=4), inner, max_size=4),
    max_leaves=15,
)


@st.composite
def mutated(draw, seeds=SEEDS):
    content = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 12)))
        content[start:end] = draw(st.binary(max_size=6) | st.sampled_from(EDITS))
    return bytes(content)


def check_every_importer(path):
    with suppress(UnreadableFile):
        found = unpack(path)
        for source in found.sources:
            list(found.importer.read(source))
    for importer in IMPORTERS.values():
        assert importer.sniff(path.read_bytes()[:HEAD_BYTES]) in (True, False)
        with suppress(UnreadableFile):
            for record in importer.read(path):
                assert isinstance(record, PersonaDraft | SessionDraft | MemoryDraft | Skip)
                repr(record).encode()
                check_texts(record)


def check_texts(record):
    if isinstance(record, SessionDraft):
        assert record.turns
        for turn in record.turns:
            assert turn.text.strip()
            assert "\x00" not in turn.text + turn.speaker
            (turn.text + turn.speaker + turn.external_id + turn.said_text).encode()
        (record.external_id + record.started_text + record.title).encode()
    if isinstance(record, PersonaDraft):
        assert record.name.encode()


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(content=st.binary(max_size=300))
def test_arbitrary_bytes_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("bytes") / "any.bin"
    path.write_bytes(content)
    check_every_importer(path)


@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(content=mutated())
def test_mutated_files_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("mutated") / "any.bin"
    path.write_bytes(content)
    check_every_importer(path)


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_mutated_archives_and_pictures_are_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("wrapped") / "any.bin"
    text = b"[01/05/24, 08:00:05] Ana: hi\n"
    zipped = write_zip(path, {"_chat.txt": text, "a/b.json": "[]", "c.jpg": b"x"}).read_bytes()
    path.write_bytes(data.draw(mutated(seeds=(zipped, CARD))))
    with suppress(UnreadableFile):
        found = unpack(path)
        for source in found.sources:
            list(found.importer.read(source))


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(tree=trees)
def test_valid_json_of_any_shape_is_read_or_refused(tmp_path_factory, tree):
    path = tmp_path_factory.mktemp("trees") / "any.json"
    path.write_text(json.dumps(tree), encoding="utf-8")
    check_every_importer(path)


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"memoir": 1, "persona": ' + b"[" * 100_000,
        b'{"memoir": 1, "persona": {"name": ' + b"9" * 10_000 + b"}}",
        b'{"memoir": 1, "persona": {"name": 1e999999}}',
        b"\\" * 100_000,
        b"A: b\n" + b"\n" * 100_000,
        b"A" * 100_000 + b": b",
        b"[2024-05-01 " * 10_000,
        b"# " * 50_000,
    ],
)
def test_contrived_files_are_read_or_refused_quickly(tmp_path, content):
    path = tmp_path / "contrived.bin"
    path.write_bytes(content)
    check_every_importer(path)
