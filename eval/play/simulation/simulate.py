"""DialSim's simulator: sessions are played one utterance at a time, and somebody present asks while they go on.

Algorithm 1 of Kim et al. 2024 (arXiv 2406.13144), with what only its program says (github.com/jiho283/Simulator): the
shares of the kinds of questions, who may ask, and when. Everything that is drawn is drawn from the run's seed and the
session's id, so that it depends neither on the order of work nor on other sessions.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import cycle
from random import Random
from typing import Literal, Protocol

from eval.play.simulation.choices import Answers, show
from eval.play.simulation.choices import choose as choose
from eval.play.simulation.names import DEFAULT, Names, rename
from eval.types import History, Prediction, Probe
from memory.importers.benchmarks.dialsim import SCENE_SPEAKER
from memory.types import MemoryDraft, SessionDraft, Skip, TurnDraft

HARD_SHARE = 0.7
"""How many of the questions are of the hard kind where a session has both."""

UNANSWERABLE_SHARE = {"hard": 0.215, "easy": 0.27}
"""How many of the kinds to draw from are unanswerable at most: a choice of five is right by chance every fifth time."""

DRAWS = 20
"""Questions of a kind that are drawn until one is found that somebody present can ask."""

NEAR = 3
"""Who speaks within so many turns of the moment is present."""

TOO_LATE = "(too late)"
NOBODY = frozenset({"all", "everyone", "everybody", "both", SCENE_SPEAKER.casefold()})

Population = Literal["all", "hard", "easy"]


@dataclass(frozen=True, slots=True)
class SimulationSettings:
    """How questions are asked: with which choices, under which names, for how long one waits, and which of them.

    `time_limit_s` counts the answer's response time; 0 is no limit.
    """

    answers: Answers = "multiple-choice"
    names: Names = "original"
    time_limit_s: float = 6.0
    questions: Population = "all"


@dataclass(frozen=True, slots=True)
class Asking:
    """A question that will be asked: after which turn of its session (from 0), by whom, in which words."""

    probe: Probe
    turn: int
    asker: str
    wording: str


class Stage(Protocol):
    """What the simulator tells and asks."""

    def remember(self, sessions: Sequence[SessionDraft], memories: Sequence[MemoryDraft] = ()) -> None:
        """Store what is new of these; a session that was told in part may come again, longer."""

    def ask(self, probe: Probe, question: str = "", dialogue: Sequence[TurnDraft] = ()) -> Prediction:
        """Answer in the words given, as of the probe's date."""


def simulate(
    history: History, stage: Stage, settings: SimulationSettings, seed: int = 0
) -> Iterator[tuple[Probe, Prediction]]:
    """Play a history and hand over what was asked, as it was asked, with the answer.

    All that was said before a question is told in one call: a memory holds what was said when, not how often it was
    written to, so that it is the same as after one call an utterance. Nothing later has been told by then. What comes
    after the last question is not told at all. The stage is best built from `rename(history, settings.names, seed)`,
    so that the persona is called as everybody calls it.
    """
    renamed = rename(history, settings.names, seed)
    sessions = in_time_order(renamed.sessions)
    places = {session.external_id: place for place, session in enumerate(sessions)}
    if renamed.memories:
        stage.remember((), renamed.memories)
    told = 0
    for asking in plan(renamed, settings, seed)[0]:
        place = places[asking.probe.asked_in]
        stage.remember([*sessions[told:place], until(sessions[place], asking.turn)])
        told = place
        # The choices are for who answers; what is searched for is the question alone, as the authors' program has it.
        answered = stage.ask(asking.probe, f"{asking.asker}: {asking.wording}")
        yield _as_asked(asking, settings.answers), _in_time(_in_words(answered, settings), settings.time_limit_s)


def plan(history: History, settings: SimulationSettings, seed: int = 0) -> tuple[tuple[Asking, ...], tuple[Skip, ...]]:
    """What will be asked, in order of time: at most one question a session; and why nothing is asked in the others."""
    by_session: defaultdict[str, list[Probe]] = defaultdict(list)
    for probe in history.probes:
        if probe.asked_in and (settings.questions == "all" or settings.questions in probe.populations):
            by_session[probe.asked_in].append(probe)
    sessions = in_time_order(history.sessions)
    played = {turn.speaker.casefold() for session in sessions for turn in session.turns}
    agent = history.persona.name if history.persona.name.casefold() in played else ""
    askings: list[Asking] = []
    skips: list[Skip] = []
    for session in sessions:
        probes = by_session.pop(session.external_id, [])
        found = _asking(session, probes, agent, Random(f"{seed}\0{session.external_id}"))
        if isinstance(found, Asking):
            askings.append(found)
        else:
            skips.append(Skip(session.external_id, found))
    skips += [Skip(name, f"no such session; {len(probes)} questions lost") for name, probes in by_session.items()]
    return tuple(askings), tuple(skips)


