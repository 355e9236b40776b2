"""What the Memory tab lists: each fact, person and event once, and only what can be understood on its own."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import gradio as gr
import pytest

from graph.language.facts import FACTS as FACT_KINDS
from memory.bank import corrections
from memory.bank.bank import Bank
from memory.bank.queries.listing import list_memories, list_other, stands_alone
from memory.bank.relations import YOU
from memory.search import indexer
from memory.search.searcher import Searcher
from memory.tab.memory_card import kind_name
from memory.tab.memory_tab import EVERYTHING, FACTS, KINDS, MemoryList
from memory.types import (
    SUMMARY,
    LearnedMemory,
    MemoryDraft,
    PersonaDraft,
    Quote,
    Relation,
    SessionDraft,
    TimeSpan,
    TurnDraft,
)

MAY = datetime(2026, 5, 10, tzinfo=UTC)


@pytest.fixture
def bank(tmp_path):
    bank = Bank(tmp_path / "bank.db")
    bank.create_persona(PersonaDraft("Ida"))
    return bank


def fact(text, store="profile", speaker="", since=MAY, **more):
    return MemoryDraft(store, text, said_at=since, speaker=speaker, **more)


def tell(bank, text, *learned, at=MAY):
    """Say something that memories are learned from: each quotes its own text, or all of what was said."""
    items = [LearnedMemory(m, (Quote(0, m.text if m.text in text else text),)) for m in learned]
    bank.remember(1, [SessionDraft((TurnDraft("Noor", "user", text, at),), at, external_id=text, learned=tuple(items))])


def event(text, day=MAY):
    return MemoryDraft("event", text, said_at=MAY, speaker="Noor", event=TimeSpan(day, day + timedelta(days=1)))


def listed(bank, **more):
    ids = list(list_memories(bank, 1, **more))
    return [memory.text for memory in bank.memories_by_id(1, ids)]


def other(bank, kind, during=None):
    return bank.memories_by_id(1, list_other(bank, 1, kind, during))


def test_a_turn_is_not_listed_beside_what_was_learned_from_it(bank):
    tell(bank, "I live in Porto.", fact("Lives in Porto", speaker="Noor"))
    assert listed(bank) == ["Lives in Porto"]
    assert [m.text for m in other(bank, "dialogue")] == ["I live in Porto."]


def test_a_fact_that_a_fuller_one_states_is_listed_once(bank):
    tell(bank, "My father Sami rang.", fact("Sami is Noor's father", "relationship", "Noor"))
    tell(bank, "I live in Bristol.", fact("Lives in Bristol", speaker="Noor"))
    fuller = ["Sami is Noor's father, a retired pharmacist in Bath.", "Noor lives in Bristol, above a bicycle shop."]
    bank.add_memories(1, [fact(fuller[0], "relationship"), fact(fuller[1])])
    assert sorted(listed(bank)) == sorted(fuller)


@pytest.mark.parametrize(
    "other",
    [
        fact("Ana lives in Bristol, above a bicycle shop."),  # somebody else
        fact("Noor lives in Bath, near Bristol.", since=MAY + timedelta(days=99)),  # holds after the other has ended
        fact("Noor does not live in Bristol any more."),
    ],
)
def test_facts_that_differ_are_both_listed(bank, other):
    ended = fact("Lives in Bristol", speaker="Noor", valid_from=MAY, valid_to=MAY + timedelta(days=50))
    bank.add_memories(1, [ended, other])
    assert len(listed(bank)) == 2


def test_an_event_that_was_told_and_imported_is_listed_once(bank):
    told = event("Yara was born this morning, Sunday 10 May, at ten past four.")
    tell(bank, told.text, told)
    bank.add_memories(1, [event("Yara was born at ten past four in the morning; I had sent the lullaby.")])
    assert listed(bank) == ["Yara was born at ten past four in the morning; I had sent the lullaby."]


def test_one_word_is_too_little_to_tell_that_two_events_are_the_same(bank):
    day = event("The concert is on Sunday 10 May.")
    bank.add_memories(1, [day, event("Noor sings the concert in May, and Tomas has a ticket.")])
    assert len(listed(bank)) == 2


def test_the_same_words_about_another_day_are_another_event(bank):
    for nth in range(2):
        swim = event("I swam with Priya at the lido", MAY + timedelta(days=7 * nth))
        tell(bank, f"I swam with Priya at the lido, week {nth}", swim)
    assert len(listed(bank)) == 2


@pytest.mark.parametrize(
    "sentence",
    [
        "Then Beirut in April.",
        "In October.",
        "She died in 2019.",
        "It went up this morning.",
        "Yesterday she rang at six in the morning, shouting.",
        "That's tonight's job.",
        "In the indoor pool, in winter, when nobody looks.",
        "And his birthday is in May.",
    ],
)
def test_a_fragment_does_not_stand_alone(sentence):
    assert not stands_alone(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The baby is due on Saturday 3 October.",
        "This morning Leila rang from Utrecht.",
        "On Saturday we saw seal pups below the cliff.",
        "I start as map conservator on Tuesday 1 September.",
        "Rima had given up on it in May.",
        "我四月去贝鲁特看望外婆。",
    ],
)
def test_a_sentence_that_names_what_it_is_about_stands_alone(sentence):
    assert stands_alone(sentence)


def test_a_short_message_is_listed_and_a_short_part_of_one_is_not(bank):
    tell(bank, "dentist on friday", event("dentist on friday"))
    tell(bank, "We made plans at last. Glasgow in January. The plants come along.", event("Glasgow in January."))
    assert listed(bank) == ["dentist on friday"]


def test_what_was_retracted_is_listed_only_where_it_is_asked_for(bank):
    bank.add_memories(1, [fact("Noor is a vegetarian.")])
    (memory,) = bank.memories(1)
    corrections.mark_wrong(bank, 1, memory.id)
    assert listed(bank) == []
    assert [m.text for m in other(bank, "retracted")] == ["Noor is a vegetarian."]


def test_a_pinned_memory_is_always_listed_and_first(bank):
    tell(bank, "It was fun. She moved. Lots of boxes.", event("She moved."))
    bank.add_memories(1, [fact("Noor sings alto in a choir.", since=MAY + timedelta(days=9))])
    moved = next(m for m in bank.memories(1) if m.text == "She moved.")
    corrections.pin(bank, 1, moved.id, pinned=True)
    assert listed(bank) == ["She moved.", "Noor sings alto in a choir."]


def test_only_the_time_asked_for_is_listed(bank):
    bank.add_memories(1, [event("Noor found a tin of recipe cards"), event("Noor moved house", MAY + timedelta(30))])
    assert listed(bank, during=TimeSpan(MAY, MAY + timedelta(days=2))) == ["Noor found a tin of recipe cards"]


def test_what_happened_in_a_span_is_found_by_event_time_before_said_time(bank):
    day = timedelta(days=1)
    race = TimeSpan(MAY - 30 * day, MAY - 29 * day)
    texts = ("Noor won a race in Leeds", "Noor keeps bees in Kent")
    told = [MemoryDraft("event", texts[0], event=race, said_at=MAY), MemoryDraft("world", texts[1], said_at=MAY)]
    summaries = [replace(draft, attribute=SUMMARY) for draft in told]
    bank.add_memories(1, [*told, *summaries, MemoryDraft("world", "The sea is salty")])
    for first, last, text in ((31, 1, texts[0]), (1, -1, texts[1])):
        span = TimeSpan(MAY - first * day, MAY - last * day)
        assert listed(bank, during=span) == [text]
        assert [m.text for m in other(bank, "summary", span)] == [text]


def test_lines_picked_from_a_conversation_are_not_called_a_summary(bank):
    texts = ("Noor: My cat is called Comma. Ida: Mint tea, no sugar.", "They talked about the cat and about tea.")
    bank.add_memories(1, [MemoryDraft("event", text, attribute=SUMMARY) for text in texts])
    assert listed(bank) == []
    names = {memory.text: kind_name(memory) for memory in other(bank, "summary")}
    assert names == {texts[0]: "Key lines", texts[1]: "Summary"}


def test_a_search_finds_what_was_said_but_not_beside_the_fact_that_states_it(bank, embedder):
    tell(bank, "I live in Porto.", fact("Lives in Porto", speaker="Noor"))
    tell(bank, "My kayak has a red stripe.")
    indexer.embed_all(bank, embedder)
    with gr.Blocks():
        rows = MemoryList(bank, lambda: Searcher(bank, embedder))
        rows.build_rows()

    def found(text, *kind):
        filters = [text, *kind, None, None] if kind else rows.widen((), text, FACTS, None, None)
        shown = rows.show(1, 0, *filters)
        return shown[rows.kind], re.findall(r"<span>(.*?)</span>", shown[rows.rows])

    kind, texts = found("red stripe of the kayak")
    assert (KINDS[kind], texts[0]) == ("Facts and conversations", "My kayak has a red stripe.")
    assert found("where does Noor live, Porto?")[1][0] == "Lives in Porto"
    assert "I live in Porto." not in found("where does Noor live, Porto?")[1]
    assert "My kayak has a red stripe." not in found("red stripe of the kayak", FACTS)[1]
    assert found("where does Noor live, Porto?", FACTS)[1] == ["Lives in Porto"]
    assert found("where does Noor live, Porto?", "Places")[1] == ["Lives in Porto"]
    assert found("where does Noor live, Porto?", "Health")[1] == []
    assert rows.widen((1, "kay", FACTS, None, None), "kayak", FACTS, None, None)[1] == FACTS  # it was chosen


def test_what_is_known_is_listed_in_groups_that_a_person_has(bank):
    soon, told = datetime.now(UTC) + timedelta(days=3), fact("Works at Siemens", speaker="Noor", attribute="employer")
    bank.add_memories(1, [event("Noor found a tin of recipe cards"), event("The dentist is on Friday", soon)])
    bank.add_memories(1, [fact("Marijke is Noor's mother.", "relationship", attribute="mother")])
    bank.add_memories(1, [fact("Noor gets migraines from red wine.", attribute="health"), fact("Noor is thirty-four.")])
    bank.add_memories(1, [fact("Mint tea without sugar", attribute="favourite drink")])
    bank.add_memories(1, [fact("Leila is allergic to nuts.", relation=Relation("Leila", "allergy", "nuts"))])
    tell(bank, "I work at Siemens and live in Bath.", told, fact("Lives in Bath", speaker="Noor", attribute="home"))
    groups = list_memories(bank, 1)
    known = [(groups[memory.id], memory.text) for memory in bank.memories_by_id(1, list(groups))]
    assert known == [
        ("You", "Noor is thirty-four."),
        ("People", "Leila is allergic to nuts."),
        ("People", "Marijke is Noor's mother."),
        ("Places", "Lives in Bath"),
        ("Work", "Works at Siemens"),
        ("Health", "Noor gets migraines from red wine."),
        ("Plans", "The dentist is on Friday"),
        ("Likes", "Mint tea without sugar"),
        ("Events", "Noor found a tin of recipe cards"),
    ]


def test_a_plan_is_what_was_ahead_when_it_was_told_also_a_line_that_nothing_was_learned_from(bank):
    now = datetime.now(UTC)
    tonight, saturday = (TimeSpan(now + timedelta(hours=h), now + timedelta(hours=h + 24)) for h in (-1, 30))
    learned = MemoryDraft("event", "I feel lonely tonight", said_at=now, speaker="You", event=tonight)
    lines = [
        TurnDraft("You", "user", "I feel lonely tonight", now, event=tonight),
        TurnDraft("You", "user", "She flies to Mumbai on Saturday.", now, event=saturday),
        TurnDraft("You", "user", "When does she fly on Saturday?", now, event=saturday, asks=True),
    ]
    bank.remember(1, [SessionDraft(tuple(lines), now, learned=(LearnedMemory(learned, (Quote(0, learned.text),)),))])
    groups = list_memories(bank, 1)
    known = [(groups[memory.id], memory.text) for memory in bank.memories_by_id(1, list(groups))]
    assert known == [("Plans", "She flies to Mumbai on Saturday."), ("Events", "I feel lonely tonight")]


def test_what_holds_no_more_stands_below_what_holds_and_the_next_plan_first(bank):
    plans = [event(f"Plan of day {days}", datetime.now(UTC) + timedelta(days=days)) for days in (9, 2, 30)]
    ended = fact("Noor likes rum.", valid_to=MAY + timedelta(days=9))
    bank.add_memories(1, [*plans, fact("Noor likes mint tea.", since=MAY - timedelta(days=9)), ended])
    expected = ["Plan of day 2", "Plan of day 9", "Plan of day 30", "Noor likes mint tea.", "Noor likes rum."]
    assert listed(bank) == expected


@pytest.mark.parametrize("relation", [name for name in FACT_KINDS if name not in ("{kind}", "has", "has no")])
def test_every_kind_of_fact_of_a_chat_is_in_a_group_by_its_relation(bank, relation):
    wanted = dict.fromkeys(("name", "birthday", "marital status", "speaks", "drives"), "You")
    wanted |= dict.fromkeys(("home", "birthplace", "origin"), "Places")
    wanted |= dict.fromkeys(("occupation", "employer", "works in", "studies"), "Work")
    wanted |= dict.fromkeys(("allergy", "allergen", "intolerance", "condition"), "Health")
    name = relation.format(kind="cat")
    tell(bank, "My friend said so.", fact("Friend: x", speaker="Noor", relation=Relation(YOU, name, "x")))
    assert list(list_memories(bank, 1).values()) == [wanted.get(relation, "Likes")]


def test_all_facts_and_then_all_lines_are_turned_over_page_by_page(bank, embedder):
    bank.add_memories(1, [fact(f"Noor owns book {n}.", "world") for n in range(60)])
    for n in range(60):
        tell(bank, f"We talked about volume {n}.")
    with gr.Blocks():
        rows = MemoryList(bank, lambda: Searcher(bank, embedder))
        rows.build_rows()
    seen, shown = [], {}
    for page in range(3):
        shown = rows.show(1, page, "", EVERYTHING, None, None)
        seen += re.findall(r"book \d+|volume \d+", shown[rows.rows])
    assert seen == [f"book {n}" for n in range(59, -1, -1)] + [f"volume {n}" for n in range(59, -1, -1)]
    assert "101–120 of 120" in shown[rows.pages.position]
    assert re.findall("<h2[^>]*>(.*?)</h2>", rows.show(1, 1, "", EVERYTHING, None, None)[rows.rows]) == [
        "Other facts",
        "Conversation",
    ]
