"""The data of evaluation: histories, probes, predictions, verdicts.

A benchmark's file is read into histories; a history holds what is stored and the probes that are asked. The right
answers (`Gold`) are apart from the questions, so that they reach neither the bank nor a prompt.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Skip, Store, TurnDraft

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

ChatModel: TypeAlias = "BaseChatModel"
"""LangChain's class of chat models, which takes a second to import."""

State = Literal["right", "wrong", "unreadable", "unscored"]
Cause = Literal["not stored", "not retrieved", "filtered out", "misread"]
Kind = Literal["semantic", "episodic"]
Place = Literal["read", "beyond", "filtered"]

STATEMENT = "statement"
"""The ability of probes that ask nothing: news or a feeling, which must not be taken for a question."""

PROACTIVE = "proactive"
"""Begins the names of abilities whose probes ask nothing: the user tells something, and a memory should come up."""

FAMILIES = {"temporal": "temporal", "update": "update", "preference": "rubric", PROACTIVE: "rubric"}
"""The families of abilities, by a word in an ability's name: what makes an answer right differs between them."""

TEST = "test"
"""The population of the questions that a benchmark keeps to test with, where it has others to train on."""

ProbeKey = tuple[str, str]
"""A history's id and a probe's."""

Watch = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class Gold:
    """The right answers and their evidence. All ids are the benchmark's own; the pipeline sees none of them.

    Evidence is given on the levels that the benchmark has: `turns` (external ids of turns, or of memories that no
    session said), `sessions` (external ids of sessions), `items` (memories that are retrieved as a whole: the external
    id of a memory, or of the session for anything said in one). An empty level is not scored. All `answers` are right;
    the first is shown. `anchors` are phrases that a complete answer contains (PerLTQA), and `anchor_ceiling` is the
    share of them that the evidence contains, the most an answer from memory can reach. `choice` is the index of the
    right one of the probe's `choices`. `rubric` holds the points by which a judge scores an answer, or the events that
    it should tell, `in_order` (BEAM). `user_turns` and `user_sessions` are the evidence that the user said, whenever it
    is dated: all that LongMemEval's own script counts.
    """

    answers: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    anchor_ceiling: float | None = None
    choice: int | None = None
    kind: Kind | None = None
    answerable: bool = True
    rubric: tuple[str, ...] = ()
    in_order: bool = False
    user_turns: tuple[str, ...] = ()
    user_sessions: tuple[str, ...] = ()

    @property
    def evidence(self) -> tuple[str, ...]:
        """The ids on the finest level that the benchmark names."""
        return self.turns or self.items or self.sessions


@dataclass(frozen=True, slots=True)
class Probe:
    """One question about a history, asked at a moment, with its gold.

    `ability` is the benchmark's own name for what is tested; `store` is the store the question is about, where the
    benchmark says so. `populations` names the subsets that its protocol reports on ("no_abs"); a probe that is not
    `counted` belongs to subsets only, not to the totals of evidence. `dialogue` holds the turns just before, `after`
    the questions that are asked just before. `choices` are shown with the question; `asked_in` is the session in which
    the simulator asks it (DialSim), and `askers` maps who asks to the wording, where it differs. `candidates` are the
    memories that the benchmark gives in each of its settings, as external ids (MADial-Bench). As the authors ask it
    (`questions=authors`), a model that reads may be `shown` other words, and the search may be for another `query`.
    """

    id: str
    question: str
    asked_at: datetime
    gold: Gold
    ability: str = ""
    store: Store | None = None
    populations: tuple[str, ...] = ()
    counted: bool = True
    dialogue: tuple[TurnDraft, ...] = ()
    after: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    asked_in: str = ""
    askers: Mapping[str, str] = field(default_factory=dict)
    candidates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shown: str = ""
    query: str = ""

    @property
    def is_question(self) -> bool:
        """Whether it asks something, so that it can be answered or declined."""
        return self.ability != STATEMENT and not self.ability.startswith(PROACTIVE)

    @property
    def family(self) -> str:
        """How an answer is judged: as "unanswerable", as the first of `FAMILIES` in the ability's name, or "plain"."""
        if not self.gold.answerable:
            return "unanswerable"
        return next((family for word, family in FAMILIES.items() if word in self.ability.casefold()), "plain")


