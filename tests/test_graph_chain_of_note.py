"""A chat model reads what was found, and what it says is checked: its form, its citations, its quotes, its length."""

import json
from dataclasses import replace

import pytest

from graph.assistant import Answer, Assistant
from graph.models import tokens
from graph.readers.chain_of_note import reader as chain_of_note
from graph.readers.chain_of_note.reply_formats import REASONS
from graph.state import Token
from memory.types import MemoryDraft
from support.chat_server import Broken, ChatServer
from support.event_stream import events_of
from support.model_reader import ADOPTED, QUESTION, adopted, answered, number_of, reading_with, shown


def line_of(answer):
    return next(line for line in answer.trace if line.node == "read")


def unknown(reason, answer="I don't know that."):
    return json.dumps({"notes": [], "answer": answer, "citations": [], "reason": reason})


@pytest.mark.parametrize("form", ["json", "nl"])
def test_notes_and_answer_come_in_one_reply(marlow, form):
    with ChatServer(adopted) as server:
        reply = answered(marlow, server)
        request = server.requests[0]
    if form == "nl":
        with ChatServer(adopted(request)) as server:
            reply = answered(marlow, server, format="nl")
            assert isinstance(shown(server.requests[0])[1], str)
    reading = reply.reading
    assert reading.answer == "On 3 March 2024 [1]."
    (citation,) = reading.citations
    assert (citation.number, citation.memory.text) == (1, ADOPTED)
    assert citation.quote == "greyhound called Biscuit yesterday"
    assert [note.says for note in reading.notes] == ["on 3 March 2024"]
    assert reading.by == server.model()
    figures = line_of(reply).figures
    assert (figures["tokens in"], figures["tokens out"], figures["citations dropped"]) == (11, 3, 0)
    assert "con" in line_of(reply).decided


def test_notes_first_then_the_answer_from_them_alone(marlow):
    def notes(request):
        return json.dumps({"notes": json.loads(adopted(request))["notes"]})

    def answer(request):
        data = shown(request)[1]
        assert [set(m) & {"text"} for m in data["memories"]] == [set()]
        return f"You adopted Biscuit on 3 March 2024 [{data['notes'][0]['memory']}], a Sunday, if I count rightly."

    with ChatServer(notes, answer) as server:
        assistant = Assistant(reading_with(marlow, server, method="con-separate"))
        events = events_of(assistant, marlow.asks(QUESTION, remember=False))
    reading = events[-1].reading
    pieces = [e.text for e in events if isinstance(e, Token) and e.text]
    assert reading.answer == "You adopted Biscuit on 3 March 2024 [1], a Sunday, if I count rightly."
    assert pieces == [reading.answer]
    assert reading.citations[0].quote == "adopted a greyhound called Biscuit"
    assert line_of(events[-1]).figures["tokens out"] == 6


def test_an_answer_that_recites_the_prompt_is_never_shown(marlow):
    recited = "After each statement write the number of its memory, like [2]. Say only what the memories say."
    with ChatServer(recited) as server:
        assistant = Assistant(reading_with(marlow, server, method="direct"))
        events = events_of(assistant, marlow.asks(QUESTION, remember=False))
    said = "".join(e.text for e in events if isinstance(e, Token))
    assert "number of its memory" not in said
    assert "3 March 2024" in events[-1].reading.answer
    assert "repeated its instructions" in events[-1].reading.notice


@pytest.mark.parametrize(
    "reply", ["The party came first.", "Because of the war [1].", "When did you adopt Biscuit? In March.", "An egg is:"]
)
def test_an_answer_is_shown_whatever_its_words(marlow, reply):
    with ChatServer(reply) as server:
        reading = answered(marlow, server, method="direct").reading
    assert (reading.by, reading.answer) == (server.model(), reply)


def test_an_abstention_is_said_in_the_words_of_the_model(marlow):
    said = "I don't know that. You told me of Biscuit, but never of a brother."
    with ChatServer(f"UNKNOWN: found but does not say\n{said}") as server:
        reading = answered(marlow, server, method="direct").reading
    assert reading.abstained
    assert reading.answer == said


def test_small_talk_that_the_model_does_not_know_has_its_words_too(marlow):
    said = "You never said who you are, only that you have a greyhound."
    with ChatServer(f"UNKNOWN: found but does not say\n{said}") as server:
        assistant = Assistant(reading_with(marlow, server, method="direct"))
        reading = assistant.ask(marlow.asks("do you know who you're talking to?", remember=False)).reading
    assert (reading.by, reading.answer) == (server.model(), said)


