"""The trained reader tells which line answers a question, with which of its words."""

from datetime import date

import pytest

from graph.readers.line_reader import Line, LineReader, packaged, weights_of
from memory.embedding import minilm
from memory.embedding.embedder import installed

ASKED_ON = date(2026, 5, 3)
LINES = {
    "frames": "went to the opticians with nan, picked the tortoiseshell frames in the end, £64 which is robbery",
    "move": "ruby's off to Cardiff in june, her mum got a job at the hospital there",
    "bread": "My brother Felix bakes on Sundays because he can't stand the bread from the shop.",
    "puppy": "we got a puppy!! hes called pickle and hes already chewed my slippers",
    "knee": "physio says no running for six weeks because of my knee",
}
ANSWERED = [
    ("what did my glasses cost", "frames", "64"),
    ("which glasses did i choose", "frames", "tortoiseshell"),
    ("where is ruby moving to", "move", "cardiff"),
    ("why is ruby leaving", "move", "job"),
    ("Why does Felix make his own bread?", "bread", "shop"),
    ("whats the name of my dog", "puppy", "pickle"),
    ("what did the dog ruin", "puppy", "slippers"),
    ("how long cant i jog", "knee", "six weeks"),
]
NOT_TOLD = """how old is Felix
what breed is the puppy
who is my boss
what does ruby study
where did i buy my car
how much was the bread
where does felix live
when did we get the car
what is the name of my optician
how old is nan
what does my sister bake
why did i sell the bike""".splitlines()


@pytest.fixture(params=installed())
def reader(request):
    return packaged(request.param)


def read(reader: LineReader, question):
    found = reader.read(question, ASKED_ON, [Line(text, "You", date(2026, 4, 1)) for text in LINES.values()])
    return dict(zip(LINES, found, strict=True))


def test_the_line_that_answers_is_found_with_its_words(reader):
    right = 0
    for question, name, words in ANSWERED:
        found = read(reader, question)
        best = max(found, key=lambda key: found[key].answers)
        right += best == name and words in LINES[name][slice(*found[name].span)].lower()
    assert right >= len(ANSWERED) - 1


def test_what_no_line_says_is_seldom_answered(reader):
    answered = [question for question in NOT_TOLD if max(one.answers for one in read(reader, question).values()) >= 0.5]
    assert len(answered) <= len(NOT_TOLD) / 3, answered


@pytest.mark.parametrize(("question", "yes"), [("do i have a dog", True), ("does felix like shop bread", False)])
def test_it_says_yes_or_no(reader, question, yes):
    best = max(read(reader, question).values(), key=lambda one: one.answers)
    assert (best.yes > 0.5) is yes


@pytest.mark.parametrize(
    ("question", "line", "yes"),
    [
        ("is idris allergic to anything?", "hes allergic to kiwi btw, we found out last summer", True),
        ("does mina have any allergies", "mina is allergic to penicillin", True),
        ("am i on any meds", "started on sertraline last week", True),
        ("is idris allergic to peanuts", "hes allergic to kiwi btw", False),
        ("did anyone come", "nobody turned up in the end", False),
    ],
)
def test_one_thing_of_a_kind_is_any(reader, question, line, yes):
    if "peanuts" in question and reader is not packaged(minilm.NAME):
        pytest.xfail("a known failure: with another allergy told, it says “Yes, I think.”")
    (found,) = reader.read(question, ASKED_ON, [Line(line, "You", date(2026, 4, 20))])
    assert (found.yes > 0.5) is yes


def test_a_line_is_read_alike_alone_and_among_others(reader):
    line = Line(LINES["puppy"], "You", date(2026, 4, 1))
    (alone,) = reader.read("whats my dog called", ASKED_ON, [line])
    among = read(reader, "whats my dog called")["puppy"]
    assert (alone.span, round(alone.answers, 2)) == (among.span, round(among.answers, 2))


def test_nothing_is_read_of_nothing(reader):
    assert reader.read("whats my dog called", ASKED_ON, []) == []
    (found,) = reader.read("", ASKED_ON, [Line("")])
    assert (found.answers, found.span) == (0.0, (0, 0))


def test_the_weights_fit_the_repository():
    assert sum(weights_of(encoder).stat().st_size for encoder in installed()) < 30_000_000
