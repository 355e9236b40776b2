"""What other programs may call: five endpoints, each an MCP tool as well; its docstring is what they are told.

Served at /gradio_api/run/NAME, for `gradio_client`, and as tools at /gradio_api/mcp/. All else of the page is private.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypedDict

import gradio as gr
from gradio.events import api
from pydantic import Field, ValidationError, validate_call

from graph.assistant import Answer, Assistant
from graph.learning.learner import Learner
from graph.state import Ask
from graph.tab.asking_date import parse_as_of
from graph.tab.request import MAX_MESSAGE, wait_until_ready
from memory.bank import journal
from memory.bank.bank import Bank
from memory.errors import MemoirError, UnknownMemory
from memory.exporting.json_values import to_json_values
from memory.forgetting import forget as forgetting
from memory.search.indexer import Indexer
from memory.search.scoring import SearchSettings
from memory.types import Hit, Persona, Store

MOST_FOUND = 50
"""Memories of one search."""

MOST_FORGOTTEN = 100
"""Memories forgotten by one call."""

Name = Annotated[str, Field(min_length=1, max_length=200)]
Day = Annotated[str, Field(max_length=100)] | None
Said = Annotated[str, Field(min_length=1, max_length=MAX_MESSAGE, pattern=r"\S")]
Limit = Annotated[int, Field(ge=1, le=MOST_FOUND)]
Numbers = Annotated[list[Annotated[int, Field(ge=1, lt=2**63)]], Field(min_length=1, max_length=MOST_FORGOTTEN)]

P = ParamSpec("P")


class Cited(TypedDict):
    """A line that an answer relies on."""

    number: int
    memory: int
    date: str | None
    speaker: str
    quote: str


class Answered(TypedDict):
    """An answer, or an abstention with its reason."""

    answer: str
    abstained: bool
    reason: str | None
    citations: list[Cited]
    notice: str


class Remembered(TypedDict):
    """What became of something that was told."""

    reply: str
    turns: int
    memories: int


class Found(TypedDict):
    """A memory that a search found."""

    memory: int
    store: str
    text: str
    speaker: str
    date: str | None
    score: float


class Forgotten(TypedDict):
    """What is gone, and how many of its texts still stand in the bank's files."""

    memories: int
    turns: int
    sessions: int
    residue: int


class Known(TypedDict):
    """A persona and how much it knows."""

    id: int
    name: str
    description: str
    sessions: int
    turns: int
    memories: int


def add_public_api(assistant: Assistant, indexer: Indexer, learner: Learner) -> None:
    """Make the five endpoints, inside the page that is being built."""
    bank, searcher = assistant.services.bank, assistant.services.searcher

    @checked
    def ask(persona: Name, question: Said, as_of: Day = None, remember: bool = False) -> Answered:
        """Ask a persona something, and get an answer with the remembered lines it relies on, or "I don't know".

        Args:
            persona: name or number of the persona, as list_personas gives them.
            question: what to ask, in plain words; at most 100,000 characters.
            as_of: a date such as 2023-10-22; only what was said by the end of it is known. Left out: now.
            remember: whether the question and its answer are kept as a conversation. Left out: they are not.

        Returns:
            answer, abstained, reason (of an abstention), citations (number, memory, date, speaker, quote), notice.
        """
        return _answered(_say(assistant, indexer, learner, persona, question, as_of, remember))

    @checked
    def remember(persona: Name, text: Said, said_at: Day = None) -> Remembered:
        """Tell a persona something to remember; what only asks, and says nothing, becomes no memory.

        Args:
            persona: name or number of the persona.
            text: what to remember, as one would say it: "I moved to Lisbon yesterday."
            said_at: the date on which it is said, which "yesterday" counts from. Left out: now.

        Returns:
            reply, and how many turns and memories were stored.
        """
        told = _say(assistant, indexer, learner, persona, text, said_at, True)
        stored = told.stored
        turns, memories = (stored.turns, stored.memories) if stored else (0, 0)
        return Remembered(reply=told.reading.answer, turns=turns, memories=memories)

    @checked
    def search_memory(
        persona: Name, query: Said, limit: Limit = 10, store: Store | None = None, as_of: Day = None
    ) -> list[Found]:
        """Find memories of a persona by words and by meaning, best first.

        Args:
            persona: name or number of the persona.
            query: words, or a question.
            limit: how many at most, 1 to 50.
            store: only this kind of memory. Left out: all kinds.
            as_of: a date; only what was said by the end of it is found. Left out: now.

        Returns:
            a list of memory (its number), store, text, speaker, date and score.
        """
        someone = bank.persona(persona)
        hits = searcher.search(someone.id, searcher.views([query]), parse_as_of(as_of), SearchSettings(k=limit))
        fitting = [h for h in hits if h.kept and store in (None, h.memory.store)]
        return [_found(h) for h in sorted(fitting, key=lambda h: -h.score)[:limit]]

    @checked
    def forget(persona: Name, memories: Numbers) -> Forgotten:
        """Forget memories for good, with the turns they came from; this cannot be undone.

        Args:
            persona: name or number of the persona.
            memories: numbers of the memories, 1 to 100 of them, as search_memory and citations give them.

        Returns:
            how many memories, turns and sessions went, and how many of their texts are left in the file (0).
        """
        someone = bank.persona(persona)
        _require(bank, someone, memories)
        gone = forgetting.forget_memories(bank, someone.id, memories)
        return Forgotten(memories=gone.memories, turns=gone.turns, sessions=gone.sessions, residue=gone.residue)

    @checked
    def list_personas() -> list[Known]:
        """List the personas there are to talk with, and how much each knows.

        Returns:
            a list of id, name, description, and the numbers of sessions, turns and memories.
        """
        return [_known(bank, persona) for persona in bank.personas()]

    for call in (ask, remember, search_memory, forget, list_personas):
        # Not by the queue: its events belong to a window, and a tool's call has none.
        api(call, api_name=call.__name__, queue=False)