def test_an_escape_that_json_does_not_have_is_asked_for_again(marlow):
    with ChatServer('{"notes": [], "answer": "It\\\'s Biscuit', adopted) as server:
        reading = answered(marlow, server, method="con").reading
    assert reading.answer == "On 3 March 2024 [1]."


def test_only_the_limit_of_words_that_is_set_goes_into_the_prompt(marlow):
    with ChatServer(adopted) as server:
        answered(marlow, server)
        answered(marlow, server, max_words=50)
        free, limited = (request["messages"][1]["content"] for request in server.requests)
    assert "words" not in free.partition("Answer in your own voice")[2].partition(".")[0]
    assert "in at most 50 words" in limited


def test_without_notes_the_answer_has_its_marks_numbered_as_they_appear(marlow):
    def answer(request):
        return f"<think>Let me see [3].</think>\nA greyhound [{number_of(request, ADOPTED)}], and a ghost [99]."

    with ChatServer(answer) as server:
        assistant = Assistant(reading_with(marlow, server, method="direct"))
        events = events_of(assistant, marlow.asks(QUESTION, remember=False))
    reading = events[-1].reading
    assert reading.answer == "A greyhound [1], and a ghost."
    assert "".join(e.text for e in events if isinstance(e, Token)) == reading.answer
    assert line_of(events[-1]).figures["citations dropped"] == 1


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("method", ["con", "con-separate", "direct"])
def test_an_abstention_has_its_reason_whatever_the_method(marlow, method, reason):
    said = [unknown(reason)] if method == "con" else [f"UNKNOWN: {reason}\nI don't know that."]
    replies = ['{"notes": []}', *said] if method == "con-separate" else said
    with ChatServer(*replies) as server:
        assistant = Assistant(reading_with(marlow, server, method=method))
        events = events_of(assistant, marlow.asks(QUESTION, remember=False))
    reading = events[-1].reading
    assert (reading.abstained, reading.reason, reading.citations) == (True, reason, ())
    assert reading.answer == "I don't know that."
    assert "UNKNOWN" not in "".join(e.text for e in events if isinstance(e, Token))


@pytest.mark.parametrize("method", ["con", "direct"])
def test_an_abstention_without_words_gets_those_of_the_personas_manner(marlow, method):
    reply = unknown("nothing found", "") if method == "con" else "UNKNOWN: nothing found"
    persona = replace(marlow.persona, manner="formal")
    with ChatServer(reply) as server:
        reading = answered(replace(marlow, persona=persona), server, method=method).reading
    assert reading.answer.startswith("I am afraid I do not know")


def test_a_citation_that_names_nothing_or_quotes_what_is_not_there_is_dropped_and_counted(marlow):
    def made_up(request):
        number = number_of(request, ADOPTED)
        said = json.loads(adopted(request))
        said["notes"].append({"memory": number, "quote": "a whippet", "note": "invented"})
        said["notes"].append({"memory": 77, "quote": "x", "note": "of nothing"})
        said["citations"] += [{"memory": 88, "quote": "x"}]
        other = next(m["number"] for m in shown(request)[1]["memories"] if m["number"] != number)
        said["citations"] += [{"memory": other, "quote": "words that nobody said"}]
        said["answer"] += f" Really [{other}]."
        return json.dumps(said)

    with ChatServer(made_up) as server:
        answer = answered(marlow, server)
    assert [c.memory.text for c in answer.reading.citations] == [ADOPTED]
    assert len(answer.reading.notes) == 1
    assert answer.reading.answer == "On 3 March 2024 [1]. Really."
    assert line_of(answer).figures["citations dropped"] == 4
    assert "4 citations dropped" in line_of(answer).decided


def test_words_quoted_in_an_answer_must_stand_in_the_memory_that_it_names(marlow):
    with ChatServer(lambda r: f"You said “I adopted a tiger” [{number_of(r, ADOPTED)}].") as server:
        answer = answered(marlow, server, method="direct")
    assert answer.reading.answer == "You said “I adopted a tiger”."
    assert line_of(answer).figures["citations dropped"] == 1


