"""The public API: five endpoints for other programs, each an MCP tool as well. Clients are shown their docstrings.

They are served at /gradio_api/run/NAME, for `gradio_client`, and as tools at /gradio_api/mcp/. All other events of the
page are private.
"""

import json
import uuid
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import Annotated, Any, ParamSpec

import gradio as gr
from anyio import CapacityLimiter, to_thread
from gradio.events import api
from pydantic import Field, ValidationError, validate_call

from graph.assistant import Answer, Assistant
from graph.learning.learner import Learner
from graph.state import Ask
from graph.tab.chats import MAX_MESSAGE, asked_at
from memory.bank import journal
from memory.errors import MemoirError, UnknownMemory
from memory.forgetting.forget import forget_memories
from memory.formatting import to_json_values, without_folders
from memory.search.scoring import SearchSettings
from memory.types import Memory, Store

MAX_FOUND = 50
"""Memories that one search returns."""

MAX_FORGOTTEN = 100
"""Memories that one call forgets."""

MAX_RUNNING = 2
"""Calls of one user that run at a time; further ones wait, so that other users' do not."""

PersonaName = Annotated[str, Field(min_length=1, max_length=200)]
Date = Annotated[str, Field(max_length=100)] | None
Text = Annotated[str, Field(min_length=1, max_length=MAX_MESSAGE, pattern=r"\S")]
Limit = Annotated[int, Field(ge=1, le=MAX_FOUND)]
MemoryIds = Annotated[list[Annotated[int, Field(ge=1, lt=2**63)]], Field(min_length=1, max_length=MAX_FORGOTTEN)]

P = ParamSpec("P")

Result = dict[str, Any]
"""What an endpoint returns, with the keys that its docstring names."""


class PublicApi:
    """The five endpoints over one bank."""

    def __init__(self, assistant: Assistant, learner: Learner) -> None:
        self._assistant = assistant
        self._learner = learner
        self._bank = assistant.services.bank

    def add_to_page(self) -> None:
        """Add the endpoints to the page that is being built."""
        running = CapacityLimiter(MAX_RUNNING)
        for endpoint in (self.ask, self.remember, self.search_memory, self.forget, self.list_personas):
            # Not queued: the queue's events belong to a browser window, and a tool call has none.
            api(check_arguments(endpoint, running), api_name=endpoint.__name__, queue=False)

    def ask(self, persona: PersonaName, question: Text, as_of: Date = None, remember: bool = False) -> Result:
        """Ask a persona a question. The answer cites the memories it relies on, or says "I don't know".

        Args:
            persona: name or number of the persona, as returned by list_personas.
            question: the question in plain words, at most 100,000 characters.
            as_of: a date such as 2023-10-22; the answer ignores what was said after that day. Default: now.
            remember: whether to keep the question and its answer as a conversation. Default: no.

        Returns:
            answer, abstained, reason (if abstained), citations (number, memory, date, speaker, quote), unsupported (the
            sentences of a chat model that no memory supports), notice.
        """
        reading = self._send(persona, question, as_of, remember=remember).reading
        citations = [
            {"number": c.number, "memory": c.memory.id, **_origin(c.memory), "quote": c.quote}
            for c in reading.citations
        ]
        told = _pick(reading, "answer", "abstained", "reason", "notice")
        return {**told, "citations": citations, "unsupported": list(reading.unsupported)}

    def remember(self, persona: PersonaName, text: Text, said_at: Date = None) -> Result:
        """Tell a persona something to remember. It is stored as it is, also if it asks a question.

        Args:
            persona: name or number of the persona.
            text: what to remember, in the first person: "I moved to Lisbon yesterday."
            said_at: the date on which it was said; "yesterday" is the day before it. Default: now.

        Returns:
            reply, and the numbers of turns and memories that were stored.
        """
        answer = self._send(persona, text, said_at, remember=True)
        turns, memories = (answer.stored.turns, answer.stored.memories) if answer.stored else (0, 0)
        return {"reply": answer.reading.answer, "turns": turns, "memories": memories}

    def search_memory(
        self, persona: PersonaName, query: Text, limit: Limit = 10, store: Store | None = None, as_of: Date = None
    ) -> list[Result]:
        """Search the memories of a persona by words and meaning, best first.

        Args:
            persona: name or number of the persona.
            query: words or a question.
            limit: most memories to return, 1 to 50.
            store: search only this kind of memory. Default: all kinds.
            as_of: a date; the search ignores what was said after that day. Default: now.

        Returns:
            a list of memory (its number), store, text, speaker, date and score.
        """
        searcher, owner = self._assistant.services.searcher, self._bank.persona(persona)
        at = asked_at(self._bank, owner.id, as_of)
        hits = searcher.search(owner.id, searcher.views([query]), at, SearchSettings(k=limit))
        kept = [hit for hit in hits if hit.kept and store in (None, hit.memory.store)]
        best = [(hit.memory, round(hit.score, 4)) for hit in sorted(kept, key=lambda hit: -hit.score)[:limit]]
        return [{"memory": m.id, **_pick(m, "store", "text"), **_origin(m), "score": score} for m, score in best]

    def forget(self, persona: PersonaName, memories: MemoryIds) -> Result:
        """Delete memories for good, together with the turns they came from. This cannot be undone.

        Args:
            persona: name or number of the persona.
            memories: 1 to 100 numbers of memories, as returned by search_memory and in citations.

        Returns:
            the numbers of memories, turns and sessions deleted; residue, the number of deleted texts still found in the
            files (0); copies, the names of older banks beside this one that still contain some: delete those, too.
        """
        owner = self._bank.persona(persona)
        unknown = set(memories) - {memory.id for memory in self._bank.memories_by_id(owner.id, memories)}
        if unknown:  # one wrong number refuses the whole call
            listed = ", ".join(map(str, sorted(unknown)))
            raise UnknownMemory(f"{owner.name} has no memory {listed}; nothing was forgotten")
        gone = forget_memories(self._bank, owner.id, memories)
        counts = _pick(gone, "memories", "turns", "sessions", "residue")
        return {**counts, "copies": [copy.name for copy in gone.copies]}

    def list_personas(self) -> list[Result]:
        """List the personas and how much each of them knows.

        Returns:
            a list of id, name, description, and the numbers of sessions, turns and memories.
        """
        listed = []
        for persona in self._bank.personas():
            counts = self._bank.counts(persona.id)
            sessions, turns = counts.pop("sessions"), counts.pop("turns")
            known = {"sessions": sessions, "turns": turns, "memories": sum(counts.values())}
            listed.append({**_pick(persona, "id", "name", "description"), **known})
        return listed

    def _send(self, persona: str, text: str, as_of: str | None, *, remember: bool) -> Answer:
        """Send one message in a chat of its own, which ends with the answer."""
        chat_id, owner = uuid.uuid4().hex, self._bank.persona(persona)
        ask = Ask(owner, text.strip(), asked_at(self._bank, owner.id, as_of), chat_id, remember=remember)
        for _ in self._assistant.wait_until_ready(self._learner.indexer, ask.persona.id):
            pass
        answer = self._assistant.ask(ask)
        if remember:
            self._learner.close(chat_id)
        return answer


