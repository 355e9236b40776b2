"""What ordinary phrasing tells is learned as facts, and nothing that is not so."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from graph.learning.from_rules import own_sentences, stated_facts
from graph.learning.plain_facts import plain_words

CASES = Path(__file__).parent / "data" / "told_facts.txt"
JUNE = datetime(2026, 6, 15, 12, tzinfo=UTC)

MIN_PRECISION, MIN_RECALL = 0.98, 0.97
"""Of what is learned, and of what is told; measured .99 and .99."""


def learned(text):
    found = [f for sentence in own_sentences(text) for f in stated_facts(sentence, "You", JUNE, 0, ("You", "Ida"))]
    return {(f.memory.relation.name.casefold(), f.memory.relation.tail.casefold()) for f in found if not f.ends}


def cases():
    for line in CASES.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            text, _, facts = line.partition(" => ")
            told = (fact.split(": ", 1) for fact in facts.split("; ") if fact)
            yield text, {(kind.casefold(), value.casefold()) for kind, value in told}


@pytest.mark.quality
def test_what_is_told_is_learned_and_hardly_anything_else():
    pairs = [(learned(text), told) for text, told in cases()]
    right = sum(len(found & told) for found, told in pairs)
    assert right / sum(len(found) for found, _ in pairs) >= MIN_PRECISION
    assert right / sum(len(told) for _, told in pairs) >= MIN_RECALL


def test_a_name_in_lower_case_is_stored_with_its_capital():
    (fact,) = stated_facts("my husbands name is callum", "You", JUNE, 0, ())
    assert (fact.memory.text, fact.memory.relation.tail) == ("Callum is your husband", "Callum")
    assert fact.quotes[0].words == "my husbands name is callum"


def test_a_usual_name_in_lower_case_is_one_after_a_relation():
    (fact,) = stated_facts("im meeting my sister ana", "You", JUNE, 0, ())
    assert fact.memory.text == "Ana is your sister"
    assert learned("my brother will come, my sister may not") == set()


def test_a_definite_person_is_known_even_where_the_rest_is_open():
    assert learned("My sister Wen might not come") == {("sister", "wen")}
    assert learned("My sister might be called Wen") == set()


def test_a_denial_counts_in_its_own_clause():
    assert learned("I'm not tired, I live in Porto") == {("home", "porto")}
    assert learned("I was never asked but I never work at Boots") == set()


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ("im alergic to nuts", "I'm allergic to nuts"),
        ("my husbnad dont know", "my husband don't know"),
        ("i can't stand celery", "I dislike celery"),
        ("i can't stand up for long", "i can't stand up for long"),
        ("MY CAT", "my cat"),
        ("my bother is over", "my bother is over"),
    ],
)
def test_a_sentence_in_plain_words(typed, plain):
    assert plain_words(typed) == plain
