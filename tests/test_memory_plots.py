"""Plots of a memory: what they count, how many marks they draw, and that texts in them are escaped."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from graph.learning.facts import facts
from memory.bank import corrections
from memory.bank.bank import Bank
from memory.bank.queries import listing
from memory.ingest import ingest
from memory.tab import plots
from memory.types import MemoryDraft, Persona, PersonaDraft, Relation, SessionDraft, TimeSpan, TurnDraft

NOW = datetime(2026, 11, 20, tzinfo=UTC)
SAMPLE = Path(__file__).parents[1] / "assets" / "sample" / "ida.jsonl"


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    return Bank(tmp_path / "bank.db")


@pytest.fixture
def ana(bank: Bank) -> Persona:
    return bank.create_persona(PersonaDraft("Ana"))


def relation(text: str, since: datetime, attribute: str = "", until: datetime | None = None) -> MemoryDraft:
    return MemoryDraft("relationship", text, attribute=attribute, said_at=since, valid_from=since, valid_to=until)


def marks(figure: Any) -> int:
    """How many points and bars a figure draws."""
    return sum(len(trace.x) for trace in figure.data)


def test_an_empty_memory_has_no_plots_and_says_so(bank: Bank, ana: Persona) -> None:
    assert plots.draw_timeline(bank, ana.id, NOW) == (None, "No conversation, event or fact has a date yet.")
    assert plots.draw_stores(bank, ana.id) == (None, "No memory has a date yet.")
    assert plots.draw_people(bank, ana.id, NOW) == (None, "No relationships are known on 20 November 2026.")


def test_memories_are_counted_by_store_and_month(bank: Bank) -> None:
    ingest(bank, SAMPLE)
    persona = bank.personas()[0]
    figure, words = plots.draw_stores(bank, persona.id)
    assert figure is not None
    counts = bank.counts(persona.id)
    drawn = {trace.name: sum(trace.y) for trace in figure.data}
    assert drawn["Event"] == counts["event"]
    assert drawn["Conversation"] == counts["dialogue"]
    assert words.endswith("with a date, one bar per month.")


def test_a_single_month_and_what_began_today_are_drawn_to_scale(bank: Bank, ana: Persona) -> None:
    bank.add_memories(ana.id, [relation("Leila is your sister", NOW), MemoryDraft("profile", "Tall", said_at=NOW)])
    stores, _ = plots.draw_stores(bank, ana.id)
    timeline, _ = plots.draw_timeline(bank, ana.id, NOW)
    assert stores is not None
    assert timeline is not None
    first, last = stores.layout.xaxis.range
    assert last - first > timedelta(days=300)
    assert min(timeline.data[0].x) >= timedelta(days=1).total_seconds() * 1000


def test_one_old_event_does_not_squeeze_the_rest_of_the_plot(bank: Bank, ana: Persona) -> None:
    year = [MemoryDraft("profile", f"Fact {n}", said_at=NOW - timedelta(days=n)) for n in range(300)]
    childhood = datetime(1962, 3, 1, tzinfo=UTC)
    bank.add_memories(
        ana.id, [*year, MemoryDraft("event", "Born", event=TimeSpan(childhood, childhood + timedelta(1)))]
    )
    _, words = plots.draw_stores(bank, ana.id)
    assert words == "300 memories with a date, one bar per month. Not shown: 1 from long before or after."


def test_ten_thousand_memories_over_forty_years_make_a_bounded_number_of_marks(bank: Bank, ana: Persona) -> None:
    start = datetime(1984, 1, 1, tzinfo=UTC)
    days = [start + timedelta(days=n * 1.5) for n in range(10_000)]
    drafts = [
        MemoryDraft(("event", "profile")[n % 2], f"Thing {n}", event=TimeSpan(d, d + timedelta(1)), said_at=d)
        if n % 2 == 0
        else MemoryDraft("profile", f"Fact {n}", said_at=d, valid_from=d)
        for n, d in enumerate(days)
    ]
    bank.add_memories(ana.id, drafts)
    bank.remember(ana.id, [SessionDraft((TurnDraft("Ana", "user", f"Hello {d}", d),), d) for d in days[::50]])
    held, words = plots.draw_stores(bank, ana.id)
    timeline, _ = plots.draw_timeline(bank, ana.id, NOW)
    assert held is not None
    assert timeline is not None
    assert "one bar per year" in words
    assert sum(sum(trace.y) for trace in held.data) in range(9_750, 10_201)
    assert marks(held) <= plots.BINS * 5
    assert marks(timeline) <= plots.BINS * 2 + listing.FACTS


def test_a_fact_is_drawn_for_as_long_as_it_was_true(bank: Bank, ana: Persona) -> None:
    since, until = datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 2, 1, tzinfo=UTC)
    bank.add_memories(ana.id, [MemoryDraft("profile", "Lives in Porto", valid_from=since, valid_to=until)])
    figure, _ = plots.draw_timeline(bank, ana.id, NOW)
    assert figure is not None
    bars = figure.data[0]
    assert bars.base[0] == since
    assert bars.x[0] == 31 * 86_400_000
    assert "from 1 January 2025 to 1 February 2025" in bars.text[0]


def test_relationships_are_those_at_the_given_moment(bank: Bank, ana: Persona) -> None:
    may, july = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)
    told = [
        relation("Leila is Noor's younger sister, a midwife in Utrecht.", may),
        relation("Graham Pell was Noor's boss at the record office.", may, until=july),
        relation("Dr Adaeze Obi runs the map room and is Noor's boss at the library.", july),
        relation("Tomas, a fiddler, plays on Sundays.", may, attribute="partner"),
    ]
    bank.add_memories(ana.id, told)

    def known(at: datetime) -> set[tuple[str, str, str]]:
        return {(r.tail, r.name, r.head) for r in listing.relations(bank, ana.id, at)[1]}

    always = {("Leila", "younger sister", "Noor"), ("Tomas", "partner", "Noor")}
    assert known(may) == {*always, ("Graham Pell", "boss (was)", "Noor")}
    assert known(NOW) == {*always, ("Dr Adaeze Obi", "boss", "Noor")}
    assert known(may - timedelta(days=1)) == set()


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("Bo is your brother", ("Bo", "brother", "You")),
        ("Bo was my boss at the mill.", ("Bo", "boss (was)", "Cy")),
        ("My sister is called Eve", ("Eve", "sister", "Cy")),
        ("Cy's younger sister Eve lives in Porto.", ("Eve", "younger sister", "Cy")),
        ("Cy has a sister called Eve.", ("Eve", "sister", "Cy")),
        ("Eve is the younger sister of Cy.", ("Eve", "younger sister", "Cy")),
        ("Sinéad O'Brien is Ludwig van Beethoven's aunt", ("Sinéad O'Brien", "aunt", "Ludwig van Beethoven")),
        ("Bo lives with Eve, who is Cy's aunt", None),
        ("She is Cy's aunt", None),
        ("Cy's visit to Utrecht was fun", None),
    ],
)
def test_relationships_are_read_from_many_phrasings_and_never_guessed(
    bank: Bank, ana: Persona, text: str, known: tuple[str, str, str] | None
) -> None:
    bank.add_memories(ana.id, [MemoryDraft("relationship", text, speaker="Cy", said_at=NOW)])
    found = [(r.tail, r.name, r.head) for r in listing.relations(bank, ana.id, NOW)[1]]
    assert found == ([known] if known else [])


def test_a_relative_mentioned_in_the_chat_is_among_the_people(bank: Bank, ana: Persona) -> None:
    bank.add_memories(ana.id, facts("My sister is called Eve.", "You", NOW))
    _, words = plots.draw_people(bank, ana.id, NOW)
    assert words == "2 names and 1 relationship on 20 November 2026: Eve, your sister."


def test_of_many_people_the_most_connected_are_drawn(bank: Bank, ana: Persona) -> None:
    names = [f"{a}{b}" for a in "BCDFGHJKLM" for b in ("ana", "ela", "ino", "oru", "una", "ako")]
    bank.add_memories(ana.id, [relation(f"{name} is Ana's friend.", NOW) for name in names])
    figure, words = plots.draw_people(bank, ana.id, NOW)
    assert figure is not None
    assert len(figure.data[1].x) == listing.PEOPLE - 1  # all but the one in the middle
    assert words.startswith(f"{listing.PEOPLE} names and {listing.PEOPLE - 1} relationships")


def test_no_two_of_forty_people_share_a_place_and_each_has_a_row_to_be_read_on(bank: Bank, ana: Persona) -> None:
    friends = [f"{a}{b}" for a in "BCDFGHJKLM" for b in ("ana", "ela", "ino")]
    told = [relation(f"{name} is Ana's friend.", NOW) for name in friends]
    told += [relation(f"{friend}bert is {friend}'s husband.", NOW) for friend in friends[:9]]
    told += [relation("Quirin is Zoe's uncle.", NOW)]  # nobody knows them
    bank.add_memories(ana.id, told)
    figure, _ = plots.draw_people(bank, ana.id, NOW)
    assert figure is not None
    people = figure.data[1]
    assert len(people.x) >= 39
    for left in (True, False):
        side = sorted(y for x, y in zip(people.x, people.y, strict=True) if (x < 0) == left)
        assert len(side) <= 22
        assert all(b - a >= 1 for a, b in pairwise(side))
    assert figure.layout.height / (2 * figure.layout.yaxis.range[1]) >= 30
    names = [text.split("</b>")[0].removeprefix("<b>") for text in people.text]
    at = dict(zip(names, zip(people.x, people.y, strict=True), strict=True))
    assert abs(at["Banabert"][1] - at["Bana"][1]) == 1
    assert abs(at["Banabert"][0]) > abs(at["Bana"][0])


def test_the_user_is_one_person_under_whatever_name(bank: Bank, ana: Persona) -> None:
    turns = (TurnDraft("Noor Haddad", "user", "Leila is my sister.", NOW),)
    bank.remember(ana.id, [SessionDraft(turns, NOW)])
    known = [
        Relation("Noor", "sister", "Leila"),
        Relation("You", "brother", "Omar"),
        Relation("Leila", "sister", "You"),
    ]
    bank.add_memories(ana.id, [MemoryDraft("relationship", f"{r}", said_at=NOW, relation=r) for r in known])
    figure, words = plots.draw_people(bank, ana.id, NOW)
    assert words.startswith("3 names and 3 relationships")
    assert figure is not None
    assert figure.layout.annotations[0].text == "Noor Haddad (you)"
    assert len(figure.data[1].x) == 2


def test_a_name_that_the_user_told_is_theirs(bank: Bank, ana: Persona) -> None:
    bank.add_memories(ana.id, facts("My name is Ana.", "Ana", NOW + timedelta(days=1)))
    bank.add_memories(ana.id, [*facts("My name is Zoe.", "You", NOW), *facts("My sister is called Eve.", "You", NOW)])
    assert listing.relations(bank, ana.id, NOW)[0] == "Zoe"
    _, words = plots.draw_people(bank, ana.id, NOW)
    assert words == "2 names and 1 relationship on 20 November 2026: Eve, sister of Zoe."


def test_texts_in_the_plots_are_escaped(bank: Bank, ana: Persona) -> None:
    since = datetime(2026, 5, 1, tzinfo=UTC)
    bank.add_memories(ana.id, [relation("Bo is Ana's friend <img src=x onerror=alert(1)>", since)])
    for figure, _ in (plots.draw_timeline(bank, ana.id, NOW), plots.draw_people(bank, ana.id, NOW)):
        assert figure is not None
        assert "<img" not in figure.to_json().replace("\\u003c", "<")


def test_a_relation_that_comes_as_data_is_shown_whatever_the_words(bank: Bank, ana: Persona) -> None:
    known = Relation("Ana", "landlord", "Mr Poe")
    bank.add_memories(ana.id, [MemoryDraft("relationship", "rents from him", said_at=NOW, relation=known)])
    (memory,) = bank.memories(ana.id)
    assert memory.relation == known
    (tie,) = listing.relations(bank, ana.id, NOW)[1]
    assert (tie.head, tie.name, tie.tail) == ("Ana", "landlord", "Mr Poe")


def test_an_edit_reads_the_relation_again(bank: Bank, ana: Persona) -> None:
    bank.add_memories(ana.id, [relation("Bo is Ana's friend.", NOW)])
    (old,) = bank.memories(ana.id)
    new = corrections.edit(bank, replace(old, text="Bo is Ana's cousin."))
    assert new.relation == Relation("Ana", "cousin", "Bo")