def _pick(source: object, *names: str) -> Result:
    return {name: getattr(source, name) for name in names}


def _origin(memory: Memory) -> Result:
    return {"date": to_json_values(memory.said_at), "speaker": memory.speaker}


def return_json(page: gr.Blocks) -> None:
    """Make the page's MCP tools return JSON; by default Gradio returns Python's `str` of a dict."""
    from mcp.types import TextContent

    def to_content(data: list[Any], root_url: str) -> list[TextContent]:
        return [TextContent(type="text", text=json.dumps(value, ensure_ascii=False)) for value in data]

    assert page.mcp_server_obj is not None
    page.mcp_server_obj.postprocess_output_data = to_content  # type: ignore[method-assign, assignment]


def check_arguments(endpoint: Callable[P, Any], running: CapacityLimiter) -> Callable[P, Awaitable[Any]]:
    """Make an endpoint check types and limits of its arguments, wait for its turn, and return errors in plain words."""
    strict = validate_call(config={"strict": True})(endpoint)

    @wraps(endpoint)
    async def checked(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401  # as the endpoint itself
        try:
            with journal.requested_by(f"another program ({endpoint.__name__})"):
                return await to_thread.run_sync(partial(strict, *args, **kwargs), limiter=running)
        except ValidationError as error:
            expected = "; ".join(_describe(each, endpoint) for each in error.errors())
            raise gr.Error(expected, print_exception=False) from error
        except MemoirError as error:
            raise gr.Error(without_folders(str(error)), print_exception=False) from error

    return checked


def _describe(error: Any, endpoint: Callable[..., Any]) -> str:  # noqa: ANN401  # pydantic's ErrorDetails
    first, *rest = error["loc"]
    name = list(endpoint.__annotations__)[first] if isinstance(first, int) else first
    field = "".join([str(name), *(f"[{place}]" for place in rest if isinstance(place, int))])
    return f"{field}: {error['msg']}, not {repr(error['input'])[:60]}"
