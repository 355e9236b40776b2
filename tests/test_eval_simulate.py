"""DialSim's simulator: who is asked what, when, under which names, and how long is waited."""

import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.benchmarks.dialsim.adapter import load
from eval.play.simulation.names import characters, rename, respeller, swapped
from eval.play.simulation.simulate import TOO_LATE, plan, simulate, sort_by_time_and_number
from eval.runs.experiment import SimulationSettings
from eval.types import Gold, History, Prediction, Probe
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, SessionDraft, TurnDraft
from support.dialsim_show import AGENT, PEOPLE, write_show

SETTINGS = SimulationSettings(names="original", time_limit_s=6)


class ScriptedStage:
    """Answers every question alike, and keeps what it was told and asked in the order in which it was."""

    def __init__(self, answer="(A)", milliseconds=10.0):
        self.answer = answer
        self.milliseconds = milliseconds
        self.calls = []
        self.turns = []
        self.memories = []

    def remember(self, sessions, memories=()):
        self.calls.append([s.external_id for s in sessions])
        self.memories += memories
        for session in sessions:
            self.turns += [t.external_id for t in session.turns if t.external_id not in self.turns]

    def ask(self, probe):
        self.calls.append(probe.question)
        return Prediction(probe.id, "h", {}, (), self.answer, choice=0, response_ms=self.milliseconds)


@pytest.fixture
def history(tmp_path):
    return next(load(write_show(tmp_path)))


def played(history, settings=SETTINGS, seed=0, **stage):
    scripted = ScriptedStage(**stage)
    return list(simulate(history, scripted, settings, seed)), scripted


def test_every_session_is_asked_one_question_in_order_of_time(history):
    askings = plan(history, SETTINGS)
    assert [asked.asked_in for asked, _ in askings] == [s.external_id for s in history.sessions]


def test_a_question_comes_after_a_turn_of_the_agent_from_somebody_near_in_their_own_words(history):
    for seed in range(20):
        for asked, place in plan(history, SETTINGS, seed):
            session = next(s for s in history.sessions if s.external_id == asked.asked_in)
            own = [n for n, turn in enumerate(session.turns) if turn.speaker == AGENT]
            assert place in own[1:]
            near = session.turns[place - 3 : place + 3]
            asker, _, wording = asked.question.partition(": ")
            assert asker in {turn.speaker for turn in near} & set(PEOPLE)
            words = asked.askers.get(asker) or asked.askers["default"]
            assert wording == words


def test_at_a_question_all_before_it_has_been_told_and_nothing_after_it(history):
    stage = ScriptedStage()
    askings = plan(history, SETTINGS, 3)
    order = [turn.external_id for session in history.sessions for turn in session.turns]
    for (_, turn), (probe, _) in zip(askings, simulate(history, stage, SETTINGS, 3), strict=True):
        last = f"{probe.asked_in}:{turn + 1}"
        assert stage.turns == order[: order.index(last) + 1]


def test_each_question_takes_one_call_to_tell_and_one_to_ask(history):
    _, stage = played(history)
    told = [call for call in stage.calls if isinstance(call, list)]
    names = [s.external_id for s in history.sessions]
    assert told == [names[:1], *map(list, pairwise(names))]


def test_the_same_seed_asks_the_same_whatever_the_order_of_the_file_and_of_other_sessions(history):
    turned = replace(history, sessions=history.sessions[::-1], probes=history.probes[::-1])
    assert plan(turned, SETTINGS, 5) == plan(history, SETTINGS, 5)
    alone = replace(history, probes=tuple(p for p in history.probes if p.asked_in == "2001-04-08#1"))
    assert plan(alone, SETTINGS, 5)[0] == plan(history, SETTINGS, 5)[3]
    assert plan(history, SETTINGS, 6) != plan(history, SETTINGS, 5)


