"""An answer says the value first, to the user in the second person, and then who told it and when."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.readers import composing as answer
from graph.readers.stating import MAX_WORDS, clip
from graph.state import Note
from graph.understanding.question import parse, terms_of
from memory.types import Memory, Relation

MAY = datetime(2024, 5, 3, 12, tzinfo=UTC)
TOLD = "You told me today."


def note(number, text, words="", *, relevance=0.9, speaker="You", day=3, **fields):
    said = MAY.replace(day=day)
    memory = Memory("dialogue", text, key=text, speaker=speaker, said_at=said, id=number, persona_id=1, recorded_at=MAY)
    chosen = {"words": words, "sure": 0.9 if words else 0.1, "by_user": speaker == "You"} | fields
    return Note(memory, text, relevance, **chosen)


def composed(text, *notes):
    return answer.compose(parse(text, 9, dict.fromkeys(terms_of(text), 1)), notes, window=(), known=None, asked_at=MAY)


def test_the_value_comes_first_and_then_who_told_it():
    reading = composed("what did my glasses cost", note(1, "picked the clear ones at last, £40", "£40"))
    assert reading.answer == f"£40. {TOLD} [1]"
    assert reading.citations[0].quote == "picked the clear ones at last, £40"


def test_a_reason_is_given_in_the_second_person():
    told = note(1, "i named her comma, my cat has a hooked tail", "my cat has a hooked tail")
    assert composed("why is she called comma", told).answer == f"Your cat has a hooked tail. {TOLD} [1]"


def test_unsure_of_the_words_it_gives_their_sentence():
    told = note(1, "I painted my boat blue")
    assert composed("what about the boat", told).answer == f"You painted your boat blue. {TOLD} [1]"
    aside = note(1, "painted it blue with you, lol")
    assert composed("what about the boat", aside).answer == f"{TOLD[:-1]}: “painted it blue with you, lol” [1]"


@pytest.mark.parametrize(
    ("yes", "first"), [(0.97, "Yes."), (0.03, "No."), (0.6, "Yes, I think."), (0.4, "No, I think.")]
)
def test_a_question_for_yes_or_no_gets_one(yes, first):
    told = note(1, "I sold the car", "sold the car", yes=yes)
    assert composed("do i have a car", told).answer == f"{first} You sold the car. {TOLD} [1]"


def test_a_fact_that_says_what_is_asked_is_confirmed():
    told = note(1, "Siobhan is your best friend")
    tie = replace(told.memory, store="relationship", relation=Relation("You", "best friend", "Siobhan"))
    fact = replace(told, memory=tie)
    assert composed("is siobhan my best friend", fact).answer == f"Yes. Siobhan is your best friend. {TOLD} [1]"
    assert composed("is siobhan my sister", fact).answer == f"Siobhan is your best friend. {TOLD} [1]"


def test_a_question_for_a_time_gets_the_time_that_is_meant():
    told = note(1, "we moved in yesterday", "yesterday")
    assert composed("when did we move in", told).answer == f"2 May 2024. {TOLD} [1]"


def test_of_several_times_the_one_that_holds_the_answering_words_is_given():
    told = note(1, "not friday after all, she arrives this coming saturday", "saturday")
    assert composed("when does she arrive", told).answer == f"4 May 2024. {TOLD} [1]"


def test_what_another_said_is_quoted_with_their_name():
    told = note(1, "I painted a barn.", "a barn", speaker="Tilde")
    assert composed("What did Tilde paint?", told).answer == "A barn. Tilde, on 3 May 2024: “I painted a barn.” [1]"


def test_what_was_learned_from_another_is_no_quotation():
    told = note(1, "Priya is Tilde's cousin", speaker="Tilde", sure=0.1)
    fact = replace(
        told, memory=replace(told.memory, store="relationship", relation=Relation("Tilde", "cousin", "Priya"))
    )
    assert composed("who is Priya", fact).answer == "Tilde, on 3 May 2024: Priya is Tilde's cousin. [1]"


def test_of_two_values_the_later_holds():
    old, new = note(1, "I work at the bakery", "the bakery", day=1), note(2, "I work at a bank now", "a bank")
    reading = composed("where do i work now", replace(old, relevance=0.95), new)
    assert reading.answer == f"A bank. {TOLD} [1]"


@pytest.mark.parametrize(
    ("question", "old", "new", "value"),
    [
        (
            "when do they land",
            ("they land on 19 June", "19 June"),
            ("they land on 22 June now", "22 June"),
            "22 June 2024",
        ),
        (
            "when do i start",
            ("i start on 4 June", "4 June"),
            ("the start moved from 4 June to 6 June", "6 June"),
            "6 June 2024",
        ),
        (
            "which mask do i wear",
            ("a full face mask", "full face"),
            ("they swapped it for a nasal one", "nasal"),
            "Nasal",
        ),
    ],
)
def test_what_changed_is_told_as_it_is_now(question, old, new, value):
    before, after = note(1, *old, day=1, relevance=0.95), note(2, *new)
    assert composed(question, before, after).answer == f"{value}. {TOLD} [1]"


def test_what_replaced_it_needs_little_evidence_if_it_names_the_old_value():
    old = note(1, "she gave me a brown inhaler", "brown", day=1)
    new = note(2, "she stopped the brown one, its purple now", "purple", relevance=0.3)
    assert composed("what colour is my inhaler", old, new).answer.startswith("Purple.")
    unrelated = replace(new, quote="my new scarf is purple now")
    assert composed("what colour is my inhaler", old, unrelated).answer.startswith("Brown.")


def test_what_was_before_a_change_is_told_if_that_is_asked():
    old = note(1, "the party is on 22 June", "22 June", day=1, relevance=0.8)
    new = note(2, "she shifted the party to 27 June", "27 June")
    asked = "when was the party supposed to be before she changed it"
    assert composed(asked, new, old).answer == "22 June 2024. You told me on 1 May. [1]"


def test_what_a_friend_does_now_is_no_change_of_what_the_user_does():
    own = note(1, "I live with my parents", "my parents", day=1)
    other = note(2, "my mate Lewis lives in Berlin now", "Lewis", relevance=0.8)
    assert composed("who do i live with", own, other).answer.startswith("Your parents.")


def test_a_time_of_day_is_told_if_that_is_asked():
    told = note(1, "dentist at 3 on Monday", "on Monday")
    assert composed("what time is the dentist", told).answer.startswith("At 3, ")
    shift = note(1, "a new job at the bakery, 5am starts", "5am")
    assert composed("what time do i start", shift).answer == f"5am. {TOLD} [1]"
    assert composed("when is the dentist", told).answer.split(". ")[0].endswith("2024, at 3")
    visit = note(1, "the vet is on 3 December 2024 at half past two", "3 December 2024")
    assert composed("when is the vet", visit).answer.startswith("3 December 2024, half past two.")


def test_of_the_past_the_best_is_told_alone():
    old, new = note(1, "I bought a boat", "a boat", day=1), note(2, "I bought a barn", "a barn", relevance=0.85)
    assert composed("what did i buy", old, new).answer.startswith("A boat.")


def test_what_hardly_answers_is_not_given_but_shown():
    reading = composed("what did i buy", note(1, "I bought a boat", "a boat", relevance=0.4))
    assert (reading.abstained, reading.reason) == (True, "found but does not say")


def test_what_is_of_another_contradicts_the_question():
    reading = composed("what did i buy", note(1, "I bought a boat", "a boat", of_other=True))
    assert (reading.abstained, reading.reason) == (True, "premise contradicted")
    assert "“I bought a boat”" in reading.answer


@given(
    st.lists(st.lists(st.integers(1, 70), min_size=1, max_size=4), min_size=1, max_size=8),
    st.sampled_from(["What did Tilde paint?", "When did Tilde paint?", "what do I paint", "do I paint"]),
    st.sampled_from(["You", "Tilde"]),
)
def test_an_answer_is_of_bounded_length_and_begins_with_a_note_that_answers(lengths, question, speaker):
    texts = [" ".join(f"{'Boat ' * (n - 1)}painted{place}." for place, n in enumerate(part)) for part in lengths]
    notes = [note(i, text, speaker=speaker, relevance=0.9 - i / 100) for i, text in enumerate(texts)]
    reading = composed(question, *notes)
    assert len(reading.answer.split()) <= 2 * MAX_WORDS
    assert 1 <= len(reading.citations) <= 2
    assert reading.answer.count("[") == len(reading.citations)


@pytest.mark.parametrize("room", [6, 12])
def test_a_quote_is_cut_around_the_words_that_answer(room):
    told = note(
        1,
        "so much news, tomasz passed on the third attempt and we are off to the coast today in the new car, a blue "
        "fabia we called Alan",
        "a blue fabia",
    )
    asked = "What car have we got, and what is the new car like?"
    assert "a blue fabia" in clip(told, parse(asked, 9, dict.fromkeys(terms_of(asked), 1)), room)