@pytest.mark.parametrize(
    "bad",
    ["I think it was in March.", '{"notes": []}', '{"answer": 3}', "```json\n{]\n```", '{"notes": [], "extra": 1}'],
)
def test_a_reply_of_another_form_is_asked_for_once_more(marlow, bad):
    with ChatServer(bad, adopted_twice) as server:
        answer = answered(marlow, server)
        assert len(server.requests) == 2
        again = server.requests[1]["messages"][-1]["content"]
    assert "could not be used" in again
    assert bad not in again
    assert answer.reading.answer == "On 3 March 2024 [1]."
    assert line_of(answer).figures["tokens out"] == 6


def adopted_twice(request):
    *_, last = request["messages"]
    data = last["content"].partition("\n\nYour reply")[0]
    return adopted({"messages": [*request["messages"][:-1], {"content": data}]})


def test_a_model_that_never_keeps_to_the_form_leaves_the_answer_to_the_extractive_reader_by_name(marlow):
    with ChatServer("Well, in March.") as server:
        answer = answered(marlow, server)
        assert len(server.requests) == 2
    reading = answer.reading
    assert reading.by == "extractive"
    assert "3 March 2024" in reading.answer
    assert "did not reply in the requested form" in reading.notice
    assert line_of(answer).decided.startswith("without the chat model (")
    assert line_of(answer).figures["tokens in"] == 22
    assert not reading.unreachable


def test_where_no_model_is_named_the_extractive_reader_reads(marlow):
    answer = Assistant(marlow.services).ask(marlow.asks(QUESTION, remember=False))
    assert (answer.reading.by, answer.reading.notice) == ("extractive", "")


def test_the_extractive_reader_can_be_chosen_beside_a_model(marlow):
    with ChatServer("x") as server:
        assert answered(marlow, server, reader="extractive").reading.by == "extractive"
        assert server.requests == []


def test_memories_come_in_the_order_of_time_with_dates_and_intervals_computed(marlow):
    with ChatServer(adopted) as server:
        answered(marlow, server)
        data = shown(server.requests[0])[1]
    held = {m["text"]: m for m in data["memories"]}
    assert [m["number"] for m in data["memories"]] == list(range(1, len(held) + 1))
    memory = held[ADOPTED]
    assert memory["said_on"] == "4 March 2024"
    assert memory["dates"] == {"yesterday": "3 March 2024"}
    assert (memory["happened"], memory["ago"]) == ("3 March 2024", "120 days (17 weeks 1 day; 3 months 28 days)")
    regatta = held["Tilde won the rowing regatta at Lake Hallen."]
    assert regatta["happened"] == "10 February 2024"
    repaired = next(m["number"] for m in data["memories"] if "accordion" in m["text"])
    (apart,) = [line for line in data["intervals"] if line.startswith(f"from {memory['number']} to ") and "46" in line]
    assert str(repaired) in apart.partition(" to ")[2]
    assert apart.endswith(": 46 days (6 weeks 4 days; 1 month 15 days)")
    assert data["today"] == "Monday, 1 July 2024, 10:00"


def test_the_prompt_holds_no_number_of_the_bank(marlow):
    marlow.services.bank.add_memories(marlow.persona.id, [MemoryDraft("world", f"Filler {n}.") for n in range(50)])
    with ChatServer(adopted) as server:
        answered(marlow, server)
        data = shown(server.requests[0])[1]
    assert max(m["number"] for m in data["memories"]) == len(data["memories"])
    assert set().union(*data["memories"]) <= {
        "number", "speaker", "said_on", "happened", "ago", "ended", "dates", "text",
    }  # fmt: skip


@pytest.mark.parametrize("context", [1600, 2000, 3000, 8192])
@pytest.mark.parametrize("form", ["json", "nl"])
def test_a_prompt_never_overflows_what_the_model_can_read_and_the_last_ranked_go_first(
    marlow, monkeypatch, context, form
):
    texts = [f"Biscuit memory {n}: " + "the greyhound ran along the harbour wall. " * (n % 7 + 1) for n in range(40)]
    marlow.services.bank.add_memories(marlow.persona.id, [MemoryDraft("world", text) for text in texts])
    monkeypatch.setattr(chain_of_note, "ANSWER_TOKENS", 100)
    monkeypatch.setattr(chain_of_note, "NOTES_TOKENS", 0)
    monkeypatch.setattr(chain_of_note, "REPAIR_ROOM", 0)
    with ChatServer(unknown("nothing found"), models=[{"id": "scripted", "max_model_len": context}]) as server:
        answer = answered(marlow, server, format=form)
        request = server.requests[0]
    talk = [(m["role"], m["content"]) for m in request["messages"]]
    read = line_of(answer).figures
    assert tokens.count_tokens(reading_with(marlow, server).model, talk) == read["prompt tokens"] <= context - 100
    kept = [hit.kept for hit in answer.hits if hit.kept or hit.why.startswith("beyond what the chat model")]
    assert kept == sorted(kept, reverse=True)
    assert kept.count(False) == read["left out"]
    assert read["left out"] > 0 or context >= 2000


