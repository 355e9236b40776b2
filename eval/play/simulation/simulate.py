"""DialSim's simulator: play sessions one utterance at a time, while somebody present asks questions.

Algorithm 1 of Kim et al. 2024 (arXiv 2406.13144v6), with details from its program (github.com/jiho283/Simulator): the
shares of the kinds of questions (appendix G.1.1), who may ask, and when. Random draws depend on the run's seed and the
session's id alone, not on the order of work or on other sessions.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import cycle
from random import Random

from eval.play.ids import UNDATED
from eval.play.memory_under_test import MemoryUnderTest
from eval.play.simulation.choices import show
from eval.play.simulation.names import DEFAULT
from eval.runs.experiment import SimulationSettings
from eval.types import History, Prediction, Probe
from memory.importers.benchmarks.dialsim import SCENE_SPEAKER
from memory.types import SessionDraft

HARD_SHARE = 0.7
"""Share of hard questions where a session has both kinds."""

UNANSWERABLE_SHARE = {"hard": 0.215, "easy": 0.27}
"""Largest share of unanswerable kinds among those drawn from; of five choices, one in five is right by chance."""

DRAWS = 20
"""Questions of a kind that are tried until somebody present can ask one."""

NEAR = 3
"""Whoever speaks within so many turns of the question is present."""

TOO_LATE = "(too late)"
NOBODY = frozenset({"all", "everyone", "everybody", "both", SCENE_SPEAKER.casefold()})


PlannedQuestion = tuple[Probe, int]
"""A question to ask, in the words of who asks it, and after which turn of its session (from 0)."""


def simulate(
    history: History, memory: MemoryUnderTest, settings: SimulationSettings, seed: int = 0
) -> Iterator[tuple[Probe, Prediction]]:
    """Play a history and yield each question, as it was asked, with its answer.

    Everything said before a question is stored in one call, which leaves the same memory as one call an utterance.
    Nothing later is stored by then, and what follows the last question is not stored at all. The people of the history
    have the names that the settings say already (`rename`), as in the memory.
    """
    sessions = sort_by_time_and_number(history.sessions)
    places = {session.external_id: place for place, session in enumerate(sessions)}
    if history.memories:
        memory.remember((), history.memories)
    played = 0
    for asked, turn in plan(history, settings, seed):
        place = places[asked.asked_in]
        memory.remember([*sessions[played:place], until(sessions[place], turn)])
        played = place
        answered = memory.ask(asked)
        asked = replace(asked, question=show(asked.question, asked.choices, settings.answers))
        if settings.answers == "open":  # no choices were shown
            asked = replace(asked, choices=(), gold=replace(asked.gold, choice=None))
            answered = replace(answered, choice=None)
        if 0 < settings.time_limit_s * 1000 < answered.response_ms:  # as an abstention it might be right
            why = f"too late: {answered.response_ms / 1000:.1f} s, {settings.time_limit_s:g} s allowed"
            answered = replace(answered, answer=TOO_LATE, abstained=False, reason=why, cited=(), choice=None)
        yield asked, answered


def plan(history: History, settings: SimulationSettings, seed: int = 0) -> list[PlannedQuestion]:
    """Draw what will be asked, in order of time: at most one question a session."""
    by_session: defaultdict[str, list[Probe]] = defaultdict(list)
    for probe in history.probes:
        if probe.asked_in and (settings.questions == "all" or settings.questions in probe.populations):
            by_session[probe.asked_in].append(probe)
    sessions = sort_by_time_and_number(history.sessions)
    played = {turn.speaker.casefold() for session in sessions for turn in session.turns}
    agent = history.persona.name if history.persona.name.casefold() in played else ""
    drawn = (
        _draw_question(session, by_session[session.external_id], agent, Random(f"{seed}\0{session.external_id}"))
        for session in sessions
    )
    return [question for question in drawn if question]


def sort_by_time_and_number(sessions: Sequence[SessionDraft]) -> list[SessionDraft]:
    """Sort sessions by time, undated ones first; those of one moment by number ("#2" before "#10")."""

    def numbered(name: str) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d{1,9})", name)]

    return sorted(sessions, key=lambda s: (s.started_at or UNDATED, numbered(s.external_id)))


def until(session: SessionDraft, turn: int) -> SessionDraft:
    """The session up to and including a turn, with what was learned from those turns."""
    learned = tuple(each for each in session.learned if all(quote.turn <= turn for quote in each.quotes))
    return replace(session, turns=session.turns[: turn + 1], learned=learned)


def _draw_question(session: SessionDraft, probes: Sequence[Probe], agent: str, rng: Random) -> PlannedQuestion | None:
    """Draw the question of a session; None if it has none, the agent says nothing, or nobody present can ask one."""
    own = [n for n, turn in enumerate(session.turns) if not agent or turn.speaker.casefold() == agent.casefold()]
    if not probes or not own:
        return None
    turn = rng.choice(own[1:] or own)  # one of the agent's, not its first if it has others; any without an agent
    near = session.turns[max(0, turn - NEAR) : turn + NEAR]
    present = sorted({t.speaker for t in near if t.speaker.casefold() not in NOBODY | {agent.casefold()}})
    for probe in _draw_candidates(probes, session.started_at, rng):
        wordings = {name.casefold(): text for name, text in probe.askers.items()}
        able = present if DEFAULT in probe.askers or not wordings else [s for s in present if s.casefold() in wordings]
        if able:
            asker = rng.choice(able)
            wording = wordings.get(asker.casefold()) or wordings.get(DEFAULT) or probe.question
            return replace(probe, question=f"{asker}: {wording}"), turn
    return None


def _draw_candidates(probes: Sequence[Probe], asked_at: datetime | None, rng: Random) -> Iterator[Probe]:
    """Draw the questions to try, in order: all are of one ability, hard or easy."""
    # The current month and year are not over yet.
    now = rf"\bin {asked_at:%Y}\b|\b{asked_at:%B} {asked_at:%Y}\b" if asked_at else ""
    hard = [p for p in probes if "hard" in p.populations and not (now and re.search(now, p.question))]
    easy = [probe for probe in probes if "hard" not in probe.populations]
    pool, share = (hard, "hard") if hard and (not easy or rng.random() < HARD_SHARE) else (easy, "easy")
    kinds: defaultdict[str, list[Probe]] = defaultdict(list)
    for probe in sorted(pool, key=lambda p: p.id):
        kinds[probe.ability].append(probe)
    if not kinds:
        return
    drawn = kinds[rng.choice(_abilities(kinds, UNANSWERABLE_SHARE[share], rng))]
    yield from rng.sample(drawn, min(DRAWS, len(drawn)))


def _abilities(kinds: dict[str, list[Probe]], share: float, rng: Random) -> list[str]:
    """The abilities to draw from; answerable ones are repeated until the others are below their share."""
    answerable = [kind for kind, probes in kinds.items() if any(p.gold.answerable for p in probes)]
    others = len(kinds) - len(answerable)
    pool = list(kinds)
    rng.shuffle(answerable)
    for kind in cycle(answerable):
        if others / len(pool) < share:
            break
        pool.append(kind)
    return pool
