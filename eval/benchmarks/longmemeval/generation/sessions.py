"""Write the chats in which statements are said, and check what they answer (LongMemEval, section 3.2, appendix A.1).

The model plays user and assistant in turn. Whoever says the statement learns it in the round in which they say it, so
that no other message can give it away, and no session knows of another one.

The checks are in place of the authors' editing: the model answers from sessions and compares answers; it is not told
which sessions are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

from eval.benchmarks.longmemeval.generation.draft import Draft, Evidence, Kind, Turn, weekday_and_date
from eval.making.writer import LeftOut, Paragraph, Sentence, Writer, bound, one_line
from eval.metrics.answers import normalise
from graph.models.json_replies import StrictReply
from memory.search.tokens import content_terms, terms

if TYPE_CHECKING:
    from random import Random

ROUNDS = 5
PLACES = (5, 2, 2, 1, 0)
"""How often the statement is said in each round: mostly in the first (figure 9), never in the one that ends it."""

ROLES = {"user": "UserMessage", "assistant": "AssistantMessage"}
"""The prompts of messages that do not say the statement."""

SHARED = 0.5
"""The least share of a statement's terms in the messages that say it: these say "my" or "yesterday" in other words."""

_FRAME = frozenset(terms("user assistant told"))
"""Terms of a statement that nobody says."""


class Task(StrictReply):
    """What a user wants from the assistant."""

    task: Sentence


class Message(StrictReply):
    """The next message of a chat."""

    message: Paragraph


class Places(StrictReply):
    """The numbers of the messages that say something."""

    messages: Annotated[list[int], bound(maxItems=10)]


class Reading(StrictReply):
    """An answer from chats, if they have it."""

    known: bool
    answer: Sentence


class Agreement(StrictReply):
    """Whether an answer is right."""

    right: bool


def write_session(draft: Draft, evidence: Evidence, draw: Random, writer: Writer) -> None:
    """Write the turns of a chat; those that say the statement are marked with `has_answer`.

    A chat that fails a check is kept in the draft, too, so that a person sees it.

    Raises:
        LeftOut: the chat fails a check.
        Unreachable: the model does not reply.
    """
    kind, told = draft.kind, {"fact": evidence.statement, "today": weekday_and_date(evidence.said_at)}
    told["task"] = one_line(writer.ask(Task, kind.task, **told).task)
    (place,) = draw.choices(range(ROUNDS), PLACES)
    turns = evidence.turns = _chat(kind, told, place, writer)
    lines = [f"{number} {line}" for number, line in enumerate(_lines(turns), start=1)]
    found = {number - 1 for number in writer.ask(Places, fact=evidence.statement, chat=lines).messages}
    if 2 * place + (kind.speaker == "assistant") not in found:
        raise LeftOut("its statement is not found in its session")
    for number, turn in enumerate(turns):
        turn["has_answer"] = number in found and turn["role"] == kind.speaker
    _check_words(draft, evidence)
    writer.score("SessionScore", "session below the threshold", **told, chat=_lines(turns))


def check_answer(draft: Draft, writer: Writer) -> None:
    """Refuse a question whose answer does not follow from its sessions, or follows without one of them.

    Of an update, the newer session is enough, and the older one has to give another answer.

    Raises:
        LeftOut: the question is refused.
        Unreachable: the model does not reply.
    """
    if not _is_right(draft, read(draft, draft.evidence, writer), writer):
        raise LeftOut("the answer does not follow from its sessions")
    for missing in draft.evidence[-1:] if draft.kind.is_update else draft.evidence:
        answer = read(draft, [each for each in draft.evidence if each is not missing], writer)
        if _is_right(draft, answer, writer):
            raise LeftOut("answered by a part of its evidence")
        if draft.kind.is_update and answer is None:
            raise LeftOut("its first session does not say what is updated")


def read(draft: Draft, evidence: Sequence[Evidence], writer: Writer) -> str | None:
    """The model's answer from some of the sessions, in the order of time; None if they do not say it."""
    chats = [
        {"date": weekday_and_date(each.said_at), "chat": _lines(each.turns)}
        for each in sorted(evidence, key=lambda each: each.said_at)
    ]
    reading = writer.ask(Reading, chats=chats, today=weekday_and_date(draft.asked_at), question=draft.question)
    return reading.answer if reading.known else None


def _is_right(draft: Draft, answer: str | None, writer: Writer) -> bool:
    told = {"question": draft.question, "right_answer": draft.answer, "reply": answer}
    return answer is not None and writer.ask(Agreement, **told).right


def _chat(kind: Kind, told: dict[str, str], place: int, writer: Writer) -> list[Turn]:
    """The turns of a chat; the statement is said in the round at `place`."""
    turns = list[Turn]()
    for number in range(ROUNDS):
        for role, prompt in (ROLES | dict(kind.telling) if number == place else ROLES).items():
            data: dict[str, object] = {"today": told["today"]}
            if role == "user":
                data |= {"task": told["task"], "messages_left": ROUNDS - 1 - number}
            if prompt != ROLES[role]:
                data["fact"] = told["fact"]
            message = one_line(writer.ask(Message, prompt, **data, chat=_lines(turns)).message)
            if not normalise(message):
                raise LeftOut("an empty message")
            if normalise(message) in [normalise(turn["content"]) for turn in turns]:
                raise LeftOut("a message that repeats another one")
            turns.append({"role": role, "content": message, "has_answer": False})
    return turns


def _lines(turns: Iterable[Turn]) -> list[str]:
    """A chat as it stands in prompts."""
    return [f"{turn['role']}: {turn['content']}" for turn in turns]


def _check_words(draft: Draft, evidence: Evidence) -> None:
    """Refuse a session whose marked turns lack the words of the statement, or of an answer that quotes it."""
    there = set(terms(" ".join(turn["content"] for turn in evidence.turns if turn["has_answer"])))
    wanted = set(content_terms(evidence.statement)) - _FRAME
    if len(wanted & there) < SHARED * len(wanted):
        raise LeftOut("its session does not say its statement")
    if draft.kind.is_quoted and not set(content_terms(draft.answer)) <= there:
        raise LeftOut("its session does not say the answer")
