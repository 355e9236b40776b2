"""Telling formats apart by content, and saying what an unknown file looks like."""

import json
import pickle

import pytest

from memory.errors import UnreadableFile
from memory.importers import IMPORTERS
from memory.importers.detect import unpack
from memory.importers.reading.source import HEAD_BYTES

EXAMPLES = {
    "memoir": '{"memoir": 1, "persona": {"name": "Iris"}}',
    "longmemeval": '[{"question_id": "q1", "haystack_dates": [], "haystack_session_ids": [], "haystack_sessions": []}]',
    "locomo": '[{"qa": [{"question": "?", "evidence": ["D1:1"], "category": 1}], "conversation": {"speaker_a": "A"}}]',
    "perltqa": '{"Mo": {"profile": {"Protagonist": "Mo"}, "profile_description": "", "events": {}}}',
    "madial": '{"7": {"time": "2024-01-02", "scene": "Others", "emotion": "Calm", "event": "Pia fed the cat."}}',
    "memorybank": '{"Mo": {"name": "Mo", "history": {"2024-01-02": [{"query": "hi", "response": "hello"}]}}}',
    "dialsim": "[Date: March 3, 2001, Session #1]\nPia: Where is the boat?\n",
    "transcript": "Pia: Where is the boat?\nMo: By the pier.\n",
    "chatgpt": '[{"title": "Boat", "create_time": 1.5, "mapping": {"n": {"parent": null, "message": null}}}]',
    "claude": '[{"uuid": "c", "name": "Boat", "chat_messages": [{"uuid": "m", "text": "hi", "sender": "human"}]}]',
    "openwebui": '[{"id": "c", "chat": {"title": "Boat", "history": {"currentId": "m", "messages": {}}}}]',
    "librechat": '{"conversationId": "c", "messages": [{"messageId": "m", "parentMessageId": "0", "text": "hi"}]}',
    "telegram": '{"name": "Mo", "type": "personal_chat", "id": 1, "messages": [{"from_id": "user1", "text": "hi"}]}',
    "card": '{"spec": "chara_card_v2", "data": {"name": "Mo", "description": "A miller.", "first_mes": "Hi"}}',
    "sillytavern": '{"user_name": "Pia", "character_name": "Mo"}\n{"name": "Mo", "is_user": false, "mes": "hi"}\n',
    "whatsapp": "[01/05/24, 08:00:05] Pia: Where is the boat?\n[01/05/24, 08:00:09] Mo: By the pier.\n",
}


def written(tmp_path, content, name="upload.bin"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal_of(path):
    with pytest.raises(UnreadableFile) as fault:
        unpack(path)
    return str(fault.value)


def test_every_format_has_an_example():
    assert EXAMPLES.keys() == IMPORTERS.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_format_is_known_by_its_content(tmp_path, name):
    assert unpack(written(tmp_path, EXAMPLES[name])).importer is IMPORTERS[name]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_file_name_does_not_matter(tmp_path, name):
    assert unpack(written(tmp_path, EXAMPLES[name], "locomo10.json")).importer is IMPORTERS[name]


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_does_not_hide_the_format(tmp_path, name, encoding):
    assert unpack(written(tmp_path, EXAMPLES[name].encode(encoding))).importer is IMPORTERS[name]


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_example_is_claimed_by_two_json_formats(name):
    claims = [key for key, importer in IMPORTERS.items() if importer.sniff(EXAMPLES[name].encode())]
    assert claims[0] == name
    assert set(claims[1:]) <= {"transcript"}


def test_a_long_file_is_known_by_its_head(tmp_path):
    sessions = [[{"role": "user", "content": "word " * 1000}]] * 200
    record = {"question_id": "q", "haystack_dates": [], "haystack_session_ids": [], "haystack_sessions": sessions}
    path = written(tmp_path, json.dumps([record]))
    assert path.stat().st_size > HEAD_BYTES
    assert unpack(path).importer is IMPORTERS["longmemeval"]


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        (b"", "it is empty (0 bytes)"),
        (b" \n\t ", "only white space"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\x00IEND\xaeB`\x82", "a picture without a character card"),
        (b"\x1f\x8b\x08rest", "a gzip archive"),
        (b"SQLite format 3\x00", "an SQLite database"),
        (pickle.dumps({"a": [1, 2, "x"]}), "a Python pickle"),
        (bytes(range(256)) * 4, "it is binary"),
        ("Anna: café".encode("latin-1"), "it is not UTF-8 text (byte 0xe9 at offset 9); save it as UTF-8"),
        ("Anna: hi\nBen: hello".encode("utf-16-le"), "UTF-16 text without a byte-order mark"),
        (b'{"name": "x", "items": [1, 2]}', "JSON with the keys items, name"),
        (b"Once upon a time there was a text.\nNobody spoke in it.", "it is text without lines of the form"),
        (b"<html><body>Hi: there</body></html>", "it is text without lines of the form"),
    ],
)
def test_what_cannot_be_read_is_described(tmp_path, content, looks):
    refusal = refusal_of(written(tmp_path, content))
    assert looks in refusal
    assert refusal.startswith("upload.bin cannot be imported")
    assert f"Known formats: {', '.join(importer.NAME for importer in IMPORTERS.values())}." in refusal


def test_a_missing_file_and_a_folder_are_unreadable(tmp_path):
    assert "nowhere.json cannot be opened" in refusal_of(tmp_path / "nowhere.json")
    assert "cannot be opened" in refusal_of(tmp_path)


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("longmemeval/longmemeval_s_cleaned_dev.json", "longmemeval"),
        ("locomo/locomo_dev.json", "locomo"),
        ("perltqa/perltmem_en_v2.sample.json", "perltqa"),
        ("madial_bench/en/MADial-Bench-en-memory.json", "madial"),
        ("madial_bench/ch/MADial-Bench-zh-memory.json", "madial"),
        ("memorybank/memory_bank_en.json", "memorybank"),
        ("memorybank/memory_bank_cn.json", "memorybank"),
    ],
)
def test_the_published_files_are_known(benchmark_data, file, name):
    assert unpack(benchmark_data / file).importer is IMPORTERS[name]


@pytest.mark.data
@pytest.mark.parametrize("file", ["perltqa/perltqa_en_v2.sample.json", "madial_bench/en/MADial-Bench-en-dialogue.json"])
def test_files_of_questions_hold_no_memory(benchmark_data, file):
    assert "it looks like JSON with the keys" in refusal_of(benchmark_data / file)
