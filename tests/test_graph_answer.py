"""An answer quotes the best note first, then what is near it, in fifty words at most."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from graph.readers import composing as answer
from graph.state import Note
from graph.understanding.question import parse, terms_of
from graph.understanding.sentences import split
from memory.types import Memory

MAY = datetime(2024, 5, 3, 12, tzinfo=UTC)


def note(number, text, relevance, *, quote=None, speaker="Tilde", of_other=False, store="dialogue"):
    untold = dict.fromkeys(("event", "valid_from", "valid_to", "superseded_by", "session_id"))
    blank = dict.fromkeys(("attribute", "event_text", "emotion", "scene", "external_id"), "")
    memory = Memory(number, 1, store, text, text, speaker, said_at=MAY, recorded_at=MAY, **untold, **blank)
    return Note(memory, quote or text, relevance, of_other=of_other)


def composed(text, *notes):
    return answer.compose(
        parse(text, 9, dict.fromkeys(terms_of(text), 1)), notes, window=(), known=None, hits=(), asked_at=MAY
    )


def test_what_is_near_the_best_is_quoted_after_it_with_one_date():
    reading = composed("What did Tilde paint?", note(1, "I painted a boat.", 0.9), note(2, "Then a barn.", 0.6))
    assert reading.answer == "Tilde, on 3 May 2024: “I painted a boat.” [1]\nTilde: “Then a barn.” [2]"
    assert [citation.memory.id for citation in reading.citations] == [1, 2]


def test_what_is_far_from_the_best_is_not_quoted():
    reading = composed("What did Tilde paint?", note(1, "I painted a boat.", 0.9), note(2, "Then a barn.", 0.5))
    assert len(reading.citations) == 1


def test_a_second_time_must_be_nearer_than_a_second_thing():
    notes = (note(1, "I painted it in May.", 0.9), note(2, "It was dry in June.", 0.6))
    assert len(composed("When did Tilde paint the boat?", *notes).citations) == 1
    assert len(composed("What did Tilde do with the boat?", *notes).citations) == 2


def test_what_somebody_else_did_is_not_quoted_beside_it():
    notes = (note(1, "I painted a boat.", 0.9), note(2, "I painted a barn.", 0.8, speaker="Olaf", of_other=True))
    assert [c.memory.speaker for c in composed("What did Tilde paint?", *notes).citations] == ["Tilde"]


def test_after_a_fact_that_holds_no_talk_is_quoted_that_may_be_older():
    home, once = note(1, "Lives in Porto", 0.9, store="profile"), note(2, "I live in Bergen.", 0.85)
    assert len(composed("Where does Tilde live?", home, once).citations) == 1
    assert len(composed("Where does Tilde live?", replace(once, relevance=0.95), home).citations) == 2


def test_room_that_is_left_goes_to_what_was_said_around_the_best():
    text = "We had rain. I painted a boat. It was blue."
    reading = composed("What did Tilde paint?", note(1, text, 0.9, quote="I painted a boat."))
    assert f"“{text}”" in reading.answer
    assert reading.citations[0].quote == "I painted a boat."


@given(
    st.lists(st.lists(st.integers(1, 70), min_size=1, max_size=4), min_size=1, max_size=8),
    st.sampled_from(["What did Tilde paint?", "When did Tilde paint?", "How many boats are there?"]),
)
def test_an_answer_is_of_fifty_words_at_most_and_begins_with_the_best_note(lengths, question):
    texts = [" ".join(f"{'Boat ' * (n - 1)}painted{place}." for place, n in enumerate(part)) for part in lengths]
    notes = [note(i, text, 0.9 - i / 100, quote=split(text)[0]) for i, text in enumerate(texts)]
    reading = composed(question, *notes)
    assert len(reading.answer.split()) <= answer.MAX_WORDS
    assert reading.citations[0].memory.id == 0
    assert len(reading.citations) <= answer.MAX_QUOTES
    assert reading.answer.count("[") == len(reading.citations)
