"""Answer a visitor of the demo, within limits of messages and of the chat model's tokens."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from graph.assistant import Answer, Assistant, Event
from graph.state import Ask, Services
from memory.errors import MemoirError
from memory.formatting import format_duration

MESSAGES, MESSAGES_SECONDS = 60, 600.0
"""Messages that a visitor may send in so many seconds."""

TOKENS_SECONDS = 3600.0
"""Seconds after which a visitor may use the chat model's tokens anew; they begin with the first answer."""

ANSWER_TOKENS = 4_000
"""Tokens that an answer is counted as while it is made, and for good if it fails or is stopped before its first word: a
usual prompt has some 2,400, the reply at most 1,000, and its check some more."""

TOO_MANY = "This demo takes at most {} messages in ten minutes. Your message was not stored. Send it again in {}."
USED_UP = "You have used the demo's chat model as much as a visitor may in an hour. Memoir answers without it for {}."


class TokenBudget:
    """The chat model's tokens that are left for one visitor; `an_hour` is how many there are."""

    def __init__(self, an_hour: int, clock: Callable[[], float]) -> None:
        self._most, self._clock = an_hour, clock
        self._used, self._ends, self._told = 0, clock(), False

    def begin(self) -> bool:
        """Count an answer that begins; return False if nothing is left for it."""
        if self._clock() >= self._ends:
            self._used, self._ends, self._told = 0, self._clock() + TOKENS_SECONDS, False
        if self._used >= self._most:
            return False
        self._used += ANSWER_TOKENS
        return True

    def correct(self, tokens: int) -> None:
        """Count an answer as what it cost."""
        self._used = max(0, self._used - ANSWER_TOKENS + tokens)

    def explain(self) -> str:
        """Say that nothing is left, once an hour."""
        told, self._told = self._told, True
        return "" if told else USED_UP.format(format_duration(self._ends - self._clock()))


class VisitorAssistant(Assistant):
    """Answers one visitor of the demo; when the tokens are used up, without the chat model."""

    def __init__(self, services: Services, tokens_an_hour: int, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(services)
        self._clock = clock
        self._sent: deque[float] = deque(maxlen=MESSAGES)
        self._tokens = TokenBudget(tokens_an_hour, clock)
        self._lock = threading.Lock()  # calls of programs come in threads of their own

    async def stream(self, ask: Ask, stop: asyncio.Event | None = None) -> AsyncGenerator[Event, None]:
        """Answer one message, as `Assistant.stream` does; raise `MemoirError` if the visitor has to wait for it."""
        with self._lock:
            self._count_message()
            without = self.services.model is not None and not self._tokens.begin()
        services = replace(self.services, model=None) if without else self.services
        async with aclosing(Assistant(services).stream(ask, stop)) as events:
            async for event in events:
                yield self._count_answer(event, without=without) if isinstance(event, Answer) else event

    def _count_message(self) -> None:
        now = self._clock()
        if len(self._sent) == MESSAGES and (wait := self._sent[0] + MESSAGES_SECONDS - now) > 0:
            raise MemoirError(TOO_MANY.format(MESSAGES, format_duration(wait)))
        self._sent.append(now)

    def _count_answer(self, answer: Answer, *, without: bool) -> Answer:
        """Count the tokens of an answer; add to one `without` the chat model, once, why that is."""
        with self._lock:
            if without:
                notice = "\n\n".join(filter(None, [answer.reading.notice, self._tokens.explain()]))
                return replace(answer, reading=replace(answer.reading, notice=notice))
            if self.services.model is not None:
                self._tokens.correct(_cost(answer))
        return answer


def _cost(answer: Answer) -> int:
    """The tokens that an answer cost; `ANSWER_TOKENS` if the chat model failed and nothing says how many it took."""
    figures = [line.figures for line in answer.trace]
    counted = sum(int(each.get("tokens in", 0) + each.get("tokens out", 0)) for each in figures)
    failed = not answer.reading.unreachable and any(each.get("fallback") for each in figures)
    return counted or (ANSWER_TOKENS if failed else 0)
