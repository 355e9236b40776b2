"""A memory system behind HTTP: three requests of JSON, each to an address that ends in the verb.

    POST open      {}                                                                        -> anything
    POST remember  {"id", "started_at", "turns": [{"id", "speaker", "text", "said_at"}]}     -> anything
    POST search    {"question", "as_of", "k"}           -> {"found": [{"text", "score", "turns": [ids, or left out]}]}

Moments are in ISO 8601, null where unknown. `open` empties the memory: one history is played at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import httpx
from pydantic import TypeAdapter, ValidationError

from eval.play.systems.contract import Found, Session, SystemFailed
from memory.formatting import to_json_values

TIMEOUT_SECONDS = 120.0
"""Longest wait for an answer: a system may ask a model for each session."""

_FOUND = TypeAdapter(tuple[Found, ...])


class HttpSystem:
    """A memory system at an address."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self._client = httpx.Client(timeout=TIMEOUT_SECONDS)
        self._post("open", {})

    def remember(self, session: Session) -> None:
        """Send a session."""
        self._post("remember", asdict(session))

    def search(self, question: str, as_of: datetime, k: int) -> Sequence[Found]:
        """Ask for the best k texts."""
        reply = self._post("search", {"question": question, "as_of": as_of, "k": k})
        try:
            return _FOUND.validate_python(reply["found"])
        except (ValidationError, KeyError, TypeError) as fault:
            raise SystemFailed(
                f'{self.address}/search: expected {{"found": [{{"text", "score", "turns"}}]}}, got {str(reply)[:200]}'
            ) from fault

    def _post(self, verb: str, body: dict[str, Any]) -> Any:  # noqa: ANN401  # JSON is of any type
        try:
            reply = self._client.post(f"{self.address}/{verb}", json=to_json_values(body))
            reply.raise_for_status()
            return reply.json()
        except (httpx.HTTPError, ValueError) as fault:
            raise SystemFailed(
                f"the memory system at {self.address}/{verb} did not answer with JSON: {fault}. What was answered is "
                "kept; the same command goes on"
            ) from fault