def in_time_order(sessions: Sequence[SessionDraft]) -> list[SessionDraft]:
    """Sessions in order of time; those of one moment as they are numbered ("#2" before "#10"); the undated first."""
    beginning = datetime.min.replace(tzinfo=UTC)
    return sorted(sessions, key=lambda s: (s.started_at or beginning, _numbered(s.external_id)))


def until(session: SessionDraft, turn: int) -> SessionDraft:
    """The session up to a turn and with it, and what was learned from those turns."""
    learned = tuple(each for each in session.learned if all(quote.turn <= turn for quote in each.quotes))
    return replace(session, turns=session.turns[: turn + 1], learned=learned)


def _asking(session: SessionDraft, probes: Sequence[Probe], agent: str, rng: Random) -> Asking | str:
    """The question of a session, or why there is none."""
    if not probes:
        return "it has no question"
    turn = _moment(session.turns, agent, rng)
    if turn is None:
        return f"{agent} says nothing in it"
    near = session.turns[max(0, turn - NEAR) : turn + NEAR]
    present = sorted({t.speaker for t in near if t.speaker.casefold() not in NOBODY | {agent.casefold()}})
    if not present:
        return "nobody is present who could ask"
    for probe in _drawn(probes, session.started_at, rng):
        able = present if DEFAULT in probe.askers or not probe.askers else _able(present, probe)
        if able:
            asker = rng.choice(able)
            return Asking(probe, turn, asker, _wording(probe, asker))
    return f"none of its questions is one for those present ({', '.join(present)})"


def _moment(turns: Sequence[TurnDraft], agent: str, rng: Random) -> int | None:
    """The turn after which is asked: one of the agent's, but not its first if it has others; any if nobody is it."""
    own = [n for n, turn in enumerate(turns) if not agent or turn.speaker.casefold() == agent.casefold()]
    return rng.choice(own[1:] or own) if own else None


def _drawn(probes: Sequence[Probe], today: datetime | None, rng: Random) -> Iterator[Probe]:
    """Questions in the order in which they are tried: all of one kind, hard or easy, of one ability."""
    hard = [probe for probe in probes if "hard" in probe.populations and not _names_present(probe, today)]
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
    """The abilities to draw from, the answerable ones as often as keeps the others below their share."""
    answerable = [kind for kind, probes in kinds.items() if any(p.gold.answerable for p in probes)]
    others = len(kinds) - len(answerable)
    pool = list(kinds)
    rng.shuffle(answerable)
    for kind in cycle(answerable):
        if others / len(pool) < share:
            break
        pool.append(kind)
    return pool


def _names_present(probe: Probe, today: datetime | None) -> bool:
    """Whether a question asks about the month or year that is not over yet: what it still brings is not known."""
    if today is None:
        return False
    months = rf"(?:{today:%B} )?{today:%Y}"
    return bool(re.search(rf"\bin {months}\b|\b{today:%B} {today:%Y}\b", probe.question))


def _able(present: Sequence[str], probe: Probe) -> list[str]:
    known = {asker.casefold() for asker in probe.askers}
    return [speaker for speaker in present if speaker.casefold() in known]


def _wording(probe: Probe, asker: str) -> str:
    own = {name.casefold(): text for name, text in probe.askers.items()}
    return own.get(asker.casefold()) or own.get(DEFAULT) or probe.question


def _as_asked(asking: Asking, answers: Answers) -> Probe:
    """The probe in the words of the one who asks; without choices where none are shown."""
    probe = asking.probe
    question = show(f"{asking.asker}: {asking.wording}", probe.choices, answers)
    if answers == "open":
        return replace(probe, question=question, choices=(), gold=replace(probe.gold, choice=None))
    return replace(probe, question=question)


def _in_words(prediction: Prediction, settings: SimulationSettings) -> Prediction:
    """The prediction without a choice where none was shown."""
    return replace(prediction, choice=None) if settings.answers == "open" else prediction


def _in_time(prediction: Prediction, limit_s: float) -> Prediction:
    """The prediction, made wrong if it came too late: an abstention would be right where nothing is known."""
    if not limit_s or prediction.response_ms <= limit_s * 1000:
        return prediction
    why = f"too late: {prediction.response_ms / 1000:.1f} s, {limit_s:g} s allowed"
    return replace(prediction, answer=TOO_LATE, abstained=False, reason=why, cited=(), choice=None)


def _numbered(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d{1,9})", name)]
