"""The words of evaluation, one frozen dataclass each.

A benchmark's file is read into histories; a history holds what is remembered and the probes that are asked of it. What
is right (`Gold`) is kept apart from what is asked, so that it can be kept from the bank and from every prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Skip, Store, TurnDraft

State = Literal["right", "wrong", "unscored"]
Cause = Literal["not stored", "not retrieved", "filtered out", "misread"]
Kind = Literal["semantic", "episodic"]
Place = Literal["read", "beyond", "filtered"]


@dataclass(frozen=True, slots=True)
class Gold:
    """What is right. All ids are the benchmark's own; the pipeline sees none of them.

    Evidence is given on the levels that the benchmark knows: `turns` (external ids of turns, or of memories where no
    session said it), `sessions` (external ids of sessions), `items` (memories that are retrieved as a whole: the
    external id of a memory, or of the session for anything said in one). An empty level is not scored. `answers` are
    equally right; the first is the one shown. `anchors` are phrases that a whole answer holds (PerLTQA), and
    `anchor_ceiling` is the share of them that the evidence holds: more, no answer from memory can. `choice` is the
    index of the right one of the probe's `choices`.
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


@dataclass(frozen=True, slots=True)
class Probe:
    """One question about a history, asked at a moment, with what is right.

    `ability` is the benchmark's own name for what is tested; `store` the kind of memory it is about, where the
    benchmark says so. `populations` names the subsets that its protocol reports on ("no_abs"); a probe that is not
    `counted` belongs to subsets only and not to the totals of evidence. `dialogue` is what was said just before.
    `choices` are shown to the one who answers; `asked_in` is the session in which the simulator asks it (DialSim), and
    `askers` the wording by who asks, where it differs.
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
    choices: tuple[str, ...] = ()
    asked_in: str = ""
    askers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class History:
    """What is remembered of one life, and what is asked of it. `skips` says what could not be used, and why."""

    id: str
    persona: PersonaDraft
    sessions: tuple[SessionDraft, ...]
    memories: tuple[MemoryDraft, ...]
    probes: tuple[Probe, ...]
    skips: tuple[Skip, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A memory in the order in which the pipeline ranked it, under the benchmark's own ids.

    `units` are the turns it was said in, or its own id if no turn said it; `session` is empty for what no session said.
    `place` is "read" (what the reader got), "beyond" (ranked, but past what is read) or "filtered" (dropped by time).
    """

    units: tuple[str, ...]
    session: str
    store: Store
    score: float
    place: Place = "read"

    @property
    def item(self) -> str:
        """What is retrieved as a whole: the session of anything said, a memory of its own otherwise."""
        return self.session or self.units[0]


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A memory as the drill-down shows it: what the reader was given, with its scores."""

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
    """What the pipeline made of one probe.

    `stores` holds P(store | question). `found` is the ranking: as many as the metrics look at. `cited` are the units
    that the answer relies on. `confidence` is the reader's own, 0..1; the abstention curve runs over it. `milliseconds`
    are per node; `similarity` is the cosine of answer and gold, None where either is missing. `choice` is the index of
    the choice that the answer amounts to, None for none of them. `stored` tells which of the gold ids the bank holds.
    `reader` is who read: not the model that was set, where that gave no answer; empty where nothing was asked.
    """

    probe_id: str
    history_id: str
    stores: Mapping[str, float]
    found: tuple[RankedHit, ...]
    answer: str = ""
    abstained: bool = False
    reason: str = ""
    cited: tuple[str, ...] = ()
    confidence: float = 0.0
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


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer is right, and by whose judgement; `reply` keeps a judge's raw words where it gave any."""

    state: State
    by: str
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """One probe with what became of it: a line of a run's file."""

    probe: Probe
    prediction: Prediction
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value with the bounds of its 95 % bootstrap interval, and how many probes it is the value of."""

    value: float
    low: float
    high: float
    n: int


@dataclass
class Costs:
    """What it took to store and ask one history: seconds, and counts of what they were spent on."""

    import_s: float = 0.0
    turns: int = 0
    memories: int = 0
    embed_s: float = 0.0
    ask_s: float = 0.0
    probes: int = 0
