"""A memory system behind HTTP: requests of JSON, each to an address that ends in the verb.

    POST open      {}                                                                        -> anything
    POST remember  {"id", "started_at", "turns": [{"id", "speaker", "text", "said_at"}]}     -> anything
    POST search    {"question", "as_of", "k"}           -> {"found": [{"text", "score", "turns": [ids, or left out]}]}
    POST answer    {"question", "as_of"}                -> {"answer": text, or null to leave it to the shared reader}

Moments are in ISO 8601, null where unknown. `open` empties the memory: one history is played at a time. Any reply may
add {"calls", "tokens_in", "tokens_out"}: what the system asked of a chat model for it. `answer` may be missing (404).
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel

from eval.play.systems.contract import Chat, Found, Session, SystemFailed
from memory.formatting import to_json_values

TIMEOUT_SECONDS = 120.0
"""Longest wait for an answer: a system may ask a model for each session."""


class _Reply(BaseModel):
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    answer: str | None = None


class _Results(_Reply):
    found: tuple[Found, ...]


Reply = TypeVar("Reply", bound=_Reply)


class HttpSystem:
    """A memory system at an address."""

    def __init__(self, address: str, chat: Chat) -> None:
        self.address, self._chat = address.rstrip("/"), chat
        self._client = httpx.Client(timeout=TIMEOUT_SECONDS)
        self._post("open", {}, _Reply)

    def remember(self, session: Session) -> None:
        """Send a session."""
        self._post("remember", asdict(session), _Reply)

    def search(self, question: str, as_of: datetime, k: int) -> Sequence[Found]:
        """Ask for the best k texts."""
        return self._post("search", {"question": question, "as_of": as_of, "k": k}, _Results).found

    def answer(self, question: str, as_of: datetime) -> str | None:
        """Ask for its own answer."""
        return self._post("answer", {"question": question, "as_of": as_of}, _Reply).answer

    def _post(self, verb: str, body: dict[str, Any], form: type[Reply]) -> Reply:
        try:
            response = self._client.post(f"{self.address}/{verb}", json=to_json_values(body))
            is_missing = verb == "answer" and response.status_code == httpx.codes.NOT_FOUND
            content = {} if is_missing else response.raise_for_status().json()
            reply = form.model_validate(content if isinstance(content, dict) else {})
        except (httpx.HTTPError, ValueError) as fault:
            raise SystemFailed(
                f"the memory system at {self.address}/{verb} did not answer with JSON as expected: {fault}. What was "
                "answered is kept; the same command goes on"
            ) from fault
        self._chat.spend(reply.calls, reply.tokens_in, reply.tokens_out)
        return reply
