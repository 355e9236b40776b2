"""The domain's dataclasses: personas, sessions, turns, memories, hits.

A `...Draft` was read from a file or said in a chat and is not stored yet; the bank returns the stored object, which has
an id. All times are timezone-aware; a source that names no zone is read as UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, get_args

Role = Literal["user", "assistant", "other"]
Store = Literal["profile", "relationship", "world", "event", "dialogue"]
SessionSource = Literal["chat", "import"]
DropReason = Literal["", "rank", "echo", "time", "budget", "unasked"]

STORES: tuple[Store, ...] = get_args(Store)
SEMANTIC: tuple[Store, ...] = ("profile", "relationship", "world")
"""The stores of facts. The other two, `EPISODIC`, hold what happened and what was said (Tulving 1972)."""
EPISODIC: tuple[Store, ...] = ("event", "dialogue")


@dataclass(frozen=True, slots=True)
class Quota:
    """The memories that a user's bank may hold, and the MiB that it and the user's uploads may take; None for any."""

    memories: int | None = None
    megabytes: int | None = None


NO_QUOTA = Quota()
"""Any number of both."""


@dataclass(frozen=True, slots=True, order=True)
class TimeSpan:
    """A half-open span of time: `start` belongs to it, `end` does not. Both are moments that UTC has, too."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise ValueError(f"a time span needs aware times, got {self.start!r} to {self.end!r}")
        try:
            self.start.astimezone(UTC), self.end.astimezone(UTC)
        except OverflowError as fault:
            raise ValueError(f"in UTC, {self.start} or {self.end} is outside the calendar") from fault
        if self.end <= self.start:
            raise ValueError(f"a time span must end after it starts, got {self.start} to {self.end}")

    def overlaps(self, other: "TimeSpan") -> bool:
        """Whether the two spans share any moment."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class PersonaDraft:
    """Who the assistant is, and whose life its memory describes.

    `external_id` is the name the source gave to the history ("conv-26"); a persona is found by it as well as by name.
    `manner` is a key of `graph.replies.phrases.MANNERS`; any other text is kept for a language model and read as
    "plain".
    `proactive` says whether a feeling or a scene may bring up a memory that nobody asked for.
    `scenario`, `first_message` and `examples` (example dialogue) are as in a character card, for a chat model:
    `{{char}}` and `{{user}}` stand for the names, and lines of `examples` begin with them: `{{user}}: Hello.`
    What is said to a persona that is `kept_apart` is not known to others, and what is said to others not to it.
    `picture` is a small one as a `data:` address, or empty.
    """

    name: str
    external_id: str = ""
    description: str = ""
    traits: tuple[str, ...] = ()
    manner: str = "plain"
    proactive: bool = True
    scenario: str = ""
    first_message: str = ""
    examples: str = ""
    kept_apart: bool = True
    picture: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona(PersonaDraft):
    """A stored persona."""

    id: int
    created_at: datetime


QUESTION = "question"
"""The attribute of the memory of a turn that only asks."""

SUMMARY = "summary"
"""The attribute of the one memory that summarises a session."""


@dataclass(frozen=True, slots=True)
class TurnDraft:
    """One utterance as found. `said_text` keeps the source's own spelling of the time, even one that cannot be read.

    `recallable` says whether a dialogue memory is made of it: a reply that only repeats memories stays in the session
    but is never recalled as if it were new. `asks` says that it only asks: its memory is found after all that may tell.
    `event` is when what it describes happened, where its words say so; `key` is the text that its memory is indexed by
    (`text`, if empty). `cites` are the ids of the memories that an answer relied on, by the numbers that it cites them
    with: 1, 2, ...; `unsupported` are the sentences of it that nothing supports.
    """

    speaker: str
    role: Role
    text: str
    said_at: datetime | None = None
    said_text: str = ""
    external_id: str = ""
    recallable: bool = True
    event: TimeSpan | None = None
    event_text: str = ""
    key: str = ""
    cites: tuple[int, ...] = ()
    unsupported: tuple[str, ...] = ()
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """`tail` is the `name` of `head`: Leila is the sister of Noor, Porto the home of Ana.

    `head` is empty where the source does not name the person it describes.
    """

    head: str
    name: str
    tail: str


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """One memory that is not an utterance: a profile line, a relation, something about the world, an event.

    `text` is what is read, `key` what is indexed (the text, if empty). `event` is when it happened, as a span as wide
    as the source is vague, and `event_text` how the source put it ("in the autumn of 2018").
    """

    store: Store
    text: str
    key: str = ""
    event: TimeSpan | None = None
    event_text: str = ""
    said_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    emotion: str = ""
    scene: str = ""
    speaker: str = ""
    attribute: str = ""
    external_id: str = ""
    relation: Relation | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of a turn that carry a memory; `turn` is its position among the turns that are learned from.

    `alone` says whether they carry it without the memory's other quotes. A fact that was stated twice stays when one
    statement is forgotten; what was concluded from two goes with either.
    """

    turn: int
    words: str
    alone: bool = True