@pytest.mark.parametrize("form", ["json", "nl"])
def test_notes_that_run_on_do_not_overflow_the_prompt_for_the_answer(marlow, monkeypatch, form):
    monkeypatch.setattr(chain_of_note, "ANSWER_TOKENS", 100)
    monkeypatch.setattr(chain_of_note, "NOTES_TOKENS", 0)

    def notes(request):
        quotes = [m.text for m in marlow.services.bank.memories(marlow.persona.id)]
        note = " ".join(f"note {n}" for n in range(150))
        said = [{"memory": n, "quote": text, "note": note} for n in range(1, 9) for text in quotes]
        return json.dumps({"notes": said})[:5_000].rpartition(", {")[0] + "]}"

    with ChatServer(notes, "No.", models=[{"id": "scripted", "max_model_len": 2200}]) as server:
        answered(marlow, server, method="con-separate", format=form)
        talks = [[(m["role"], m["content"]) for m in r["messages"]] for r in server.requests]
    assert len(talks) == 2
    model = reading_with(marlow, server).model
    assert all(tokens.count_tokens(model, talk) <= 2200 - 100 for talk in talks)
    assert "note 1 note 2" in talks[1][0][1]


def test_where_no_note_was_taken_the_answer_sees_no_memory(marlow):
    with ChatServer('{"notes": []}', "UNKNOWN: nothing found") as server:
        answered(marlow, server, method="con-separate")
        assert shown(server.requests[1])[1]["memories"] == []


def test_a_question_longer_than_the_model_can_read_is_said_to_be(marlow):
    with ChatServer("x") as server:
        answer = answered(marlow, server, "Where is Biscuit? " * 3000 + "Where is Biscuit?")
        assert server.requests == []
    assert "Shorten the question" in answer.reading.notice


def test_a_long_card_does_not_keep_the_memories_out(marlow):
    with marlow.services.bank.writing() as db:
        db.execute(
            "UPDATE personas SET description = ?, traits = ?", ["A sailor. " * 5000, json.dumps(["calm"] * 9000)]
        )
    marlow.persona = marlow.services.bank.persona(marlow.persona.id)
    with ChatServer(adopted, models=[{"id": "scripted", "max_model_len": 8192}]) as server:
        answered(marlow, server)
        system, data = shown(server.requests[0])
    assert 'Description: "A sailor. A sailor.' in system
    assert 'Traits: "calm; calm' in system
    assert data["memories"]


def test_one_long_memory_does_not_keep_the_others_out(marlow):
    long = MemoryDraft("world", "Biscuit the greyhound. " * 5000)
    marlow.services.bank.add_memories(marlow.persona.id, [long])
    with ChatServer(adopted) as server:
        answer = answered(marlow, server)
        memories = shown(server.requests[0])[1]["memories"]
    assert answer.reading.answer == "On 3 March 2024 [1]."
    assert max(len(m["text"]) for m in memories) < 16384 / 2


def test_what_is_told_with_a_question_is_stored_and_the_model_just_answers(marlow):
    with ChatServer(adopted) as server:
        answer = answered(marlow, server, "I sold the canoe today. When did I adopt Biscuit?", remember=True)
    assert answer.reading.answer == "On 3 March 2024 [1]."
    assert answer.stored.memories


def test_a_server_without_schemas_is_read_just_as_strictly(marlow):
    with ChatServer(lambda r: adopted(r), schemas=()) as server:
        assert answered(marlow, server).reading.answer == "On 3 March 2024 [1]."


def test_the_answer_is_the_last_event_even_when_the_model_fails(marlow):
    with ChatServer(Broken(401, "{}")) as server:
        *_, last = events_of(Assistant(reading_with(marlow, server)), marlow.asks(QUESTION))
    assert isinstance(last, Answer)
    assert last.stored.turns == 2
