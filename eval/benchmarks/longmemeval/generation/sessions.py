"""Write the chat in which a statement is said (LongMemEval, section 3.2 and appendix A.1).

The model plays user and assistant in turn. Whoever says the statement learns it in the round in which they say it, so
that no other message can give it away, and no session knows of another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eval.benchmarks.longmemeval.generation.check_prompts import Places, SessionScore
from eval.benchmarks.longmemeval.generation.draft import Draft, LeftOut, Statement, Turn, need
from eval.benchmarks.longmemeval.generation.kinds import Kind
from eval.benchmarks.longmemeval.generation.session_prompts import AssistantMessage, Message, UserMessage
from eval.making.prompting import one_line
from eval.making.writer import Writer
from eval.metrics.answers import normalise
from memory.search.tokens import content_terms, terms

if TYPE_CHECKING:
    from random import Random

ROUNDS = 5
PLACES = (5, 2, 2, 1, 0)
"""How often the statement is said in each round: mostly in the first (figure 9), never in the one that ends it."""

ROLES: dict[str, type[Message]] = {"user": UserMessage, "assistant": AssistantMessage}

SHARED = 0.5
"""The least share of a statement's terms in the messages that say it: these say "my" or "yesterday" in other words."""

_FRAME = frozenset(terms("user assistant told"))
"""Terms of a statement that nobody says."""


def add_session(draft: Draft, statement: Statement, threshold: int, draw: Random, writer: Writer) -> None:
    """Add the turns of a chat; those that say the statement are marked with `has_answer`.

    A chat that fails a check is added, too, so that a person sees it.

    Raises:
        LeftOut: the chat fails a check.
        Unreachable: the model does not reply.
    """
    kind, today = draft.kind, f"{statement.said_at:%A, %Y-%m-%d}"
    task = one_line(need(writer.ask(kind.task, fact=statement.text, today=today)).task)
    (place,) = draw.choices(range(ROUNDS), PLACES)
    messages = _chat(kind, statement.text, task, today, place, writer)
    turns: list[Turn] = [
        {"role": role, "content": text, "has_answer": False}
        for text, role in zip(messages, list(ROLES) * ROUNDS, strict=True)
    ]
    draft.sessions.append(turns)
    said = 2 * place + (kind.speaker == "assistant")
    for number in _find(kind, statement.text, said, turns, writer):
        turns[number]["has_answer"] = True
    _check_words(draft, statement.text, turns)
    told = {"fact": statement.text, "today": today, "task": task, "chat": chat_lines(turns)}
    if need(writer.ask(SessionScore, **told)).score < threshold:
        raise LeftOut("session below the threshold")


def chat_lines(turns: list[Turn]) -> list[str]:
    """A chat as it stands in prompts."""
    return [f"{turn['role']}: {turn['content']}" for turn in turns]


def _chat(kind: Kind, statement: str, task: str, today: str, place: int, writer: Writer) -> list[str]:
    messages: list[str] = []
    for number in range(ROUNDS):
        for role, plain in ROLES.items():
            told: dict[str, object] = {"today": today}
            if role == "user":
                told |= {"task": task, "messages_left": ROUNDS - 1 - number}
            shape = kind.telling.get(role, plain) if number == place else plain
            if shape is not plain:
                told["fact"] = statement
            so_far = [f"{who}: {text}" for text, who in zip(messages, list(ROLES) * ROUNDS, strict=False)]
            message = one_line(need(writer.ask(shape, **told, chat=so_far)).message)
            if not normalise(message):
                raise LeftOut("an empty message")
            if normalise(message) in map(normalise, messages):
                raise LeftOut("a message that repeats another one")
            messages.append(message)
    return messages


def _find(kind: Kind, statement: str, said: int, turns: list[Turn], writer: Writer) -> list[int]:
    """The places of the speaker's turns that say the statement, as the model finds them."""
    lines = [f"{number} {line}" for number, line in enumerate(chat_lines(turns), start=1)]
    found = {number - 1 for number in need(writer.ask(Places, fact=statement, chat=lines)).messages}
    if said not in found:
        raise LeftOut("its statement is not found in its session")
    return [number for number, turn in enumerate(turns) if number in found and turn["role"] == kind.speaker]


def _check_words(draft: Draft, statement: str, turns: list[Turn]) -> None:
    """Refuse a session whose marked turns lack the words of the statement, or of an answer that quotes it."""
    there = set(terms(" ".join(turn["content"] for turn in turns if turn["has_answer"])))
    wanted = set(content_terms(statement)) - _FRAME
    if len(wanted & there) < SHARED * len(wanted):
        raise LeftOut("its session does not say its statement")
    if draft.kind.is_quoted and not set(content_terms(draft.answer)) <= there:
        raise LeftOut("its session does not say the answer")