@dataclass(frozen=True, slots=True)
class LearnedMemory:
    """A memory learned from turns, with the words that carry it; it is refused if none of them was said.

    `replaces` is the id of a memory that it corrects or tells better, which is retracted; `closes` that of one that was
    true and is no more. `depends_on` are the positions, among what is learned together, of earlier ones without which
    this does not hold; where it changes an `earlier` one, `replaces` and `closes` are positions, too. One that `ends`
    is not stored: it says that the fact that it closes, or else the fact of these words if it is known, no longer holds
    ("I no longer live in Porto").
    """

    memory: MemoryDraft
    quotes: tuple[Quote, ...]
    replaces: int | None = None
    closes: int | None = None
    depends_on: tuple[int, ...] = ()
    ends: bool = False
    earlier: bool = False


@dataclass(frozen=True, slots=True)
class SessionDraft:
    """One dialogue at one time, as found. A turn without a time of its own takes the session's.

    Remembering a session that the bank has (same `external_id`, or same start and first words) adds the turns it lacks.
    `retracts` are the ids of memories that its last turn retracts ("forget that").
    """

    turns: tuple[TurnDraft, ...]
    started_at: datetime | None = None
    started_text: str = ""
    external_id: str = ""
    title: str = ""
    source: SessionSource = "import"
    learned: tuple[LearnedMemory, ...] = ()
    retracts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Skip:
    """Something in a source that could not be stored: its place in the source, and why."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class Session:
    """A stored session, without its turns."""

    id: int
    persona_id: int
    external_id: str
    title: str
    source: SessionSource
    started_at: datetime | None
    started_text: str
    turn_count: int

    @property
    def chat_id(self) -> str:
        """The id under which it is continued: its source's own or, if it has none, by its number."""
        return self.external_id or f"session-{self.id}"


@dataclass(frozen=True, slots=True)
class Turn:
    """A stored utterance; `position` counts from 0 within its session."""

    id: int
    session_id: int
    position: int
    speaker: str
    role: Role
    text: str
    said_at: datetime | None
    said_text: str
    external_id: str
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(MemoryDraft):
    """A stored memory. `session_id` and `turn_ids` are its provenance, empty for what no turn said.

    A fact that a later one replaced holds until `valid_to`. What was wrong or withdrawn has a `retracted_at`: it is no
    longer recalled, whatever time is asked about. `stale_since` is when something that it depends on ended. One that is
    `pinned` is read whenever it is among the hits. `told_to` names the persona that the user said it to, where that is
    another than the one who is asked; the speaker is then "You".
    """

    id: int
    persona_id: int
    recorded_at: datetime
    superseded_by: int | None = None
    session_id: int | None = None
    turn_ids: tuple[int, ...] = ()
    retracted_at: datetime | None = None
    stale_since: datetime | None = None
    pinned: bool = False
    told_to: str = ""


@dataclass(frozen=True, slots=True)
class WriteCounts:
    """What a write added. What the bank had already is counted as known and was left as it was.

    `refused` counts what was to be learned but quotes nothing that was said.
    """

    sessions: int = 0
    turns: int = 0
    memories: int = 0
    known_turns: int = 0
    known_memories: int = 0
    refused: int = 0

    @property
    def added(self) -> dict[str, int]:
        """The counts of what is new, by kind."""
        return {"sessions": self.sessions, "turns": self.turns, "memories": self.memories}

    def __add__(self, other: "WriteCounts") -> "WriteCounts":
        return WriteCounts(*(getattr(self, f) + getattr(other, f) for f in self.__slots__))


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory found for a question, with every score it got and why it was kept or dropped.

    `scores` maps the name of a factor ("lexical", "dense", "fused", "class", ...) to its value, in the order computed.
    `dropped` is why it is not read: its rank in its store, another memory with the same words, the time asked about,
    the reading budget, or that nothing was asked; `why` explains it in words.
    """

    memory: Memory
    score: float
    scores: Mapping[str, float]
    dropped: DropReason = ""
    why: str = ""

    @property
    def kept(self) -> bool:
        """Whether it is read."""
        return not self.dropped
