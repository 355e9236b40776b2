"""Replay a history: store its sessions in a fresh bank, ask its probes, and count the costs.

A pool is all histories of a benchmark in one persona's memory, so that each question searches all of them.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eval.metrics.answers import verdict
from eval.play.ids import NOBODY
from eval.play.memory_under_test import MemoryUnderTest
from eval.play.models import CachedEmbedder, Models
from eval.play.simulation.names import rename
from eval.play.simulation.simulate import plan, simulate
from eval.runs.experiment import Experiment
from eval.runs.run import HistoryCosts
from eval.types import Costs, History, Prediction, Probe, Sample
from memory.bank import rows
from memory.errors import MemoirError
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Skip

Outcome = Sample | HistoryCosts


@dataclass(frozen=True, slots=True)
class Replay:
    """A history to replay, and the probes that each experiment asks of it, by the experiment's number."""

    history: History
    probes: Mapping[int, tuple[Probe, ...]]


def replay(task: Replay, experiments: Sequence[Experiment], models: Models) -> Iterator[tuple[int, Outcome]]:
    """Store a history in a fresh bank and ask its probes.

    Yields each sample as it is answered, by the number of its experiment, and what each experiment cost. Probes that
    belong to a session are asked while that session is played (DialSim); all others after the last one, where the date
    of a probe decides what is known. The experiments store the same (`Experiment.storing` is equal), so the first one
    to ask pays for storing.
    """
    embedder, memory = models.embedder, None
    with tempfile.TemporaryDirectory(prefix="memoir-replay-") as home:
        for number, probes in task.probes.items():
            seconds, texts, cached = embedder.seconds, embedder.texts, embedder.cached
            started, costs, experiment = time.perf_counter(), Costs(), experiments[number]
            if task.history.is_simulated:
                # Only the simulator replays under other names; elsewhere the probes would keep the old ones.
                played = rename(replace(task.history, probes=probes), experiment.simulation.names, experiment.seed)
                with tempfile.TemporaryDirectory(dir=home) as own:
                    fresh = MemoryUnderTest(Path(own), played, experiment, models, costs)
                    answered = simulate(played, fresh, experiment.simulation, experiment.seed)
                    yield from ((number, _sample(probe, prediction, embedder)) for probe, prediction in answered)
            else:
                if memory is None:
                    memory = _store(Path(home), task.history, experiment, models, costs)
                memory.ask_as(experiment, costs)
                yield from ((number, _sample(probe, memory.ask(probe), embedder)) for probe in probes)
            spent = embedder.seconds - seconds, embedder.texts - texts, embedder.cached - cached
            skips = tuple((skip.place, skip.reason) for skip in task.history.skips)
            yield number, HistoryCosts(task.history.id, costs, *spent, time.perf_counter() - started, skips)


def count_asked(history: History, experiment: Experiment) -> int:
    """Count the probes that a replay will ask: at most one a session in a simulation, otherwise all of them."""
    if not history.is_simulated:
        return len(history.probes)
    renamed = rename(history, experiment.simulation.names, experiment.seed)
    return len(plan(renamed, experiment.simulation, experiment.seed))


def _store(home: Path, history: History, experiment: Experiment, models: Models, costs: Costs) -> MemoryUnderTest:
    memory = MemoryUnderTest(home, history, experiment, models, costs)
    if isinstance(history, Pool):
        for part, own in pooled_parts(history.read):
            memory.start_part(part, own)
            memory.remember(part.sessions, part.memories)
    else:
        memory.remember(history.sessions, history.memories)
    return memory


def _sample(probe: Probe, prediction: Prediction, embedder: CachedEmbedder) -> Sample:
    """An answer with its verdict by rule, and the cosine of it and the nearest gold answer where there are both."""
    if probe.gold.answers and prediction.answer and not prediction.abstained:
        answer, *golds = embedder.encode([prediction.answer, *probe.gold.answers])
        prediction = replace(prediction, similarity=round(max(float(gold @ answer) for gold in golds), 4))
    return Sample(probe, prediction, verdict(probe, prediction))


# --- pools

POOLED = "pooled"

Read = Callable[[], Iterator[History]]


@dataclass(frozen=True, slots=True)
class Pool(History):
    """Many histories as one. It holds the probes; sessions are read again, one history at a time."""

    read: Read = field(default=lambda: iter(()))


def pool(read: Read) -> Pool:
    """Pool the histories that `read` returns at each call; raises `MemoirError` if one is asked while it is played."""
    probes, skips = list[Probe](), list[Skip]()
    for part, history in pooled_parts(read):
        if history.is_simulated:
            raise MemoirError(f"{history.id} is asked while it is played; run it without pooled=true")
        probes.extend(part.probes)
        skips.extend(history.skips)
    return Pool(POOLED, PersonaDraft(NOBODY), (), (), tuple(probes), tuple(skips), read)


def pooled_parts(read: Read) -> Iterator[tuple[History, History]]:
    """What each history adds to a pool, and the history itself, in the file's order."""
    stored, asked = dict[str, str](), set[str]()
    return ((_pooled_part(history, stored, asked), history) for history in read())


def _pooled_part(history: History, stored: dict[str, str], asked: set[str]) -> History:
    """A history under pooled ids, without what an earlier one holds too.

    Ids become "<history>/<id>", and a turn's "<history>/<session>/<place>", so that they stay unambiguous. What two
    histories share, the same words at the same time, is stored once and is evidence for both: the gold of the second
    names what the first stored. A question still sees only what was said before it.

    The ids of what is `stored` so far, by its content and time, and those of the probes that are `asked` are added to.
    """
    sessions, turns, memories = dict[str, str](), dict[str, str](), dict[str, str]()
    told, known = list[SessionDraft](), list[MemoryDraft]()
    for place, session in enumerate(history.sessions, start=1):
        own = f"{history.id}/{session.external_id or f'session {place}'}"
        words = [(turn.speaker, turn.text, rows.format_time(turn.said_at)) for turn in session.turns]
        name = stored.setdefault(rows.digest(rows.format_time(session.started_at), words), own)
        sessions[session.external_id] = name
        units = {f"{name}/{n}": turn for n, turn in enumerate(session.turns, start=1)}
        turns |= {turn.external_id: unit for unit, turn in units.items()}
        if name == own:
            renamed = tuple(replace(turn, external_id=unit) for unit, turn in units.items())
            told.append(replace(session, external_id=own, turns=renamed))
    for place, memory in enumerate(history.memories, start=1):
        own = f"{history.id}/{memory.external_id or f'memory {place}'}"
        name = stored.setdefault(rows.memory_identity(replace(memory, external_id="")), own)
        memories[memory.external_id] = name
        if name == own:
            known.append(replace(memory, external_id=own))
    names = {"turns": memories | turns, "sessions": sessions, "items": sessions | memories}
    names |= {"user_turns": turns, "user_sessions": sessions}
    probes = []
    for probe in history.probes:
        gold: dict[str, Any] = {  # an unknown id gets the history's as its prefix
            level: tuple(dict.fromkeys(pooled.get(i, f"{history.id}/{i}") for i in getattr(probe.gold, level)))
            for level, pooled in names.items()
        }
        name = f"{history.id}/{probe.id}" if probe.id in asked else probe.id
        asked.add(name)
        probes.append(replace(probe, id=name, gold=replace(probe.gold, **gold)))
    return replace(history, sessions=tuple(told), memories=tuple(known), probes=tuple(probes))
