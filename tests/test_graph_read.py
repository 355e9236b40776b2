"""An answer quotes and cites what was told, with the date it resolves to, or says why it is not known."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from graph.readers import line_reader
from graph.readers.composing import MAX_NEAREST
from graph.readers.stating import MAX_WORDS
from graph.replies.phrases import SMALL_TALK, manner
from graph.state import Services
from memory.bank.bank import Bank
from memory.search.searcher import Searcher
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, TurnDraft

ANSWERED = {
    "When did I adopt Biscuit?": "3 March 2024",
    "Who repaired the canoe with me?": "Olaf",
    "What did Olaf repair?": "canoe",
    "What did we seal the canoe with?": "pine tar",
    "When did Olaf visit me?": "13–14 April 2024",
    "Where does the spare key of the boathouse hang?": "behind the barometer",
    "What is Tilde's occupation?": "lock keeper",
    "When did Tilde win the regatta?": "10 February 2024",
}


def cited(answer):
    return tuple(int(number) for number in re.findall(r"\[(\d+)\]", answer))


def ask(chat, text):
    return chat.again().say(text, remember=False).reading


@pytest.mark.parametrize(("question", "answer"), ANSWERED.items())
def test_what_was_told_is_answered_with_a_citation(marlow, question, answer):
    reading = ask(marlow, question)
    assert not reading.abstained
    assert answer.lower() in reading.answer.lower()
    assert cited(reading.answer) == tuple(c.number for c in reading.citations)
    assert [c.number for c in reading.citations] == list(range(1, len(reading.citations) + 1))


@pytest.mark.parametrize("question", [*ANSWERED, "Which instruments have I played?", "What did I say on 20 May 2024?"])
def test_an_answer_has_at_most_fifty_words_and_quotes_what_stands_there(marlow, question):
    reading = ask(marlow, question)
    assert len(reading.answer.split()) <= MAX_WORDS
    assert reading.citations
    for citation in reading.citations:
        held = marlow.services.bank.memory(marlow.persona.id, citation.memory.id)
        assert citation.memory == held
        assert citation.quote in held.text
        assert citation.scores["fused"] >= 0


def test_a_citation_leads_to_the_turn_that_said_it(marlow):
    (citation,) = ask(marlow, "When did I adopt Biscuit?").citations
    (turn,) = marlow.services.bank.sources(marlow.persona.id, citation.memory.id)
    assert (turn.speaker, turn.text) == ("Tilde", "I adopted a greyhound called Biscuit yesterday.")


def test_a_long_turn_is_clipped_around_the_answer(marlow):
    reading = ask(marlow, "Where does the spare key of the boathouse hang?")
    assert "barometer" in reading.answer
    assert "campfire" not in reading.answer


def test_a_list_quotes_several_memories(marlow):
    reading = ask(marlow, "Which instruments have I played?")
    assert len({c.memory.id for c in reading.citations}) > 1
    assert "accordion" in reading.answer
    assert "cello" in reading.answer


def test_an_empty_memory_found_nothing(services, marlow):
    nobody = services.bank.create_persona(PersonaDraft("Nobody"))
    reading = ask(replace(marlow, persona=nobody), "When did I adopt Biscuit?")
    assert (reading.abstained, reading.reason, reading.citations) == (True, "nothing found", ())


def test_what_is_near_but_does_not_say_is_seldom_an_answer(marlow):
    questions = ("What is the name of my parrot?", "What colour is my car?", "When did I fly to the moon?")
    readings = [ask(marlow, question) for question in questions]
    declined = [reading for reading in readings if reading.abstained]
    assert len(declined) >= len(questions) - 1
    for reading in declined:
        assert reading.reason == "found but does not say"
        assert reading.notes
        assert len(reading.citations) <= MAX_NEAREST


def test_unsure_it_shows_the_lines_that_are_nearest_in_meaning(services, marlow):
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")))
    for text in ("we adopted a kitten called miso last weekend", "the gutters are full of leaves"):
        chat.say(text)
    reading = ask(chat, "what did the vet say about miso")
    assert reading.abstained
    assert "miso" in reading.citations[0].memory.text.casefold()
    assert reading.answer.startswith(manner("plain").unsure)
    unknown = ask(chat, "whats my blood type")
    assert unknown.citations == ()
    assert unknown.answer.startswith("I don't know")


def test_a_fact_about_the_user_is_said_in_the_second_person_and_not_quoted(services, marlow):
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")))
    chat.say("my name is noor")
    answer = ask(chat, "do you know who you're talking to").answer
    assert answer.startswith("Your name is Noor. You told me ")
    assert "“" not in answer


def test_who_the_user_is_is_known_in_whatever_words_it_is_asked(services, marlow):
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")))
    words = ("who am i?", "do you remember my name?", "whats my name again", "do you know who you're talking to")
    assert "Kevin" not in "".join(ask(chat, asked).answer for asked in words)
    for told in ("my boss is called Sandra", "I'm Kevin", "ive got a job interview tomorow at 10am"):
        chat.say(told)
    for asked in words:
        reading = ask(chat, asked)
        assert "Kevin" in reading.answer, asked
        assert reading.citations
        assert not reading.abstained


def test_the_name_is_not_read_from_a_line_about_another(tmp_path, services, marlow):
    bank = Bank(tmp_path / "own.db")
    own = Services(bank, Searcher(bank, services.searcher.embedder), services.classifier)
    chat = replace(marlow, services=own, persona=bank.create_persona(PersonaDraft("Quill")))
    for told in ("the dog is a 3 yr old labrador", "i hate horror films", "my boss is called Sandra", "I'm Kevin"):
        chat.say(told)
    assert chat.again().say("do you remember my name?").reading.answer.startswith("Your name is Kevin.")


def test_a_name_nobody_mentioned_is_named(marlow):
    reading = ask(marlow, "When did Zebulon visit me?")
    assert reading.reason == "found but does not say"
    assert "“Zebulon”" in reading.answer


def test_what_is_true_of_ones_brother_is_not_said_of_oneself(services, marlow):
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")))
    for told in ("my brother is a plumber and he lives in hull", "i work at the council"):
        chat.say(told)
    asking = chat.again()
    assert asking.say("where do i work").reading.answer.startswith(("The council.", "You work at the council."))
    assert asking.say("what does my brother do").reading.answer.startswith("Your brother is a plumber")
    home = asking.say("where do i live").reading
    assert home.abstained
    assert "is about someone else: “my brother is a plumber" in home.answer


def test_what_somebody_else_did_is_not_said_of_the_one_asked_about(services, marlow):
    bank = services.bank
    friends = bank.create_persona(PersonaDraft("Ana & Bo"))
    said = [("Bo", "I adopted a parrot called Kiwi last Saturday."), ("Ana", "How lovely, I baked bread.")]
    bank.remember(friends.id, [SessionDraft(tuple(TurnDraft(who, "other", text) for who, text in said), marlow.now)])
    reading = ask(replace(marlow, persona=friends), "What is the name of Ana's parrot?")
    assert reading.abstained
    assert not ask(replace(marlow, persona=friends), "What is the name of Bo's parrot?").abstained


def test_what_one_says_of_the_other_is_not_said_of_oneself(services, marlow):
    bank = services.bank
    friends = bank.create_persona(PersonaDraft("Ana & Bo"))
    said = [
        ("Bo", "I have opened a bakery with blue walls."),
        ("Ana", "Your bakery looks great with those blue walls!"),
    ]
    bank.remember(friends.id, [SessionDraft(tuple(TurnDraft(who, "other", text) for who, text in said), marlow.now)])
    chat = replace(marlow, persona=friends)
    assert ask(chat, "What colour are the walls of Ana's bakery?").abstained
    assert "blue" in ask(chat, "What colour are the walls of Bo's bakery?").answer.lower()


def test_a_time_outside_all_that_was_told_is_said_to_be(marlow):
    reading = ask(marlow, "What did I do in 1950?")
    assert reading.reason == "outside the known time"
    assert "10 June 2024" in reading.answer


def test_what_was_told_later_does_not_widen_the_known_time(marlow, at):
    reading = marlow.again(now=at(4, 1)).say("What did I do in 1950?", remember=False).reading
    assert reading.reason == "outside the known time"
    assert "1 April 2024" in reading.answer or "4 March 2024" in reading.answer
    assert "June" not in reading.answer


ADOPTED = ((1, "adopted a whippet called Waffle"), (20, "adopted a poodle called Pickle"))


@pytest.fixture
def three_dogs(marlow, at):
    """Marlow, told of two more dogs in June."""
    sessions = [
        SessionDraft((TurnDraft("Tilde", "user", f"I {did} today."),), at(6, date), external_id=f"dog {date}")
        for date, did in ADOPTED
    ]
    marlow.services.bank.remember(marlow.persona.id, sessions)
    return marlow


@pytest.mark.parametrize(
    ("month", "dogs"), [("March", {"Biscuit"}), ("June", {"Waffle", "Pickle"}), ("June 2024", {"Waffle", "Pickle"})]
)
def test_what_is_asked_of_a_time_is_answered_from_that_time(three_dogs, month, dogs):
    reading = ask(three_dogs, f"Which dog did I adopt in {month}?")
    told = {name for name in ("Biscuit", "Waffle", "Pickle") if name in reading.answer}
    assert told
    assert told <= dogs


def test_what_is_to_happen_on_the_day_asked_about_answers(services, marlow):
    then = datetime(2026, 11, 22, 12, tzinfo=UTC)
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")), now=then)
    for told in ("My office is in Canary Wharf", "We're having a dinner party next saturday"):
        chat.say(told)
    assert "dinner party" in chat.again().say("what are we having next saturday").reading.answer.splitlines()[0]


def test_what_was_told_days_after_a_time_may_be_of_it(services, marlow, at):
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Otto")))
    said = "I ran the half marathon for the hospice."
    turn = TurnDraft("Tilde", "user", said)
    services.bank.remember(chat.persona.id, [SessionDraft((turn,), at(month, 3)) for month in (3, 6)])
    assert "3 June" in ask(chat, "What did I run in May?").answer


def test_what_happened_before_anything_was_told_is_still_known(marlow):
    assert "regatta" in ask(marlow, "Where was the rowing regatta in February 2024?").answer


def test_a_question_is_never_the_answer_to_itself(marlow, at):
    text = "What colour is my car?"
    bank = marlow.services.bank
    turns = (TurnDraft("Tilde", "user", text), TurnDraft("Tilde", "user", "When did I adopt Biscuit?"))
    bank.remember(marlow.persona.id, [SessionDraft(turns, at(6, 20), external_id="asked")])
    assert ask(marlow, text).abstained
    assert [c.quote for c in ask(marlow, "When did I adopt Biscuit?").citations] == [
        "I adopted a greyhound called Biscuit yesterday."
    ]


def test_a_question_that_was_asked_before_does_not_answer_itself(marlow):
    text = "Did Biscuit ever swim in the lake at Hallen?"
    first, second = marlow.say(text), marlow.say(text)
    assert not [hit for hit in second.hits if hit.kept and hit.memory.text == text]
    assert second.reading.answer == first.reading.answer


def test_a_question_asked_again_and_again_is_still_answered(services, marlow):
    quill = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")))
    quill.say("Our dog is called Biscuit.")
    quill.say("The dentist is on 5 July at ten.")
    asked = ("what is {} called", "how is {} called", "whats {}'s name", "what do we call {}", "which name has {}")
    for _ in range(4):
        for wording in asked:
            quill.say(wording.format("our dog"))
    later = quill.again(chat_id="later")
    assert all("Biscuit" in later.say(wording.format("the dog")).reading.answer for wording in asked)
    assert "dentist" in later.say("What's on this week?").reading.answer


def test_a_message_that_only_asks_is_found_where_nothing_else_is(services, marlow):
    quill = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")))
    quill.say("did i tell you that i quit smoking")
    found = quill.again(chat_id="later").say("what about smoking")
    assert [hit.memory.text for hit in found.hits if hit.kept] == ["did i tell you that i quit smoking"]


def test_what_was_only_asked_is_neither_an_answer_nor_the_closest_memory(services, marlow):
    quill = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill", kept_apart=False)))
    for asked in ("where do you live?", "hi there! where are you from?", "anything i shouldn't eat?"):
        quill.say(asked)
    quill.say("i've booked a week in Lisbon for may, and what did i say about my boss?")
    later = quill.again(chat_id="later")
    assert "?" not in later.say("where do i live?").reading.answer
    assert "boss" not in later.say("where did i book a week?").reading.answer
    assert "related" not in later.say("whats the capital of france?").reading.answer
    assert "Lisbon" in later.say("could you tell me where i booked a week").reading.answer


def test_a_follow_up_is_about_the_question_before_it(marlow):
    marlow.say("Where is Zebulon?")
    marlow.say("Did I adopt a greyhound?")
    reading = marlow.say("And when was that?").reading
    assert "3 March 2024" in reading.answer


def test_a_follow_up_asks_for_what_its_own_words_say(marlow):
    assert marlow.say("When did my brother visit me?").reading.answer.startswith("13–14 April 2024")
    reading = marlow.say("And what did we repair?").reading
    assert [citation.memory.text[:16] for citation in reading.citations] == ["My brother Olaf "]
    assert "canoe" in reading.answer


def test_told_and_asked_in_one_message_are_both_answered(marlow):
    answer = marlow.say("I bought a lamp called Miso. When did I adopt Biscuit?")
    assert answer.reading.answer.startswith("Noted.")
    assert "3 March 2024" in answer.reading.answer
    assert answer.stored.memories == 1


def test_two_questions_in_one_message_are_both_answered(marlow):
    marlow.say("my boss is called Debbie")
    reading = marlow.say("who is my boss? and when did i adopt Biscuit?").reading
    assert "Debbie is your boss" in reading.answer
    assert "3 March 2024" in reading.answer
    assert [citation.number for citation in reading.citations] == [1, 2]
    assert "[2]" in reading.answer


def test_what_is_told_is_said_back_with_its_date(marlow):
    reading = marlow.say("I planted a quince tree yesterday.").reading
    assert "30 June 2024" in reading.answer
    assert (reading.citations, reading.abstained) == ((), False)


@pytest.mark.parametrize("name", ["warm", "playful", "formal"])
def test_a_persona_keeps_its_manner(services, marlow, name):
    persona = services.bank.create_persona(PersonaDraft("Quill", manner=name))
    chat = replace(marlow, persona=persona)
    phrases = manner(name)
    greetings = SMALL_TALK["greeting"][name]
    assert chat.say("Good morning!").reading.answer.startswith(tuple(text.split("{")[0] for text in greetings))
    assert chat.say("Where is my kite?").reading.answer.startswith(phrases.unknown.split("{")[0])
    assert chat.say("I planted a tree.").reading.answer in phrases.noted
    assert chat.say("I planted a tree.", remember=False).reading.answer == phrases.unrecorded


def test_another_personas_memories_are_not_read(services, marlow):
    other = services.bank.create_persona(PersonaDraft("Otto"))
    services.bank.add_memories(other.id, [MemoryDraft("world", "Zebulon visited on 5 May 2024.")])
    assert "“Zebulon”" in ask(marlow, "When did Zebulon visit me?").answer


@pytest.mark.parametrize("text", ["tell me what you know about Olaf", "what did i tell you about olaf?"])
def test_all_that_was_told_about_something_is_quoted_in_order(marlow, text):
    reading = ask(marlow, text)
    assert not reading.abstained
    assert reading.citations
    assert all("Olaf" in citation.memory.text for citation in reading.citations)


def test_what_one_asks_of_oneself_is_no_question_of_general_knowledge(services, marlow):
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Otto")))
    chat.say("The physio says my knee is bad, so no football until spring.")
    assert "knee" in ask(chat, "why cant i play football").answer
    assert "I remember nothing about “France”" in ask(chat, "What is the capital of France?").answer
    assert "nobody has told me about that" in ask(chat, "how do i boil an egg").answer


class Recorder:
    """The trained reader, and every line that it was shown."""

    def __init__(self, read_of):
        self.lines, self.read_of = [], read_of

    def read(self, question, asked_on, lines):
        self.lines += lines
        return self.read_of.read(question, asked_on, lines)

    def evidence(self, found, cosine):
        return self.read_of.evidence(found, cosine)


def test_a_line_is_read_with_the_two_turns_it_goes_on_from(marlow, monkeypatch):
    recorder = Recorder(marlow.services.line_reader)
    monkeypatch.setattr(line_reader, "packaged", lambda encoder: recorder)
    ask(marlow, "What did we seal the canoe with?")
    before = {line.text: line.before for line in recorder.lines}
    assert before["Yes, badly. We sealed it with pine tar."].endswith("Did the canoe leak?")
    assert before["I have also started to play the accordion."].startswith("Yes, badly. We sealed it with pine tar. ")
    assert before["I adopted a greyhound called Biscuit yesterday."] == ""
