"""The prompts, word for word: whoever changes one changes what published figures of ours were measured with."""

import hashlib

import pytest

from graph.readers.prompts import TASKS, instruction
from support.chat_server import ChatServer
from support.model_reader import ADOPTED, adopted, answered, shown

# Changed on purpose? Then say so in the changelog, and put the new digest here.
DIGESTS = {
    ("con", "json"): "be39d9abbea5",
    ("con", "nl"): "bae25f82e1e8",
    ("notes", "json"): "4a7536c3c728",
    ("notes", "nl"): "5114cf8a599f",
    ("from notes", "json"): "a9e151460dbd",
    ("from notes", "nl"): "ff48e2c8b1d0",
    ("direct", "json"): "7af5f7aa17e7",
    ("direct", "nl"): "4f7c24b4bea8",
}


@pytest.mark.parametrize(("task", "form"), DIGESTS)
def test_an_instruction_is_word_for_word_what_it_was(task, form):
    assert hashlib.sha256(instruction(task, form).encode()).hexdigest()[:12] == DIGESTS[task, form]


def test_every_task_has_its_instruction():
    assert {task for task, _ in DIGESTS} == set(TASKS)


def test_a_prompt_is_one_instruction_and_one_message_of_data(marlow):
    with ChatServer(adopted) as server:
        answered(marlow, server)
        data = shown(server.requests[0])[1]
    assert list(data) == ["persona", "asked_on", "memories", "intervals", "question"]
    assert data["persona"] == {"name": "Marlow", "manner": "plain"}
    memory = next(m for m in data["memories"] if m["text"] == ADOPTED)
    assert memory == {
        "number": memory["number"],
        "kind": "dialogue",
        "speaker": "Tilde",
        "said_on": "Monday, 4 March 2024",
        "happened": "3 March 2024",
        "ago": "120 days (17 weeks 1 day; 3 months 28 days)",
        "dates": [{"words": "yesterday", "mean": "3 March 2024"}],
        "text": ADOPTED,
    }


def test_sentences_say_what_json_says(marlow):
    with ChatServer(adopted) as server:
        answered(marlow, server)
        answered(marlow, server, format="nl")
        text = shown(server.requests[1])[1]
    assert text.startswith('## Who you are\nname: "Marlow"\nmanner: "plain"\n\n## Today\nIt is Monday, 1 July 2024')
    said = 'said on Monday, 4 March 2024 by "Tilde", of 3 March 2024, 120 days (17 weeks 1 day; 3 months 28 days) ago'
    assert f'{said}: "{ADOPTED}" "yesterday" means 3 March 2024.' in text
    assert text.endswith('## The question\n"When did I adopt Biscuit?"')


def test_a_question_that_compares_no_times_is_spared_the_intervals(marlow):
    with ChatServer(adopted) as server:
        answered(marlow, server, "What is my dog called?")
        assert "intervals" not in shown(server.requests[0])[1]