@dataclass(frozen=True, slots=True)
class History:
    """The sessions and memories of one life, and the probes about it. `skips` lists what was unusable, and why."""

    id: str
    persona: PersonaDraft
    sessions: tuple[SessionDraft, ...]
    memories: tuple[MemoryDraft, ...]
    probes: tuple[Probe, ...]
    skips: tuple[Skip, ...] = ()

    @property
    def is_simulated(self) -> bool:
        """Whether it is asked while it is played (DialSim)."""
        return any(probe.asked_in for probe in self.probes)


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A memory in the pipeline's ranking, under the benchmark's own ids.

    `units` are the turns it was said in, or its own id if no turn said it; `session` is empty if no session said it.
    `place` is "read" (the reader got it), "beyond" (ranked too low to be read) or "filtered" (dropped by the time
    filter). `indexed` are the units whose words it is found by, where these are not all of them.
    """

    units: tuple[str, ...]
    session: str
    store: Store
    score: float
    place: Place = "read"
    indexed: tuple[str, ...] = ()

    @property
    def item(self) -> str:
        """The id of what is retrieved as a whole: the session, or the memory if no session said it."""
        return self.session or self.units[0]


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A memory as the drill-down shows it: its text, and its scores."""

    units: tuple[str, ...]
    store: Store
    speaker: str
    text: str
    said_at: str
    scores: Mapping[str, float]
    kept: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The pipeline's answer to one probe.

    `stores` holds P(store | question). `found` is the part of the ranking that metrics look at. `cited` are the units
    that the answer cites. `confidence` is the extractive reader's own, 0..1, and 0 where nobody read; None where a chat
    model replied, which gives none. The abstention curve varies its threshold.
    `milliseconds` are per node; `similarity` is the cosine of answer and gold, None where either is missing. `choice`
    is the index of the choice that the answer matches, None if none. `stored` lists the gold ids that the bank holds.
    `reader` is who replied: not the model that is set if that gave no answer; empty if the reply was made by rule.
    `fallbacks` has the nodes that asked a chat model whether they had to do without it. `unreadable` says that the chat
    model that reads gave no reply that could be read, so that the answer is another reader's; it counts as wrong.
    """

    probe_id: str
    history_id: str
    stores: Mapping[str, float]
    found: tuple[RankedHit, ...]
    answer: str = ""
    abstained: bool = False
    reason: str = ""
    cited: tuple[str, ...] = ()
    confidence: float | None = None
    similarity: float | None = None
    choice: int | None = None
    stored: tuple[str, ...] = ()
    shown: tuple[ShownHit, ...] = ()
    trace: tuple[str, ...] = ()
    milliseconds: Mapping[str, float] = field(default_factory=dict)
    response_ms: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    reader: str = ""
    fallbacks: Mapping[str, bool] = field(default_factory=dict)
    unreadable: bool = False

    @property
    def declined(self) -> bool:
        """Whether the reader that is measured abstained."""
        return self.abstained and not self.unreadable


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer is right, and who judged it; `reply` is a judge's reply, if any.

    `score`, in 0..1, is what a judge gives by a rubric; such an answer is right if its score is 1. It is None where a
    reply about a point could not be read. `criteria` holds a judge's scores by the benchmark's criteria, in 0..1, None
    where one could not be read.

    "unreadable" is a judge's reply that states no verdict, and counts as wrong. What is "unscored" does not count: the
    judge gave no reply, or there is no gold answer to compare with.
    """

    state: State
    by: str
    reply: str = ""
    score: float | None = None
    criteria: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sample:
    """One probe with its prediction and verdict: a line of a run's file."""

    probe: Probe
    prediction: Prediction
    verdict: Verdict | None = None

    @property
    def key(self) -> ProbeKey:
        """The ids of its history and of its probe."""
        return self.prediction.history_id, self.probe.id


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value with the bounds of its 95 % interval (`eval.metrics.intervals`) and the number of probes."""

    value: float
    low: float
    high: float
    n: int


@dataclass
class Costs:
    """What it took to store and ask one history: seconds, and counts of what they were spent on.

    `learned` counts the sessions that a chat model was to learn from, `by_rules` those that rules learned from instead.
    `bytes` are on disk. `found` counts the texts that another memory system found, `matched` those of known turns;
    `calls` is how often it asked a chat model itself, with so many tokens in and out, apart from the reader's.
    """

    import_s: float = 0.0
    turns: int = 0
    memories: int = 0
    embed_s: float = 0.0
    probes: int = 0
    learned: int = 0
    by_rules: int = 0
    bytes: int = 0
    found: int = 0
    matched: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
