"""What was wrong is put right, and what is to be forgotten is recalled no more: at once, with what followed from it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from graph.learning.corrections import correct
from graph.understanding.requests import parse_retraction
from memory.bank.corrections import edit
from memory.bank.queries.told import upcoming
from memory.types import Memory, PersonaDraft

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def said(text, number=1):
    draft = {"key": text, "speaker": "You", "said_at": NOW, "valid_from": NOW}
    stored = {"id": number, "persona_id": 1, "recorded_at": NOW, "session_id": 1, "turn_ids": (1,)}
    return Memory("dialogue", text, **draft, **stored)


def corrected(text, message):
    revision = correct(message, [said(text)], lambda memory: [memory], NOW)
    return revision and revision.text


@pytest.mark.parametrize(
    ("text", "message", "right"),
    [
        ("The meeting is on Monday at 3 pm.", "No, I said Tuesday.", "The meeting is on Tuesday at 3 pm."),
        ("The meeting is on Monday.", "Sorry, it's Tuesday, not Monday.", "The meeting is on Tuesday."),
        ("The meeting is on Monday.", "It’s Tuesday, not Monday", "The meeting is on Tuesday."),
        ("The dentist is on 4 May.", "No, on 5 May", "The dentist is on 5 May."),
        ("My birthday is on 4 May.", "Actually, June", "My birthday is on 4 June."),
        ("I moved to Lisbon.", "No. I said Porto. See you!", "I moved to Porto."),
        ("I moved to Lisbon.", "I meant I moved to Porto.", "I moved to Porto."),
        ("My sister is called Ana.", "Actually, it's Anna", "My sister is called Anna."),
        ("I have 3 cats.", "oops, 4", "I have 4 cats."),
        ("The sweep comes on Friday at 4.", "no, it's at 5", "The sweep comes on Friday at 5."),
        ("My brother Kevin is 22 and at college.", "Kevin is 23, not 22", "My brother Kevin is 23 and at college."),
        ("My eye test is on Friday the 4th of December.", "no, Tuesday", "My eye test is on Tuesday."),
        ("I have three cats.", "no, four, not three", "I have four cats."),
        (
            "My sister Ana visits on Friday.",
            "Actually, Ana comes on Saturday, not Friday",
            "My sister Ana visits on Saturday.",
        ),
        (
            "Peter lands on the 20th with Wen.",
            "Actually, Peter lands on the 21st, not the 20th",
            "Peter lands on the 21st with Wen.",
        ),
        (
            "Juno's exam is on Friday the 4th of December at noon.",
            "sorry, the exam is on the 11th not the 4th",
            "Juno's exam is on the 11th of December at noon.",
        ),
        (
            "we look at the barge on saturday the 12th of december",
            "no, the barge is on the 13th, not the 12th",
            "we look at the barge on the 13th of december",
        ),
        ("Juno's exam is in May.", "Juno's exam is in June, not in May", "Juno's exam is in June."),
        ("I met Ann in Porto.", "No, I said Lisbon", "I met Ann in Lisbon."),
        ("I met Ann in Porto.", "its lisbon sry", "I met Ann in lisbon."),
        ("The exam is in May.", "I can't come in April, not in June", None),
        ("It cost 30 euros on 4 May.", "I meant 40 euros", "It cost 40 euros on 4 May."),
        ("I like tea.", "not tea, coffee", "I like coffee."),
        ("la vita is booked for sat at 5", "nah wait 6pm no 5", "la vita is booked for sat at 6pm"),
        ("my dentist is on tuesday at 3", "sorry, wednesday i mean", "my dentist is on wednesday at 3"),
        (
            "The ferry leaves on the 11th of March from Larne",
            "no, it's the 14th",
            "The ferry leaves on the 14th of March from Larne",
        ),
        (
            "The exam is on Friday the 4th of December at noon.",
            "no, the 5th",
            "The exam is on the 5th of December at noon.",
        ),
        ("The exam is on Friday the 4th at noon.", "no, it's the 5th", "The exam is on the 5th at noon."),
        ("The ferry leaves on the 11th of March from Larne", "no, that's wrong, I told you Ana's talk is at 12", None),
        ("Ana expects twins in march!", "sorry, i meant april not march for the twins", "Ana expects twins in april!"),
    ],
)
def test_what_is_right_takes_the_place_of_what_was_wrong(text, message, right):
    assert corrected(text, message) == right


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("The meeting is on Monday.", "No."),
        ("The meeting is on Monday.", "No, thanks."),
        ("The meeting is on Monday.", "That's not what I meant"),
        ("The meeting is on Monday.", "Did I say Tuesday?"),
        ("I have 3 cats.", "Actually I love cats"),
        ("I met Ann in Porto.", "No, I live in Lisbon"),
        ("My sister comes on Saturday with her twins, Tom and Lia.", "No, I meant the twins are five"),
        ("I bought a kayak.", "No, I said Tuesday."),
        ("nurse said my bp is down, so she's halvin the ramipril to 2.5", "nah wait 6pm no 5"),
        ("My exam is on Friday.", "when is my exam"),
        ("I bought a kayak.", "I said hello to Ann."),
        ("I bought a kayak.", "no, " + "x " * 60_000),
    ],
)
def test_where_it_is_not_clear_what_is_meant_nothing_is_changed(text, message):
    assert corrected(text, message) is None


@pytest.mark.parametrize(
    ("message", "what"),
    [
        ("Forget that.", ""),
        ("Oh, please forget it!", ""),
        ("Scratch that", ""),
        ("Forget what I just said.", ""),
        ("Forget what I said about the kayak.", "the kayak"),
        ("please forget that I live in Porto", "I live in Porto"),
        ("please forget where the key is", "where the key is"),
        ("forget my tortoise", "my tortoise"),
        ("forget about the kayak please", "the kayak"),
    ],
)
def test_a_retraction_is_heard(message, what):
    assert parse_retraction(message) == what


@pytest.mark.parametrize("message", ["Don't forget that!", "I forget that all the time.", "Did I forget that?"])
def test_what_only_speaks_of_forgetting_retracts_nothing(message):
    assert parse_retraction(message) is None


@pytest.fixture
def quill(services, marlow):
    """A chat with somebody who knows nothing yet."""
    return replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")))


def held(chat, store):
    """The texts of a store that are recalled."""
    found = chat.services.bank.memories(chat.persona.id, store=store)
    return sorted(m.text for m in found if m.retracted_at is None and m.valid_to is None)


def test_a_correction_changes_the_next_answer(quill):
    quill.say("The meeting with the bank is on Monday.")
    told = quill.say("No, I said Tuesday.")
    assert told.reading.answer == "Corrected: “The meeting with the bank is on Tuesday.”"
    assert held(quill, "dialogue") == ["The meeting with the bank is on Tuesday."]
    answer = quill.say("When is the meeting with the bank?").reading
    assert answer.answer.startswith("2 July 2024")  # the Tuesday after 1 July


def test_an_hour_puts_right_an_hour_and_not_the_dose_told_after_it(quill):
    quill.say("la vita is booked for sat at 5pm")
    quill.say("nurse said my bp is down so she's halvin the ramipril to 2.5")
    quill.say("nah wait 6pm no 5")
    texts = [memory.text for memory in quill.services.bank.memories(quill.persona.id, store="dialogue")]
    assert "la vita is booked for sat at 6pm" in texts
    assert "nurse said my bp is down so she's halvin the ramipril to 2.5" in texts


def test_of_two_days_in_one_line_one_is_corrected_and_both_are_ahead(quill):
    quill.say("I've got a dentist appointment on Wednesday at 4pm and on Friday we see a play at the theatre")
    quill.say("No, the dentist is on Thursday, not Wednesday")
    ahead = upcoming(quill.services.bank, quill.persona.id, quill.now, 9)
    assert [(plan.text, plan.event.start.day) for plan in ahead] == [
        ("I've got a dentist appointment on Thursday at 4pm", 4),
        ("on Friday we see a play at the theatre", 5),
    ]
    asked = quill.again(chat_id="later").say("What do I have on this week?").reading.answer
    assert asked.splitlines() == [
        "Thursday, 16:00: You've got a dentist appointment. [1]",
        "Friday: A play at the theatre. [2]",
    ]


def test_what_another_chat_told_is_corrected_where_the_correction_says_what_it_is_about(quill, at):
    quill.say("Tom and Ana are expecting twins in March.")
    later = quill.again(now=at(8, 1), chat_id="later")
    later.say("Sorry, I meant April.")
    assert held(quill, "dialogue")[-1] == "Tom and Ana are expecting twins in March."
    later.say("Sorry, I meant April not March for the twins.")
    assert "April 2025" in later.say("When are the twins due?").reading.answer


def test_a_day_is_corrected_in_another_chat_by_naming_the_wrong_one(quill, at):
    quill.say("my brother Wout is getting married in Lisbon on 22 may")
    quill.say("I have a new bike.")
    quill.again(now=at(8, 1), chat_id="later").say("correction: the wedding is on 29 may, not 22 may")
    (line,) = [text for text in held(quill, "dialogue") if "Lisbon" in text]
    assert line == "my brother Wout is getting married in Lisbon on 29 may"


@pytest.mark.parametrize(
    "message", ["she's just tired, not sad", "Tom is at work, not sad", "my sister was tired, not sad"]
)
def test_what_is_only_set_against_something_corrects_nothing(message):
    assert corrected("My brother Tom is sad.", message) is None


def test_a_day_that_is_denied_of_something_else_changes_nothing(quill):
    quill.say("I see the dentist on Thursday.")
    quill.say("We go to the zoo on Friday, not on Thursday.")
    assert held(quill, "dialogue") == ["I see the dentist on Thursday.", "We go to the zoo on Friday, not on Thursday."]
    quill.say("The dentist is on Friday, not on Thursday.")
    assert "I see the dentist on Friday." in held(quill, "dialogue")


def test_a_fact_that_was_edited_answers_before_the_line_that_it_was_learned_from(quill):
    quill.say("im a nurse at southmead hospital, in the A&E. been there since 2019")
    bank = quill.services.bank
    (fact,) = [m for m in bank.memories(quill.persona.id, store="profile") if m.attribute == "occupation"]
    edit(bank, replace(fact, text="Works as a charge nurse in A&E at Southmead Hospital"))
    asked = quill.again(now=datetime.now(UTC), chat_id="later")
    assert "charge nurse" in asked.say("What do I work as now?").reading.answer


def test_a_bare_correction_is_of_what_was_said_last(quill):
    quill.say("My sister Ingrid is getting married in June.")
    quill.say("When is Ingrid getting married?")
    quill.say("My dog is called Rex.")
    assert quill.say("no, Max").reading.answer == "Corrected: “My dog is called Max.”"
    assert "Max" in quill.say("What is my dog called?").reading.answer
    quill.say("no, Moritz")
    assert held(quill, "relationship") == ["Ingrid is your sister", "Moritz is your dog"]


def test_a_corrected_fact_holds_from_when_the_wrong_one_was_told(quill):
    quill.say("I live in Porto.")
    quill.say("I moved to Lisbon.")
    quill.say("Sorry, I meant Braga.")
    assert held(quill, "profile") == ["Lives in Braga"]
    homes = {m.text: m for m in quill.services.bank.memories(quill.persona.id, store="profile")}
    assert homes["Lives in Lisbon"].retracted_at is not None
    assert homes["Lives in Porto"].superseded_by == homes["Lives in Braga"].id
    assert "Braga" in quill.say("Where do I live?").reading.answer


def test_what_an_answer_said_can_be_corrected_in_another_chat(quill, at):
    quill.say("My sister is called Ana.")
    later = quill.again(now=at(8, 1), chat_id="later")
    later.say("What is my sister called?")
    later.say("No, it's Anna.")
    assert held(quill, "relationship") == ["Anna is your sister"]
    assert held(quill, "dialogue") == ["My sister is called Anna.", "What is my sister called?"]


def test_what_is_to_be_forgotten_is_recalled_no_more_and_stays_in_the_history(quill):
    quill.say("I live in Porto.")
    quill.say("I moved to Lisbon.")
    told = quill.say("Forget that.").reading.answer
    assert "I moved to Lisbon." in told
    assert "use the Memory tab" in told
    assert held(quill, "profile") == ["Lives in Porto"]
    assert "Porto" in quill.say("Where do I live?").reading.answer
    taken = [m.text for m in quill.services.bank.memories(quill.persona.id) if m.retracted_at]
    assert sorted(taken) == ["I moved to Lisbon.", "Lives in Lisbon"]


def test_what_was_corrected_stays_wrong_when_the_correction_is_taken_back(quill):
    quill.say("I live in Porto.")
    quill.say("I moved to Lisbon.")
    quill.say("No, Braga.")
    quill.say("Forget that I live in Braga.")
    assert held(quill, "profile") == ["Lives in Porto"]


def test_what_is_named_is_taken_back_and_nothing_else(quill):
    quill.say("I bought a red kayak.")
    quill.say("I planted a quince tree.")
    quill.say("Forget what I said about the kayak.")
    assert held(quill, "dialogue") == ["I planted a quince tree."]


def test_one_message_does_not_empty_the_bank(quill):
    told = [f"My kayak trip number {n} was fun." for n in range(5)]
    for text in told:
        quill.say(text)
    assert "changed nothing" in quill.say("Forget about the kayak.").reading.answer
    assert held(quill, "dialogue") == told


def test_in_a_chat_that_is_not_remembered_nothing_is_taken_back(quill):
    quill.say("I bought a red kayak.")
    quill.say("Forget that.", remember=False)
    assert held(quill, "dialogue") == ["I bought a red kayak."]


def test_before_the_correction_was_said_the_old_words_were_what_was_known(quill, at):
    quill.say("I live in Porto.")
    quill.again(now=at(8, 1)).say("Forget that I live in Porto.")
    assert "Porto" in quill.say("Where do I live?", remember=False).reading.answer
    assert quill.again(now=at(8, 2)).say("Where do I live?", remember=False).reading.abstained


def test_both_times_of_a_move_are_answered(quill, at):
    quill.again(now=at(1, 5)).say("I live in Porto.")
    quill.again(now=at(6, 3)).say("I moved to Lisbon.")
    now = quill.again(now=at(7, 2))
    assert "Lisbon" in now.say("Where do I live?", remember=False).reading.answer
    assert "Porto" in now.say("Where did I live in March?", remember=False).reading.answer


def test_a_fact_can_end_without_another(quill, at):
    quill.again(now=at(1, 5)).say("I work at Sonae.")
    quill.again(now=at(6, 3)).say("I quit my job at Sonae.")
    (fact,) = quill.services.bank.memories(quill.persona.id, store="profile")
    assert (fact.text, fact.valid_to) == ("Works at Sonae", at(6, 3))
    assert "Sonae" in quill.again(now=at(7, 2)).say("Where did I work in March?", remember=False).reading.answer
