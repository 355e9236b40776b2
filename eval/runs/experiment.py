"""What an evaluation varies: the pipeline's settings, what a replay stores, indexes and hands to the reader, and which
probes are asked.

A history is in the half that the first bit of a digest of its name says: the same one on every machine and in every
portion. Where that puts all histories of a file into one half (a file may hold only one), probes are split by the
session of their evidence instead. Our own conversations are split by folder.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from hashlib import sha256
from itertools import chain, product
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import TypeAdapter, ValidationError

from eval.play.simulation.choices import Answers
from eval.play.simulation.names import Names
from eval.play.systems.contract import MEMOIR
from eval.types import History, Probe
from graph.settings import PipelineSettings
from memory.errors import MemoirError
from memory.settings import BankSettings

Granularity = Literal["turn", "round", "session", "summary", "round-summary", "facts"]
WHOLE_SESSIONS: Final = ("session", "summary")
"""Granularities of which a memory holds a whole session."""
IndexKey = Literal["value", "value+facts", "value+summary", "value+keyphrases", "facts", "summary", "keyphrases"]
InputSource = Literal[
    "memory", "nothing", "everything", "recent", "oracle", "wrong", "found", "setting-1", "setting-2", "setting-3"
]
RememberedKinds = Literal["both", "semantic", "episodic"]


@dataclass(frozen=True, slots=True)
class SimulationSettings:
    """How questions are asked: with which choices, under which names, within which time, and which questions.

    They are as in DialSim's paper in its sixth version (Kim et al. 2024, sections 3.1.6 and 5.1). `time_limit_s` limits
    the response time of an answer, as earlier versions did; 0 is no limit.
    """

    answers: Answers = "multiple-choice"
    names: Names = "anonymised"
    time_limit_s: float = 0.0
    questions: Literal["all", "hard", "easy"] = "all"


@dataclass(frozen=True, slots=True)
class Experiment:
    """Everything that can differ between two runs over the same data.

    `pipeline` holds the settings of a chat. `granularity` is what one dialogue memory holds (LongMemEval, section 5.2;
    DialSim's stores): a turn, a round (what the user said and the replies to it), a session, the summary of a session
    or of a round, or what speakers tell about themselves in a round ("facts"); a round without that is not stored.
    `indexed` says whose words it is indexed by: everybody's, or the user's alone, as in LongMemEval's official index;
    then a memory without words of the user is not stored. `key` says what is added to these words, or stands in for
    them (section 5.3), and `keys` whether an addition is merged with them or indexed as a separate memory.
    `strength_days` is the strength of MemoryBank's forgetting curve (`eval.play.searchers`); at 0 nothing fades.
    `remembered` limits the stores to one kind (PerLTQA, figure 4). `given` is what the reader gets: what the memory
    finds, nothing, everything, as much of the end as it can read ("recent": DialSim's base model), the evidence, what
    is found without the evidence (PerLTQA, table 6), what another run's reader got ("found": that run's folder is
    `found_by`), or the candidates of a setting of the benchmark (MADial-Bench, section 3.3.2).
    `times` is the source of the time filter's times: the words of the question, a chat model that reads them, or the
    dates of its evidence. With `outside` "dropped", nothing from outside these times is found, as in LongMemEval's
    section 5.4; a chat drops it only where a question asks for nothing but a time.
    `questions` are the benchmark's own, asked as we do or as its authors' program does, its test questions alone, or
    one- and two-hop questions made from the history's dated relations. `trained_classifier` is the folder of a
    classifier that `python -m eval train` made: where `classifier` is "learned", it tells of which kind of memory a
    question asks, and test questions must be asked.
    `words` are what BM25 compares: stems, or what stands between spaces, as in LongMemEval's script, which has no other
    factor of a ranking.
    `pooled` stores all histories for one persona (`eval.play.replay`) instead of one for each. `system` is the memory
    that is tested: Memoir's, or another (`eval.play.systems`). `answered_by` says who answers from what it finds: one
    reader for all systems, so that memories are compared and not readers, or each system itself where it can.
    """

    pipeline: PipelineSettings = field(default_factory=PipelineSettings)
    granularity: Granularity = "turn"
    indexed: Literal["all", "user"] = "all"
    key: IndexKey = "value"
    keys: Literal["merged", "separate"] = "merged"
    strength_days: float = 0.0
    remembered: RememberedKinds = "both"
    given: InputSource = "memory"
    found_by: str = ""
    times: Literal["asked", "model", "oracle"] = "asked"
    outside: Literal["kept", "dropped"] = "kept"
    questions: Literal["own", "authors", "test", "graph"] = "own"
    words: Literal["stems", "spaces"] = "stems"
    trained_classifier: str = ""
    pooled: bool = False
    system: str = MEMOIR
    answered_by: Literal["reader", "system"] = "reader"
    embedding_model: str = field(default_factory=lambda: BankSettings().embedding_model)
    simulation: SimulationSettings = field(default_factory=SimulationSettings)
    seed: int = 0

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting under its `--set` name ("rerank.alpha")."""
        return {name: inner[key] for name, (inner, key) in _places(asdict(self))}

    @property
    def storing(self) -> Self:
        """The experiment without its settings of ranking and reading: two that store the same have it in common."""
        pipeline, of_bank = PipelineSettings(), ("learner", "model", "quantization")
        stored = replace(pipeline, **{name: getattr(self.pipeline, name) for name in of_bank})
        same = replace(self, given="memory", times="asked", outside="kept", words="stems", answered_by="reader")
        return replace(same, pipeline=stored, strength_days=0.0)


_ADAPTER = TypeAdapter(Experiment)


def with_settings(experiment: Experiment, assignments: list[str]) -> Experiment:
    """Change settings, each written as `name=value` with a name of `Experiment.settings`.

    Raises `MemoirError` if there is no such setting, or a value is invalid.
    """
    known, values = experiment.settings, asdict(experiment)
    places = dict(_places(values))
    for assignment in assignments:
        name, sign, value = (part.strip() for part in assignment.partition("="))
        if not sign:
            raise MemoirError(f"{assignment!r} sets nothing. Write name=value, as in rerank.alpha=0.3")
        if name not in known:
            (nearest,) = get_close_matches(name, known, n=1, cutoff=0)
            raise MemoirError(
                f"there is no setting {name!r}. The nearest is {nearest}={known[nearest]}; all stand in any report, "
                "and in eval/runs/experiment.py and graph/SETTINGS.md"
            )
        inner, key = places[name]
        inner[key] = value
        try:
            changed = _ADAPTER.validate_python(values)
        except ValidationError as fault:
            why = fault.errors()[0]["msg"]
            raise MemoirError(f"{assignment}: {why} (it is {known[name]} by default)") from fault
        number = changed.settings[name]
        if isinstance(number, (int, float)) and not 0 <= number < math.inf:
            raise MemoirError(f"{assignment}: expected a number from 0 up (it is {known[name]} by default)")
        experiment = changed
    return experiment


def combinations(experiment: Experiment, sweeps: list[str]) -> Iterator[tuple[str, Experiment]]:
    """Yield every combination of `name=value,value,...`, with a label of the values."""
    axes = []
    for sweep in sweeps:
        name, sign, values = sweep.partition("=")
        if not sign or not values.strip():
            raise MemoirError(f"{sweep!r} has no values. Write name=value,value, as in search.k=5,10,20")
        axes.append([f"{name.strip()}={value.strip()}" for value in values.split(",")])
    for combination in product(*axes):
        yield " ".join(combination), with_settings(experiment, list(combination))


def changed_settings(settings: Mapping[str, object]) -> list[str]:
    """The settings that differ from the defaults, as "name=value"."""
    defaults = Experiment().settings
    return [f"{name}={value}" for name, value in settings.items() if defaults.get(name) != value]


def _places(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, tuple[dict[str, Any], str]]]:
    """Where each setting is: by its name, the dictionary that holds it and its key there."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _places(value, prefix if name == "pipeline" else f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", (values, name)


# --- which probes are asked

Half = Literal["tuning", "reporting"]
HALVES: tuple[Half, ...] = ("tuning", "reporting")


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Which benchmark to run, on what data and with which settings.

    `limit` asks the first so many probes, `sample` so many that are drawn (`in_sample`), `only` names the histories to
    play, `half` limits both to the half that tunes or the one that reports. `jobs` processes replay where `engine` says
    (see `ENGINES`). `afresh` starts a new run where an unfinished one could be resumed; `cold` ignores the cache of
    embeddings.
    """

    benchmark: str
    data: Path | None = None
    experiment: Experiment = field(default_factory=Experiment)
    limit: int | None = None
    sample: int | None = None
    only: tuple[str, ...] = ()
    half: Half | None = None
    jobs: int = 1
    engine: str = "local"
    afresh: bool = False
    cold: bool = False

    @property
    def portion(self) -> str:
        """Which probes are asked, in words."""
        if self.experiment.found_by:
            return f"those of {Path(self.experiment.found_by).name}"
        probes = "all" if self.sample is None else f"a sample of {self.sample}"
        probes = probes if self.limit is None else f"the first {self.limit}" + (f" of {probes}" if self.sample else "")
        probes += f" of the {self.half} half" if self.half else ""
        return f"{probes} of {', '.join(self.only)}" if self.only else probes


