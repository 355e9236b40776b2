"""The state of one turn, its parts, and the services that nodes use."""

import asyncio
import operator
import re
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Literal, Protocol, TypedDict, TypeVar

from langchain_core.language_models import BaseChatModel

from graph.readers import line_reader
from graph.readers.line_reader import LineReader
from graph.settings import PipelineSettings
from graph.understanding.classifier import Classification, Classifier
from graph.understanding.requests import PersonQuestion, Recap
from graph.understanding.times import times_in, when_happened
from memory.bank.bank import Bank
from memory.dates.expressions import TimeExpression
from memory.search.scoring import Subject
from memory.search.searcher import Searcher, View
from memory.types import DropReason, Hit, LearnedMemory, Memory, Persona, Store, TimeSpan, TurnDraft, WriteCounts

USER = "You"
"""The speaker of what the user says; the screen shows their turns under it."""

Result = TypeVar("Result")
Reason = Literal["nothing found", "found but does not say", "premise contradicted", "outside the known time"]


@dataclass(frozen=True, slots=True)
class Ask:
    """One message to a persona. `dialogue` holds the turns before it in this chat, the oldest first.

    `as_of` is when the message is said: nothing later is known, and "yesterday" is the day before it. `times` is
    what it is about, where that is known from elsewhere; None leaves it to the words. So is `stores`, P(store |
    question), which None leaves to the classifier. With `handed_in`, what is found
    was chosen for this message (by a benchmark), and any of it may be brought up. With `only_found`, nothing else that
    the bank holds may answer (in a benchmark of reading). `with_choices` is the question as a
    chat model is shown it, if it has choices (in a benchmark); it is searched for by `text`. `turn_id` identifies the
    message in the bank, so that it is stored only once. Where it is answered again, `earlier` is the reply that it had
    before, which is kept if no other comes.
    """

    persona: Persona
    text: str
    as_of: datetime
    chat_id: str
    dialogue: tuple[TurnDraft, ...] = ()
    remember: bool = True
    times: tuple[TimeExpression, ...] | None = None
    handed_in: bool = False
    only_found: bool = False
    with_choices: str = ""
    stores: Mapping[Store, float] | None = None
    turn_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    earlier: "Reading | None" = None

    @property
    def reply_id(self) -> str:
        """What identifies the reply to it in the bank."""
        return f"{self.turn_id} reply"


@dataclass(frozen=True, slots=True)
class Message:
    """A parsed message: its classes, the sentences that state something, and its question.

    `question` holds the sentences that ask, after the user's question before them if they name nothing by themselves
    ("And when was that?"); `questions` are several of them that are answered one by one. `views` are the forms in which
    it is searched, `subject` says about whom and about which times it is about, `stated_at` when what it states
    happened.

    `small_talk` and `news` are intents of `graph.replies.phrases`, or empty. A message is `in_doubt` if what it asks
    may be meant as a statement; that is then among the statements, too. One that `only_asks` surely tells nothing.
    `recap`, `person` and `retracts` are what its form asks for, if it has one of those; `retracts` is empty for what
    was said last.
    """

    classes: Classification
    statements: tuple[str, ...]
    question: View
    views: tuple[View, ...]
    subject: Subject
    stated_at: TimeExpression | None = None
    small_talk: str = ""
    news: str = ""
    in_doubt: bool = False
    only_asks: bool = False
    recap: Recap | None = None
    person: PersonQuestion | None = None
    retracts: str | None = None
    questions: tuple[View, ...] = ()


SUFFICIENT = 0.5
"""The relevance from which a note answers the question; see the shift in `graph.training.reader_calibration`."""


@dataclass(frozen=True, slots=True)
class Note:
    """What the reader took from one hit: a passage of it.

    `relevance` is the probability that the passage answers the question, with these `words` of it; `sure` is the
    probability that they are the right ones, and `yes` that it says yes, if the question asks yes or no. `by_user`
    marks the user's own words, `by_persona` what the persona said of itself where it is asked for that, and `of_other`
    what somebody says of themselves who is not asked about. `says` is a chat model's note in its own words; `scores`
    are those of the hit.
    """

    memory: Memory
    quote: str
    relevance: float
    of_other: bool = False
    words: str = ""
    sure: float = 0.0
    yes: float = 0.0
    by_user: bool = False
    by_persona: bool = False
    says: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)

    @property
    def says_yes(self) -> bool:
        """What it says if the question asks yes or no."""
        return self.yes > 0.5

    @property
    def dates(self) -> tuple[TimeExpression, ...]:
        """The times that the passage names."""
        return times_in(self.quote, self.memory.said_at)

    @property
    def occurrence(self) -> TimeExpression | None:
        """When it happened, by its memory or its words."""
        return when_happened(self.memory, self.dates)

    @property
    def when(self) -> TimeSpan | None:
        """When it happened, if that is sure."""
        return self.occurrence.span if self.occurrence is not None and self.occurrence.sure else None


