"""Goes through the bank's queue of sessions that are over, in the background, and learns from each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from graph.learning import from_model as by_model
from graph.learning import from_rules as rules
from graph.models.calls import Unreachable
from graph.readers.reply_formats import UnusableReply
from graph.settings import LearnerEngine
from memory.bank import learning_queue as consolidation
from memory.bank.bank import Bank
from memory.bank.learning_queue import SessionTurn
from memory.errors import MemoirError
from memory.search.indexer import Indexer
from memory.types import LearnedMemory, WriteCounts

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

LOOK_EVERY = 60.0
"""Seconds between two looks for chats that have fallen silent."""

BATCH = 64
"""Sessions that are looked up at a time."""


@dataclass(frozen=True, slots=True)
class LearningResult:
    """What came of a run: sessions learned from, what was stored, and why rules stood in for the model, if they did."""

    sessions: int = 0
    stored: WriteCounts = field(default_factory=WriteCounts)
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
    """Learn from all sessions that are over, the oldest first; `on_session` is told of each.

    A chat model's reply that cannot be used is made up for by the rules, and the result says so.

    Raises:
        Unreachable: the chat model cannot be asked now; what is left stays in the queue.
    """
    done = LearningResult()
    while engine != "none" and not stopped():
        batch = consolidation.pending_sessions(bank, now or datetime.now(UTC), BATCH)
        for session in batch:
            if stopped():
                return done
            heard = consolidation.session_turns(bank, session)
            learned, notice = _drawn(heard, engine, model)
            stored = consolidation.store_learned(bank, session, [each.turn for each in heard], learned)
            if stored is not None:
                done = LearningResult(done.sessions + 1, done.stored + stored, notice or done.notice)
                on_session()
        if not batch:
            break
    return done


def _drawn(
    heard: Sequence[SessionTurn], engine: LearnerEngine, model: BaseChatModel | None
) -> tuple[Sequence[LearnedMemory], str]:
    if engine != "llm":
        return rules.learn(heard), ""
    if model is None:
        return rules.learn(heard), "no chat model is set (MEMOIR_MODEL): rules learned instead"
    try:
        return by_model.learn(heard, model), ""
    except Unreachable:
        raise
    except (MemoirError, UnusableReply) as fault:
        return rules.learn(heard), f"{fault}: rules learned instead"


class Learner:
    """A thread that learns from sessions as they end; woken, or on its own once a minute."""

    def __init__(self, bank: Bank, indexer: Indexer, engine: LearnerEngine, model: BaseChatModel | None = None) -> None:
        self.bank = bank
        self._indexer = indexer
        self._engine: LearnerEngine = engine
        self._model = model
        self._work = threading.Event()
        self._stop = threading.Event()
        self._fault: Exception | None = None
        self._notice = ""
        self._thread = threading.Thread(target=self._run, name="learner", daemon=True)

    def start(self) -> None:
        """Start the thread; it goes on where the last run stopped."""
        self._work.set()
        self._thread.start()

    def wake(self) -> None:
        """Say that a session is over."""
        self._work.set()

    def close(self, chat_id: str) -> None:
        """Say that a chat is over, so that it is learned from at once."""
        if chat_id:
            consolidation.close_chats(self.bank, chat_id)
            self.wake()

    def stop(self) -> None:
        """End the thread after the session in hand; all chats are over, and the next start learns from them."""
        self._stop.set()
        self._work.set()
        if self._thread.is_alive():
            self._thread.join()
        consolidation.close_chats(self.bank)

    @property
    def state(self) -> str:
        """What stops it, or why rules stood in for the chat model, in words; empty if all is well."""
        if self._fault is not None:
            return f"What was said is kept, but not learned from yet: {self._fault}"
        return f"Learning from what was said: {self._notice}" if self._notice else ""

    def _run(self) -> None:
        while not self._stop.is_set():
            self._work.wait(LOOK_EVERY)
            self._work.clear()
            try:
                done = learn_from_sessions(
                    self.bank, self._engine, self._model, stopped=self._stop.is_set, on_session=self._indexer.wake
                )
                self._notice = done.notice or self._notice
                self._fault = None
            except Exception as fault:  # a thread has no caller: the fault is shown by `fault`
                self._fault = fault