FOLDERS: dict[str, dict[Half, str]] = {"conversations": {"tuning": "development", "reporting": "reported"}}
"""The benchmarks with a folder for each half, which are neighbours."""


def half_of(*names: str) -> Half:
    """The half of what has these names: the benchmark's, the history's and, in a split by probes, the session's."""
    return HALVES[sha256("/".join(names).encode()).digest()[0] >> 7]


def in_half(benchmark: str, histories: Iterator[History], half: Half) -> Iterator[History]:
    """The histories of one half; where one half has none, all of them with the probes of that half."""
    if benchmark in FOLDERS:
        yield from histories
        return
    first: list[History] = []  # read until both halves have one
    for history in histories:
        first.append(history)
        if half_of(benchmark, history.id) != half_of(benchmark, first[0].id):
            yield from (h for h in chain(first, histories) if half_of(benchmark, h.id) == half)
            return
    for history in first:
        chosen = (p for p in history.probes if half_of(benchmark, history.id, evidence_session(p)) == half)
        yield replace(history, probes=tuple(chosen))


def in_sample(read: Callable[[], Iterator[History]], size: int) -> Iterator[History]:
    """The histories with `size` of their probes, or all of them if there are fewer; `read` is called twice.

    Every so many-th is taken of the probes in the order of kind, history and a digest, so that each kind and each
    history has about the share that it has in the whole.
    """
    order = sorted((p.ability, h.id, sha256(p.id.encode()).digest(), p.id) for h in read() for p in h.probes)
    count = min(size, len(order))
    chosen = {order[(2 * n + 1) * len(order) // (2 * count)][1::2] for n in range(count)}
    for history in read():
        yield replace(history, probes=tuple(p for p in history.probes if (history.id, p.id) in chosen))


def evidence_session(probe: Probe) -> str:
    """The first session of a probe's evidence, a memory of it if no session said it, or the probe if it has none."""
    gold = probe.gold
    return min(gold.sessions or gold.items or gold.turns, default=probe.id)