def answer_in_json(page: gr.Blocks) -> None:
    """Let the page's tools answer in JSON; Gradio hands an MCP client what `str` makes of a dict."""
    from mcp.types import TextContent

    def told(data: list[Any], root_url: str) -> list[TextContent]:
        return [TextContent(type="text", text=json.dumps(value, ensure_ascii=False)) for value in data]

    assert page.mcp_server_obj is not None
    page.mcp_server_obj.postprocess_output_data = told  # type: ignore[method-assign, assignment]


def checked(call: Callable[P, Any]) -> Callable[P, Any]:
    """The call, its arguments held to their types and limits, and its faults told in plain words."""
    strict = validate_call(config={"strict": True})(call)

    @wraps(call)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401  # as the call itself
        try:
            with journal.requested(f"another program ({call.__name__})"):
                return strict(*args, **kwargs)
        except ValidationError as fault:
            raise _refusal("; ".join(_expected(e, call) for e in fault.errors())) from fault
        except MemoirError as fault:
            raise _refusal(str(fault)) from fault

    return guarded


def _refusal(text: str) -> gr.Error:
    return gr.Error(text, print_exception=False)


def _expected(error: Any, call: Callable[..., Any]) -> str:  # noqa: ANN401  # pydantic's ErrorDetails
    first, *rest = error["loc"]
    name = list(call.__annotations__)[first] if isinstance(first, int) else first
    where = "".join([str(name), *(f"[{place}]" for place in rest if isinstance(place, int))])
    return f"{where}: {error['msg']}, not {repr(error['input'])[:60]}"


def _say(
    assistant: Assistant, indexer: Indexer, learner: Learner, persona: str, text: str, as_of: str | None, keep: bool
) -> Answer:
    """Say something to a persona in a chat of its own, which is over with the answer."""
    chat_id = uuid.uuid4().hex
    ask = Ask(assistant.services.bank.persona(persona), text.strip(), parse_as_of(as_of), chat_id, remember=keep)
    for _ in wait_until_ready(assistant, indexer):
        pass
    answer = assistant.ask(ask)
    if keep:
        learner.close(chat_id)
    return answer


def _answered(answer: Answer) -> Answered:
    reading = answer.reading
    return Answered(
        answer=reading.answer,
        abstained=reading.abstained,
        reason=reading.reason,
        citations=[
            Cited(
                number=c.number,
                memory=c.memory.id,
                date=to_json_values(c.memory.said_at),
                speaker=c.memory.speaker,
                quote=c.quote,
            )
            for c in reading.citations
        ],
        notice=reading.notice,
    )


def _found(hit: Hit) -> Found:
    memory = hit.memory
    return Found(
        memory=memory.id,
        store=memory.store,
        text=memory.text,
        speaker=memory.speaker,
        date=to_json_values(memory.said_at),
        score=round(hit.score, 4),
    )


def _require(bank: Bank, persona: Persona, memories: list[int]) -> None:
    """Nothing is forgotten where one of the numbers is wrong.

    Raises:
        UnknownMemory: the persona has no memory of one of these numbers.
    """
    unknown = set(memories) - {m.id for m in bank.chosen(persona.id, memories)}
    if unknown:
        listed = ", ".join(map(str, sorted(unknown)))
        raise UnknownMemory(f"{persona.name} has no memory {listed}; nothing was forgotten")


def _known(bank: Bank, persona: Persona) -> Known:
    counts = bank.counts(persona.id)
    return Known(
        id=persona.id,
        name=persona.name,
        description=persona.description,
        sessions=counts.pop("sessions"),
        turns=counts.pop("turns"),
        memories=sum(counts.values()),
    )