def test_questions_are_hard_and_unanswerable_about_as_often_as_in_the_paper(history):
    asked = [probe for seed in range(300) for probe, _ in plan(history, SETTINGS, seed)]
    hard = Counter("hard" in p.populations for p in asked)
    assert hard[True] / len(asked) == pytest.approx(0.7, abs=0.04)
    unknown = Counter(p.populations for p in asked if not p.gold.answerable)
    assert unknown[("hard",)] / hard[True] == pytest.approx(0.21, abs=0.04)
    assert unknown[("easy",)] / hard[False] == pytest.approx(0.26, abs=0.06)


@pytest.mark.parametrize("questions", ["hard", "easy"])
def test_only_hard_or_only_easy_questions_can_be_asked(history, questions):
    asked = plan(history, replace(SETTINGS, questions=questions))
    assert {probe.populations for probe, _ in asked} == {(questions,)}


def test_a_hard_question_about_the_present_month_or_year_is_not_asked():
    turns = (TurnDraft("Pia", "other", "Hm."), TurnDraft("Odo", "other", "Hm."))
    session = SessionDraft(turns, datetime(2001, 3, 3, tzinfo=UTC), external_id="s#1")
    questions = ("Who sailed in 2001?", "Who sailed in March 2001?", "Who sailed in February 2001?")
    probes = tuple(
        Probe(str(n), q, session.started_at, Gold(("Pia",)), "past", populations=("hard",), asked_in="s#1")
        for n, q in enumerate(questions)
    )
    history = History("h", PersonaDraft("Nobody"), (session,), (), probes)
    asked = {plan(history, SETTINGS, seed)[0][0].question.partition(": ")[2] for seed in range(20)}
    assert asked == {questions[2]}


def test_nothing_is_asked_where_nobody_present_can_ask_or_the_agent_says_nothing(history):
    only_tam = [replace(p, askers={"Zed": "Where?"}) for p in history.probes if p.asked_in == "2001-03-03#1"]
    silent = replace(history.sessions[1], turns=history.sessions[1].turns[2:4])
    alone = replace(history.sessions[2], turns=history.sessions[2].turns[1:2])
    lost = replace(history.probes[0], id="lost", asked_in="elsewhere")
    changed = replace(
        history,
        sessions=(history.sessions[0], silent, alone, history.sessions[3]),
        probes=(*only_tam, lost, *(p for p in history.probes if p.asked_in in (silent.external_id, alone.external_id))),
    )
    assert plan(changed, SETTINGS) == []


def test_the_choices_are_shown_as_set_and_open_questions_have_none(history):
    structured, _ = played(history)
    assert all(re.search(r"^\w+: .*\?\n\(A\) .*\n\(E\) I don't know\.$", p.question, re.S) for p, _ in structured)
    plain, _ = played(history, replace(SETTINGS, answers="unstructured"))
    assert all("or the lamp, or do you not know?" in p.question and p.gold.choice is not None for p, _ in plain)
    opened, stage = played(history, replace(SETTINGS, answers="open"))
    assert all((p.choices, p.gold.choice) == ((), None) and p.gold.answers for p, _ in opened)
    assert [p.question for p, _ in opened] == [call for call in stage.calls if isinstance(call, str)]


def test_an_answer_that_comes_too_late_is_wrong_even_where_nothing_is_known(history):
    late, _ = played(history, milliseconds=6001)
    assert {(p.answer, p.choice, p.abstained) for _, p in late} == {(TOO_LATE, None, False)}
    assert "6.0 s" in late[0][1].reason
    in_time, _ = played(history, milliseconds=6000)
    assert {p.answer for _, p in in_time} == {"(A)"}
    unlimited, _ = played(history, replace(SETTINGS, time_limit_s=0), milliseconds=1e9)
    assert {p.answer for _, p in unlimited} == {"(A)"}


def test_memories_are_told_first_and_learned_ones_only_with_their_turns(history):
    fact = MemoryDraft("profile", "home: Vellmar", speaker="Pia")
    first = replace(
        history.sessions[0], learned=(LearnedMemory(fact, (Quote(0, ""),)), LearnedMemory(fact, (Quote(7, ""),)))
    )
    told = []

    class Watching(ScriptedStage):
        def remember(self, sessions, memories=()):
            super().remember(sessions, memories)
            told.append([len(s.learned) for s in sessions])

    stage = Watching()
    list(simulate(replace(history, sessions=(first, *history.sessions[1:]), memories=(fact,)), stage, SETTINGS))
    assert stage.memories == [fact]
    assert told[:3] == [[], [1], [2, 0]]


