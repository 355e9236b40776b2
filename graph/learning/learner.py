"""Learn from the finished sessions in the bank's queue, in the background."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from langchain_core.language_models import BaseChatModel

from graph.learning import from_model, from_rules
from graph.learning.from_model import Excerpt
from graph.models.calls import ModelUnavailable
from graph.models.json_replies import UnusableReply
from graph.settings import LearnerEngine
from memory.bank import learning_queue
from memory.bank.bank import Bank
from memory.bank.learning_queue import SessionTurn
from memory.bank.queries.told import events_told, known_facts, name_told, upcoming
from memory.embedding.turns import BackgroundThread, background_turn
from memory.errors import MemoirError
from memory.formatting import format_count
from memory.search.indexer import Indexer
from memory.types import LearnedMemory, Session, WriteCounts

LOOK_EVERY = 60.0
"""Seconds between two searches for chats that have ended."""

BATCH = 64
"""Sessions that are fetched at a time."""

PLANS = 12
"""Most plans that come before the facts."""

BY_RULES = "sessions by rules instead of the chat model"
"""What the journal calls them."""


@dataclass(frozen=True, slots=True)
class LearningResult:
    """The sessions learned from, what was stored, and from how many rules learned instead of the chat model, and why.

    `notice` is the reason for the last of these.
    """

    sessions: int = 0
    stored: WriteCounts = field(default_factory=WriteCounts)
    by_rules: int = 0
    notice: str = ""


def learn_from_sessions(
    bank: Bank,
    engine: LearnerEngine,
    model: BaseChatModel | None = None,
    *,
    now: datetime | None = None,
    stopped: Callable[[], bool] = lambda: False,
    on_session: Callable[[], None] = lambda: None,
) -> LearningResult:
    """Learn from all finished sessions, the oldest first, and call `on_session` after each.

    If a chat model's reply is unusable, or its server fails at it, rules learn from that session instead.

    Raises:
        ModelUnavailable: the chat model cannot be reached; the remaining sessions stay in the queue.
    """
    done = LearningResult()
    while engine != "none" and not stopped():
        batch = learning_queue.pending_sessions(bank, now, BATCH)
        for session in batch:
            if stopped():
                return done
            turns = learning_queue.session_turns(bank, session)
            learned, notice = _learn(bank, session, turns, engine, model, stopped)
            if stopped() and not learned:
                return done
            counts = {BY_RULES: 1} if notice else {}
            stored = learning_queue.store_learned(bank, session, [each.turn for each in turns], learned, counts)
            if stored is not None:
                by_rules = done.by_rules + bool(notice)
                done = LearningResult(done.sessions + 1, done.stored + stored, by_rules, notice or done.notice)
                on_session()
        if not batch:
            break
    return done


def _learn(
    bank: Bank,
    session: Session,
    turns: Sequence[SessionTurn],
    engine: LearnerEngine,
    model: BaseChatModel | None,
    stopped: Callable[[], bool],
) -> tuple[Sequence[LearnedMemory], str]:
    # An import may hold years of conversations, and nobody asked to send them to a model.
    by_rules = engine == "rules" or (engine == "auto" and (model is None or session.source != "chat"))
    if by_rules or model is None:
        with background_turn(stopped):
            learned = () if stopped() else from_rules.learn(turns)
        return learned, "" if by_rules else "no chat model is set (MEMOIR_MODEL)"
    try:
        return from_model.learn(turns, model, _background(bank, session, turns)), ""
    except UnusableReply as fault:
        notice = f"the chat model's reply could not be used: {fault}"
    except MemoirError as fault:
        # To wait for a server that fails at one session would hold up all the others.
        if isinstance(fault, ModelUnavailable) and fault.status != 500:
            raise
        notice = str(fault)
    return from_rules.learn(turns), notice


def _background(bank: Bank, session: Session, turns: Sequence[SessionTurn]) -> Excerpt:
    """What was known when a session ended."""
    ended = max((each.turn.said_at for each in turns if each.turn.said_at), default=datetime.now(UTC))
    persona = session.persona_id
    plans = [m for m in upcoming(bank, persona, ended, PLANS) if m.store == "event"]
    events = (m for m in events_told(bank, persona, ended) if m not in plans)
    known = [*plans, *known_facts(bank, persona, ended), *events]
    return Excerpt((), name_told(bank, persona, ended), known, learning_queue.learned_before(bank, session))


class Learner(BackgroundThread):
    """A thread that learns from sessions as they end; it looks once a minute, or when it is woken.

    The `indexer`, another thread, embeds what it learned.
    """

    def __init__(self, bank: Bank, indexer: Indexer, engine: LearnerEngine, model: BaseChatModel | None = None) -> None:
        super().__init__("learner", self._learn_all, LOOK_EVERY)
        self.bank = bank
        self.indexer = indexer
        self._engine: LearnerEngine = engine
        self._model = model
        self._replaced = 0
        self._notice = ""

    def use(self, model: BaseChatModel | None) -> None:
        """Learn by this chat model from the next session on: the one that the user talks with."""
        self._model = model

    def close(self, chat_id: str) -> None:
        """End a chat, so that it is learned from at once."""
        if chat_id:
            learning_queue.close_chats(self.bank, chat_id)
            self.wake()

    def stop(self) -> None:
        """End the thread after its current session, and all chats; the next start learns from them."""
        super().stop()
        learning_queue.close_chats(self.bank)

    @property
    def state(self) -> str:
        """Why it stopped, or why rules replaced the chat model; empty if all is well."""
        if self.fault is not None:
            return f"Your messages are kept, but not learned from yet: {self.fault}"
        if not self._replaced:
            return ""
        count = format_count(self._replaced, "conversation")
        return f"Rules learned from {count} instead of the chat model: {self._notice}"

    def _learn_all(self) -> None:
        done = learn_from_sessions(
            self.bank, self._engine, self._model, stopped=self.ending.is_set, on_session=self.indexer.wake
        )
        self._replaced += done.by_rules
        self._notice = done.notice or self._notice
