"""The public API: five endpoints for other programs, each an MCP tool as well. Clients are shown their docstrings.

They are served at /gradio_api/run/NAME, for `gradio_client`, and as tools at /gradio_api/mcp/. All other events of the
page are private.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import Annotated, Any, ParamSpec, TypedDict

import gradio as gr
from anyio import CapacityLimiter, to_thread
from gradio.events import api
from pydantic import Field, ValidationError, validate_call

from graph.assistant import Answer, Assistant
from graph.learning.learner import Learner
from graph.state import Ask
from graph.tab.chats import MAX_MESSAGE, asked_at, wait_until_ready
from memory.bank import journal
from memory.errors import MemoirError, UnknownMemory
from memory.forgetting.forget import forget_memories
from memory.formatting import to_json_values, without_folders
from memory.search.indexer import Indexer
from memory.search.scoring import SearchSettings
from memory.types import Store

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


class CitationResult(TypedDict):
    """A line that an answer relies on."""

    number: int
    memory: int
    date: str | None
    speaker: str
    quote: str


class AnswerResult(TypedDict):
    """An answer, or an abstention with its reason."""

    answer: str
    abstained: bool
    reason: str | None
    citations: list[CitationResult]
    unsupported: list[str]
    notice: str


class RememberResult(TypedDict):
    """The reply to a statement, and how much was stored."""

    reply: str
    turns: int
    memories: int


class MemoryResult(TypedDict):
    """A memory that a search found."""

    memory: int
    store: str
    text: str
    speaker: str
    date: str | None
    score: float


class ForgetResult(TypedDict):
    """How much was deleted, how many of its texts are still in the bank's files, and the other files that hold some."""

    memories: int
    turns: int
    sessions: int
    residue: int
    copies: list[str]


class PersonaResult(TypedDict):
    """A persona and how much it knows."""

    id: int
    name: str
    description: str
    sessions: int
    turns: int
    memories: int


class PublicApi:
    """The five endpoints over one bank."""

    def __init__(self, assistant: Assistant, indexer: Indexer, learner: Learner) -> None:
        self._assistant = assistant
        self._indexer = indexer
        self._learner = learner
        self._bank = assistant.services.bank

    def add_to_page(self) -> None:
        """Add the endpoints to the page that is being built."""
        running = CapacityLimiter(MAX_RUNNING)
        for endpoint in (self.ask, self.remember, self.search_memory, self.forget, self.list_personas):
            # Not queued: the queue's events belong to a browser window, and a tool call has none.
            api(check_arguments(endpoint, running), api_name=endpoint.__name__, queue=False)

    def ask(self, persona: PersonaName, question: Text, as_of: Date = None, remember: bool = False) -> AnswerResult:
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
            CitationResult(
                number=citation.number,
                memory=citation.memory.id,
                date=to_json_values(citation.memory.said_at),
                speaker=citation.memory.speaker,
                quote=citation.quote,
            )
            for citation in reading.citations
        ]
        return AnswerResult(
            answer=reading.answer,
            abstained=reading.abstained,
            reason=reading.reason,
            citations=citations,
            unsupported=list(reading.unsupported),
            notice=reading.notice,
        )

    def remember(self, persona: PersonaName, text: Text, said_at: Date = None) -> RememberResult:
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
        return RememberResult(reply=answer.reading.answer, turns=turns, memories=memories)

    def search_memory(
        self, persona: PersonaName, query: Text, limit: Limit = 10, store: Store | None = None, as_of: Date = None
    ) -> list[MemoryResult]:
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
        return [
            MemoryResult(
                memory=hit.memory.id,
                store=hit.memory.store,
                text=hit.memory.text,
                speaker=hit.memory.speaker,
                date=to_json_values(hit.memory.said_at),
                score=round(hit.score, 4),
            )
            for hit in sorted(kept, key=lambda hit: -hit.score)[:limit]
        ]

    def forget(self, persona: PersonaName, memories: MemoryIds) -> ForgetResult:
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
        copies = [copy.name for copy in gone.copies]
        return ForgetResult(
            memories=gone.memories, turns=gone.turns, sessions=gone.sessions, residue=gone.residue, copies=copies
        )

    def list_personas(self) -> list[PersonaResult]:
        """List the personas and how much each of them knows.

        Returns:
            a list of id, name, description, and the numbers of sessions, turns and memories.
        """
        listed = []
        for persona in self._bank.personas():
            counts = self._bank.counts(persona.id)
            sessions, turns = counts.pop("sessions"), counts.pop("turns")
            listed.append(
                PersonaResult(
                    id=persona.id,
                    name=persona.name,
                    description=persona.description,
                    sessions=sessions,
                    turns=turns,
                    memories=sum(counts.values()),
                )
            )
        return listed

    def _send(self, persona: str, text: str, as_of: str | None, *, remember: bool) -> Answer:
        """Send one message in a chat of its own, which ends with the answer."""
        chat_id, owner = uuid.uuid4().hex, self._bank.persona(persona)
        ask = Ask(owner, text.strip(), asked_at(self._bank, owner.id, as_of), chat_id, remember=remember)
        for _ in wait_until_ready(self._assistant, self._indexer, ask.persona.id):
            pass
        answer = self._assistant.ask(ask)
        if remember:
            self._learner.close(chat_id)
        return answer


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