def test_sessions_of_one_day_come_as_they_are_numbered():
    day = datetime(2001, 3, 3, tzinfo=UTC)
    sessions = [SessionDraft((), day, external_id=f"2001-03-03#{n}") for n in (10, 2, 1)]
    assert [s.external_id for s in sort_by_time_and_number(sessions)] == [
        "2001-03-03#1",
        "2001-03-03#2",
        "2001-03-03#10",
    ]


# --- names


def texts_of(history):
    yield history.persona.name
    for session in history.sessions:
        for turn in session.turns:
            yield from (turn.speaker, turn.text)
    for probe in history.probes:
        yield from (probe.question, *probe.choices, *probe.gold.answers, *probe.askers, *probe.askers.values())


def test_the_main_characters_are_those_who_have_words_of_their_own(history):
    assert characters(history) == PEOPLE


def test_swapped_names_are_those_of_others_everywhere(history):
    other = rename(history, "swapped", seed=2)
    mapping = swapped(PEOPLE, seed=2)
    assert sorted(mapping.values()) == sorted(mapping) == sorted(PEOPLE)
    assert all(old != new for old, new in mapping.items())
    assert [t.speaker for t in other.sessions[0].turns if t.speaker in PEOPLE] == [
        mapping[t.speaker] for t in history.sessions[0].turns if t.speaker in PEOPLE
    ]
    assert f"{mapping['Pia']}'s note" in other.sessions[0].turns[4].text
    assert f"And {mapping['Pia'].upper()} never" in other.sessions[0].turns[5].text
    probe = other.probes[0]
    assert {who: text.split()[0] for who, text in probe.askers.items() if who != "default"} == {
        p: p for p in PEOPLE
    } or ("easy" in probe.populations)
    assert [p.id for p in other.probes] == [p.id for p in history.probes]


def test_anonymised_people_bear_names_that_nobody_in_the_history_bears(history):
    other = rename(history, "anonymised", seed=2)
    words = {word for text in texts_of(other) for word in re.findall(r"\w+", text)}
    assert not words & set(PEOPLE)
    assert not set(characters(other)) & {word for text in texts_of(history) for word in re.findall(r"\w+", text)}
    assert len(characters(other)) == len(PEOPLE)
    assert rename(history, "anonymised", seed=2) == other


def test_the_agent_is_renamed_with_the_others_and_still_asked(history):
    with_agent = tuple(
        replace(p, askers={**p.askers, AGENT: "Ross asks?"}) if "hard" in p.populations else p for p in history.probes
    )
    other = rename(replace(history, probes=with_agent), "anonymised")
    assert other.persona.name not in (AGENT, *PEOPLE)
    assert len(plan(other, SETTINGS)) == len(history.sessions)


def test_original_names_are_left_as_they_are(history):
    assert rename(history, "original") is history


NAMES = st.text("abcdefgh", min_size=2, max_size=6).map(str.capitalize)


@given(st.sets(NAMES, min_size=2, max_size=6), st.integers(), st.data())
def test_swapping_back_gives_the_original(names, seed, data):
    pieces = st.sampled_from([*names, *(n.upper() for n in names), "'s", " ", ". ", "-", ", ", "and", "ab", "(", ":"])
    text = "".join(data.draw(st.lists(pieces, max_size=30)))
    there = swapped(names, seed)
    back = {new: old for old, new in there.items()}
    assert respeller(back)(respeller(there)(text)) == text
    assert not any(old == new for old, new in there.items())


@given(st.sets(NAMES, min_size=2, max_size=6), st.integers())
def test_no_part_of_a_word_is_taken_for_a_name(names, seed):
    text = " ".join(f"{name}x x{name} _{name}" for name in names)
    assert respeller(swapped(names, seed))(text) == text