CITATION = re.compile(r"\[(\d{1,3})\]")
"""How an answer refers to a citation."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A line that the answer relies on; the answer refers to it by `number`."""

    number: int
    memory: Memory
    quote: str
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Reading:
    """Notes, answer and citations, or an abstention with its reason.

    `by` is the reader, "extractive" or the name of a chat model; empty if nothing was asked. `notice` tells the user
    what else happened: that a chat model failed and what to do (`unreachable` says that it may work later), or what
    was corrected. A reply that is `cut` did not come to its end. `unsupported` are the sentences of a chat model that
    say something about the user which no line supports.
    """

    answer: str
    notes: tuple[Note, ...] = ()
    citations: tuple[Citation, ...] = ()
    abstained: bool = False
    reason: Reason | None = None
    by: str = ""
    notice: str = ""
    unreachable: bool = False
    cut: bool = False
    unsupported: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """Whether it abstained, and why, or how much it cites."""
        return f"abstained: {self.reason}" if self.abstained else f"cites {len(self.citations)}"


@dataclass(frozen=True, slots=True)
class Revision:
    """What a message changes: the `old` memories, the new `text` (empty for a retraction), and what `persist` writes.

    Without anything to write, the message matched too many memories.
    """

    old: tuple[Memory, ...]
    text: str
    sentence: str
    learned: tuple[LearnedMemory, ...] = ()
    retracted: tuple[int, ...] = ()


def drop(hits: Iterable[Hit], which: Callable[[Hit], bool], stage: DropReason, why: str) -> tuple[Hit, ...]:
    """The hits, marked as dropped where they are kept so far and `which` is true."""
    return tuple(replace(hit, dropped=stage, why=why) if hit.kept and which(hit) else hit for hit in hits)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the reply as it is written; with `restart`, it replaces all pieces before it.

    With `is_last`, the reply is all there, and only compared with the memories.
    """

    text: str
    restart: bool = False
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class TraceLine:
    """What a node decided and how long it took."""

    node: str
    decided: str
    figures: Mapping[str, float] = field(default_factory=dict)
    milliseconds: float = 0.0


class TurnState(TypedDict, total=False):
    """The state of one turn; a node returns only the keys it changed."""

    ask: Ask
    message: Message
    hits: tuple[Hit, ...]
    window: tuple[TimeExpression, ...]
    reading: Reading
    revision: Revision | None
    stored: WriteCounts
    trace: Annotated[tuple[TraceLine, ...], operator.add]


@dataclass(frozen=True, slots=True)
class Services:
    """What the nodes may use; handed in at run time, so that a test or a replay can swap any of it.

    Without a `model`, the extractive reader answers. `wake_indexer` is called when something was stored. `stop` is set
    once the user wants no more of a reply: what is there of it is then the whole.
    """

    bank: Bank
    searcher: Searcher
    classifier: Classifier
    settings: PipelineSettings = field(default_factory=PipelineSettings)
    model: BaseChatModel | None = None
    wake_indexer: Callable[[], None] = lambda: None
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def line_reader(self) -> LineReader:
        """The trained reader on the encoder that searches."""
        return line_reader.packaged(self.searcher.embedder.model)

    @property
    def yes_or_no_reader(self) -> LineReader:
        """The one for questions that ask for yes or no."""
        return line_reader.packaged(self.searcher.embedder.model, line_reader.YES_OR_NO)


class Runtime(Protocol):
    """What a node is given beside the state: LangGraph's `Runtime[Services]`, which takes a second to import."""

    context: Services
    stream_writer: Callable[[Token], None]


@dataclass(frozen=True, slots=True)
class ReaderInput:
    """A message, the hits for it, and the times it asks about (`window`)."""

    ask: Ask
    message: Message
    window: tuple[TimeExpression, ...]
    hits: tuple[Hit, ...]
    services: Services

    @property
    def kept(self) -> list[Hit]:
        """The hits that may be read, best first."""
        return [hit for hit in self.hits if hit.kept]


@dataclass(frozen=True, slots=True)
class ReaderOutput:
    """A reading, all hits (those that were left out are marked), and what the reader did, with `more` lines on it."""

    reading: Reading
    hits: tuple[Hit, ...]
    line: TraceLine
    more: tuple[TraceLine, ...] = ()


class Stopped(Exception):  # the user wants no more; nobody sees it
    """A reply was stopped before it was all there."""


async def until(stop: asyncio.Event, work: Awaitable[Result]) -> Result:
    """The result of work that is cancelled once `stop` is set.

    Raises:
        Stopped: `stop` was set before the result was there.
    """
    doing, stopping = asyncio.ensure_future(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((doing, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise Stopped
        return doing.result()
    finally:
        stopping.cancel()
        doing.cancel()
        await asyncio.wait((doing,))
