"""The temporal knowledge graph and the questions made from it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.making.quads import Knowledge, Quad, folded, quads
from eval.making.questions import CHOICES, DONT_KNOW, MOMENT, WORDING, graph_history, questions, word_question
from eval.types import History
from graph.learning.facts import facts
from graph.understanding.sentences import split
from memory.bank.bank import Bank
from memory.bank.relations import relation_of
from memory.importers.benchmarks import perltqa
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, SessionDraft, TimeSpan, TurnDraft


def day(month, number=1, year=2026):
    return datetime(year, month, number, tzinfo=UTC)


def told(text, attribute="", store="profile", **fields):
    memory = MemoryDraft(store, text, attribute=attribute, speaker=fields.pop("speaker", "Ana"), **fields)
    return replace(memory, relation=relation_of(memory))


LIFE = (
    told("home: Vellmar", "home", valid_from=day(1), valid_to=day(3, 14), said_at=day(1, 2), external_id="m1"),
    told("home: Sandwick", "home", valid_from=day(3, 14), said_at=day(3, 16), external_id="m2"),
    told("landlord: Mr Poe", "landlord", "relationship", valid_from=day(1), said_at=day(2), external_id="m3"),
    told("sister: Wilma", "sister", "relationship", said_at=day(1, 5), external_id="m4"),
    told("employer: Old Mill", "employer", speaker="Wilma", valid_from=day(2), said_at=day(2), external_id="m5"),
    told("employer: Lighthouse", "employer", speaker="Wilma", valid_from=day(5), said_at=day(5), external_id="m6"),
    told("employer: Brewery", "employer", speaker="Odo", valid_from=day(1), said_at=day(1, 9), external_id="m7"),
)


def made(memories=LIFE, **wishes):
    return list(questions(quads(memories), asked_at=day(9), limit=wishes.pop("limit", 1000), **wishes))


# --- the graph


def test_a_memory_of_an_attribute_is_a_fact_of_its_speaker_from_when_until_when():
    (first, *_) = quads(LIFE)
    assert first == Quad("Ana", "home", "Vellmar", day(1), day(3, 14), "m1", day(1, 2))


@pytest.mark.parametrize(
    ("memory", "fact"),
    [
        (told("Lives in Vellmar", "home"), ("Ana", "home", "Vellmar")),
        (told("Works as pilot", "occupation"), ("Ana", "occupation", "pilot")),
        (told("Favourite tea: mint", "favourite tea"), ("Ana", "favourite tea", "mint")),
        (told("Wilma is Ana's sister", store="relationship"), ("Ana", "sister", "Wilma")),
        (told("Odo is your best friend", store="relationship", speaker="You"), ("You", "best friend", "Odo")),
        (
            told("Li Ming (younger brother): a baker", "younger brother", "relationship"),
            ("Ana", "younger brother", "Li Ming"),
        ),
        (told("OCCUPATION：pilot", "Occupation"), ("Ana", "occupation", "pilot")),
        (told("职业: 工程师", "职业", speaker="安娜"), ("安娜", "职业", "工程师")),
    ],
    ids=lambda value: value.text if isinstance(value, MemoryDraft) else "",
)
def test_each_form_in_which_facts_are_written_is_read(memory, fact):
    (quad,) = quads([memory])
    assert (quad.head, quad.relation, quad.tail) == fact


def test_every_fact_that_a_chat_learns_is_read_back():
    said = (
        "My name is Ana. my name is ana. Hi, I'm Ana. "
        "I live in Vellmar. I moved to Sandwick. I work as a pilot. I work at Old Mill. "
        "My birthday is 3 March. My favourite tea is mint. My sister is called Wilma. "
        "I have a dog called Rex. Zita is my aunt. I'm allergic to nuts. I was born in Oldham."
    )
    learned = [fact for sentence in split(said) for fact in facts(sentence, "Ana", day(1))]
    assert [(q.relation, q.tail) for q in quads(learned)] == [
        ("name", "Ana"),
        ("name", "Ana"),
        ("home", "Vellmar"),
        ("home", "Sandwick"),
        ("occupation", "pilot"),
        ("employer", "Old Mill"),
        ("birthday", "3 March"),
        ("favourite tea", "mint"),
        ("sister", "Wilma"),
        ("dog", "Rex"),
        ("aunt", "Zita"),
        ("allergy", "nuts"),
        ("birthplace", "Oldham"),
    ]


@pytest.mark.parametrize(
    "memory",
    [
        told("Ana won the regatta", "race", "event"),
        told("Ana is fond of boats", "hobby"),
        told("home: ", "home"),
        told("home: Vellmar", "home", speaker=""),
        told("home: Vellmar"),
    ],
    ids=["event", "sentence", "empty", "nobody's", "no attribute"],
)
def test_what_is_no_fact_of_somebody_is_left_out(memory):
    assert list(quads([memory])) == []


def test_what_names_nobody_is_about_the_one_whose_profile_it_is():
    (quad,) = quads([told("Occupation: pilot", "Occupation", speaker="")], whose="Ana")
    assert (quad.head, quad.source) == ("Ana", "memory 0")


def test_a_later_fact_of_a_profile_ends_the_earlier_but_sisters_do_not():
    homes = [told("home: A", "home", said_at=day(1)), told("home: B", "home", said_at=day(4))]
    assert [q.until for q in quads(homes)] == [day(4), None]
    sisters = [told(f"sister: {n}", "sister", "relationship", said_at=day(m)) for m, n in ((1, "A"), (4, "B"))]
    assert [q.until for q in quads(sisters)] == [None, None]


def test_stored_memories_give_the_same_facts_as_the_drafts(tmp_path):
    bank = Bank(tmp_path / "bank.db")
    persona = bank.create_persona(PersonaDraft("Ana"))
    bank.add_memories(persona.id, LIFE)
    stored = {(q.head, q.relation, q.tail, q.since, q.until, q.source) for q in quads(bank.memories(persona.id))}
    drafts = {(q.head, q.relation, q.tail, q.since, q.until, q.source) for q in quads(LIFE)}
    # A bank dates a fact without a beginning in no way; the graph takes the day it was said.
    assert stored == drafts


# --- the questions


def test_one_hop_asks_for_the_past_and_for_now():
    asked = {p.question: p for p in made() if p.ability == "one-hop"}
    past = [p for q, p in asked.items() if q.startswith("Where did Ana live ")]
    now = [p for q, p in asked.items() if q == "Where does Ana live now?"]
    assert {p.gold.answers for p in [*past, *now]} == {("Vellmar",), ("Sandwick",)}
    assert all(p.asked_at == day(9) for p in past)
    assert all(p.asked_at < day(9) for p in now)


def test_two_hops_lead_over_a_relation_and_name_both_facts_as_evidence():
    asked = [p for p in made() if p.ability == "two-hop"]
    assert {p.gold.turns for p in asked} == {("m4", "m5"), ("m4", "m6")}
    assert all("Ana's sister" in p.question and "Wilma" not in p.question for p in asked)


def test_two_hops_have_a_time_each_unless_the_first_relation_lasts():
    lodging = (
        told("landlord: Wilma", "landlord", "relationship", valid_from=day(1), valid_to=day(3), said_at=day(1, 3)),
        *LIFE[4:],
    )
    asked = [p for seed in range(8) for p in made(lodging, seed=seed) if p.ability == "two-hop"]
    assert {p.gold.answers for p in asked} == {("Old Mill",), ("Lighthouse",)}
    assert all(p.question.startswith("Ana had a landlord ") and "Wilma" not in p.question for p in asked)
    assert all(p.question.split(". ")[1].startswith(("Who did the landlord", "Who does the landlord")) for p in asked)
    assert {p.gold.answers[0] for p in asked if "March" in p.question.split(". ")[0]} == set()
    assert "landlord" not in WORDING["lasting"]


def test_what_the_subject_had_before_or_has_later_is_among_the_choices():
    for seed in range(4):
        for probe in made(seed=seed):
            if ("Wilma" in probe.question and "work" in probe.question) or "Ana's sister work" in probe.question:
                assert {"Old Mill", "Lighthouse"} <= set(probe.choices)
            if "Ana live" in probe.question:
                assert {"Vellmar", "Sandwick"} <= set(probe.choices)


def test_what_was_not_known_yet_is_asked_when_something_else_was():
    asked = [p for p in made() if p.ability == "before known"]
    assert asked
    known = {(q.head, q.relation): q for q in reversed(list(quads(LIFE)))}
    for probe in asked:
        assert probe.asked_at >= day(1, 2)
        assert not probe.gold.answerable
        assert probe.gold.turns == ()
        first = next(q for (h, r), q in known.items() if word_question(h, [r], q.store, None) == probe.question)
        assert probe.asked_at < first.said


def test_what_is_not_known_at_all_is_a_relation_that_others_have():
    asked = [p for p in made() if p.ability == "not known"]
    assert asked
    assert {p.gold.answers for p in asked} == {(DONT_KNOW,)}
    assert "Who does Wilma work for now?" not in {p.question for p in asked}


def test_five_choices_end_with_not_knowing_and_one_of_them_is_right():
    for probe in made():
        assert len(probe.choices) == CHOICES
        assert len({folded(c) for c in probe.choices}) == CHOICES
        assert probe.choices[-1] == DONT_KNOW
        assert probe.choices[probe.gold.choice] == probe.gold.answers[0]
        assert (probe.gold.choice == CHOICES - 1) is not probe.gold.answerable


def test_the_seed_and_not_the_order_of_the_facts_decides():
    assert made(LIFE[::-1], seed=4) == made(seed=4)
    assert made(seed=5) != made(seed=4)
    assert made(seed=4, limit=5) == made(seed=4)[:5]


def test_few_of_the_questions_have_no_answer():
    answerable = [p.gold.answerable for p in made()]
    assert sum(answerable) >= len(answerable) / 2


def test_the_one_who_chats_is_asked_about_in_the_first_person():
    assert word_question("You", ["home"], "profile", None) == "Where do I live now?"
    month = TimeSpan(day(3), day(4))
    assert word_question("You", ["sister", "employer"], "profile", month) == "Who did my sister work for in March 2026?"
    assert word_question("Ana", ["landlord"], "relationship", TimeSpan(day(3, 9), day(3, 10))) == (
        "Who was Ana's landlord on 9 March 2026?"
    )
    assert word_question("Ana", ["ward"], "profile", None) == "What is Ana's ward now?"
    assert word_question("Ana", ["hobbies"], "profile", None) == "What are Ana's hobbies now?"


def test_a_history_gets_questions_from_what_its_sessions_taught():
    turns = (TurnDraft("Pia", "other", "Hm."), TurnDraft("Ana", "user", "I live in Vellmar."))
    fact = told("home: Vellmar", "home")
    session = SessionDraft(turns, day(3), external_id="s1", learned=(LearnedMemory(fact, (Quote(1, turns[1].text),)),))
    history = History("h", PersonaDraft("Kit"), (session,), LIFE[4:], ())
    made_of = graph_history(history, seed=1)
    home = next(p for p in made_of.probes if p.gold.answers == ("Vellmar",))
    assert (home.gold.turns, home.gold.sessions, home.gold.items) == (("s1:2",), ("s1",), ("s1",))
    work = next(p for p in made_of.probes if p.gold.answers == ("Brewery",))
    assert (work.gold.turns, work.gold.sessions, work.gold.items) == (("m7",), (), ("m7",))
    assert replace(made_of, probes=()) == history


@pytest.mark.data
def test_a_perltqa_character_gets_questions_from_the_profile_and_the_people_around(benchmark_data):
    records = list(perltqa.read(benchmark_data / "perltqa" / "perltmem_en_v2.sample.json"))
    memories = tuple(record for record in records if isinstance(record, MemoryDraft))
    made_of = graph_history(History("h", records[0], (), memories, ()))
    ids = {m.external_id for m in memories}
    assert {p.store for p in made_of.probes} == {"profile", "relationship"}
    assert all(set(p.gold.turns) <= ids for p in made_of.probes)
    assert all(p.gold.turns for p in made_of.probes if p.gold.answerable)


def test_a_history_without_facts_gets_no_questions():
    history = History("h", PersonaDraft("Kit"), (), (), ())
    assert graph_history(history).probes == ()
    assert list(questions([])) == []


def test_undated_facts_are_asked_for_as_they_are():
    asked = list(questions(quads([told("home: Vellmar", "home"), told("home: Vik", "home", speaker="Odo")])))
    assert {p.question for p in asked if p.gold.answerable} == {"Where does Ana live now?", "Where does Odo live now?"}


# --- exactly one right answer

MOMENTS = st.integers(0, 400).map(lambda days: day(1) + timedelta(days=days))
PEOPLE = st.sampled_from(["Ana", "Odo", "Wilma"])


@st.composite
def facts_of_some(draw):
    relation = draw(st.sampled_from(["home", "landlord", "sister", "ward"]))
    tail = draw(PEOPLE if relation in ("sister", "landlord") else st.sampled_from(["A", "B", "C", "D"]))
    since, until = draw(st.none() | MOMENTS), draw(st.none() | MOMENTS)
    said = draw(st.none() | MOMENTS)
    return Quad(draw(PEOPLE), relation, tail, since, until, draw(st.uuids()).hex, said, STORES[relation])


def looked_up(known, heads, relation, moment, as_of):
    """By brute force: who or what is in that relation to the heads at the moment, by what was known."""
    return {
        q.tail
        for q in known
        if q.head in heads
        and q.relation == relation
        and (q.said or q.since or as_of) <= as_of
        and (q.since is None or q.since <= moment)
        and (q.until is None or moment < q.until)
    }


RELATIONS = ("home", "landlord", "sister", "ward")
SPANS = [TimeSpan(day(1) + timedelta(days=d), day(1) + timedelta(days=d + 1)) for d in range(420)]
SPANS += [TimeSpan(day(m), day(m + 1)) for m in range(1, 12)]
SPANS += [TimeSpan(day(12), day(1, year=2027)), TimeSpan(day(1, year=2027), day(2, year=2027))]
SPANS += [TimeSpan(day(2, year=2027), day(3, year=2027))]
WAYS = [*([a] for a in RELATIONS), *([a, b] for a in RELATIONS for b in RELATIONS)]
STORES = {"home": "profile", "landlord": "relationship", "sister": "relationship", "ward": "profile"}
READ_BACK = {
    word_question(head, way, STORES[way[-1]], span): (head, way, span)
    for head in ("Ana", "Odo", "Wilma", "A", "B", "C", "D", *(f"the {relation}" for relation in RELATIONS))
    for way in WAYS
    for span in (None, *SPANS)
}
"""The head, the relations and the time that a question in words asks about."""


TOLD = {
    word_question(head, [relation, "ward"], "profile", None, span).partition(". ")[0]: (head, relation, span)
    for head in ("Ana", "Odo", "Wilma", "A", "B", "C", "D")
    for relation in RELATIONS
    for span in SPANS
}
"""The head, the relation and the time of what a question with two times tells first."""


def moments_of(span, asked_at):
    """Moments of the time asked about, every six hours."""
    if span is None:
        return [asked_at]
    return [span.start + timedelta(hours=h) for h in range(0, int((span.end - span.start) / timedelta(hours=1)), 6)]


@settings(max_examples=60, deadline=None)
@given(st.lists(facts_of_some(), max_size=9), st.integers(0, 3))
def test_a_look_up_of_all_facts_gives_exactly_the_gold(known, seed):
    for probe in questions(known, seed, limit=12):
        told, _, asked = probe.question.rpartition(". ")
        head, way, span = READ_BACK[asked]
        firsts = [{head}]
        if told:
            head, relation, first = TOLD[told]
            firsts = [looked_up(known, {head}, relation, m, probe.asked_at) for m in moments_of(first, probe.asked_at)]
        for found in firsts:
            for moment in moments_of(span, probe.asked_at):
                answers = found
                for relation in way:
                    answers = looked_up(known, answers, relation, moment, probe.asked_at)
                assert answers == (set(probe.gold.answers) if probe.gold.answerable else set())


@given(st.lists(facts_of_some(), max_size=12), st.integers(0, 3))
def test_questions_are_distinct_and_asked_when_their_evidence_is_known(known, seed):
    by_source = {q.source: q for q in known}
    probes = list(questions(known, seed))
    assert len({p.id for p in probes}) == len(probes)
    for probe in probes:
        assert all(by_source[source].is_known(probe.asked_at) for source in probe.gold.turns)


def test_a_way_that_parts_leads_nowhere():
    two = [Quad("Ana", "sister", name, source=name) for name in ("Wilma", "Pia")]
    span = TimeSpan(day(3), day(3) + MOMENT)
    assert Knowledge(two).follow("Ana", ["sister"], [span], day(9)) is None
    assert Knowledge(two[:1]).follow("ana", ["sister"], [span], day(9)) == two[:1]
    assert Knowledge(two[:1]).follow("Ana", ["sister", "home"], [span] * 2, day(9)) is None
