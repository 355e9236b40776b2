"""Nothing that trains or tunes Memoir stands in what its figures are reported on."""

import pytest

from support.benchmark_texts import benchmark_texts, find_matches, reported_texts, training_texts

THEIRS = [
    "What did Melanie paint for her mother's birthday last year?",
    "Thanks! On 12 May I ran the charity race with Nate, and we raised 300 dollars for the shelter.",
    "Where is my workshop?",
    "Long time no see! How are you?",
    "What does Denise do for a living?",
]


@pytest.fixture(scope="module")
def ours():
    return training_texts()


@pytest.mark.parametrize(
    "text",
    [
        "What did Melanie paint for her mother's birthday last year?",
        "what did tobias paint for his mothers birthday last year",
        "What did Melanie paint for her mother's birthday?",
        "hi. On 3 March I ran the charity race with Ada and we raised 75 dollars for the shelter",
        "where is my workshop",
    ],
)
def test_a_text_is_found_though_it_is_typed_otherwise_or_with_other_names_and_numbers(text):
    typed = [text, "I met Tobias and Ada there, but Tobias left."]
    assert [match.ours for match in find_matches(typed, THEIRS)] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "long time no see",
        "What does Arjun do for a living?",
        "What did Melanie bake for her sister's wedding last year?",
        "where is my kiln",
        "we raised 300 dollars",
    ],
)
def test_everyday_phrases_and_other_questions_are_not_found(text):
    assert find_matches([text, "I met Arjun there."], THEIRS) == []


@pytest.mark.slow
def test_no_text_that_trains_or_tunes_stands_in_our_reported_benchmarks(ours):
    assert len(ours) > 30_000
    assert [(ours[match.ours], *match) for match in find_matches(ours, reported_texts())] == []


@pytest.mark.data
@pytest.mark.slow
def test_no_text_that_trains_or_tunes_stands_in_a_published_benchmark(ours, benchmark_data):
    assert [(ours[match.ours], *match) for match in find_matches(ours, benchmark_texts(benchmark_data))] == []
