"""Reply as the persona with a chat model: ask it, stream what it says, and repair only mechanical faults."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from graph.models.calls import REASONING_TOKENS, Completion, ModelFailed, stream_reply
from graph.models.faults import UnknownModel
from graph.models.local_model import LocalModel
from graph.models.tokens import UNKNOWN_CONTEXT, context_length, count_tokens
from graph.readers.counting.intervals import asks_interval
from graph.readers.talk.checking import Checked, check, cite
from graph.readers.talk.known import gather
from graph.readers.talk.prompt import Content, messages
from graph.readers.talk.repairs import StreamedReply
from graph.state import Ask, Citation, Message, Reading, Services, Token
from memory.types import Hit

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

USUAL_TOKENS, CPU_TOKENS = 2_400, 900
"""Tokens of a usual prompt with a dozen turns, and of one for a model that runs on this CPU, which reads some 500 a
second with the smallest model, and 50 with one of 8 billion weights."""

LEAST_MESSAGE = 200
"""Characters of a message that are shown at least."""

KEPT = "What came of it is kept."
STOPPED = "The reply was stopped; what was there is kept."
UNCHECKED = "This reply was not compared with your memories."
CUT_MESSAGE = "The message is longer than the chat model can read, so only its end was shown to it."

_LIST = re.compile(r"\[\s*-?\d")
_REASONS: set[str] = set()
"""Names of the models that spent all tokens of a reply on reasoning: they are given more from then on."""

Write = Callable[[Token], None]
Result = TypeVar("Result")


class Stopped(Exception):  # the user wants no more; nobody sees it
    """What was asked of the model was stopped."""


class NoWords(ModelFailed):
    """Nothing was left of the reply once its mechanical faults were repaired."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A reply as a reading, what it was made of, what it cost, what the model noted before it, and why it was not
    compared with the lines, where that failed."""

    reading: Reading
    content: Content
    figures: Mapping[str, float]
    notes: str = ""
    unchecked: str = ""


async def speak(
    ask: Ask, message: Message, hits: Sequence[Hit], services: Services, outdated: Sequence[int], write: Write
) -> Spoken:
    """Let the chat model reply. Once the user stops it, what is there of the reply is all of it, perhaps nothing.

    Raises:
        ModelFailed: it failed, or said nothing, before anything could be shown.
    """
    model, settings = services.model, services.settings
    assert model is not None
    content, size, notices = await asyncio.to_thread(_content, ask, message, hits, services, outdated)
    shown = StreamedReply(
        len(content.lines),
        ask.persona.name,
        lambda text, restart: write(Token(text, restart=restart)),
        has_lists=_LIST.search(ask.text) is not None,
    )
    reply = Completion("", size)  # what it costs at least, if it is stopped or breaks off
    try:
        reply = await _until(services.stop, _ask(model, content, shown, settings.model, settings.reply_tokens))
    except Stopped:
        notices += [STOPPED] if shown.text else []
    except (ModelFailed, UnknownModel) as fault:
        if not shown.text:
            raise
        notices.append(f"{fault}. {KEPT}")
    if not shown.text and not services.stop.is_set():
        raise NoWords("The chat model gave no usable reply (nothing was left without the marks of its template)")
    answer, checked, cost = shown.text, Checked(), Completion("")
    checks = settings.check == "model" or (settings.check == "auto" and not _is_on_cpu(model))
    if checks and answer and not reply.cut and not notices:
        write(Token("", is_last=True))
        checked, cost = await _compare(services, content, shown, size)
        notices += [UNCHECKED] if checked.fault else []
        answer = cite(answer, checked.sources, shown.cited)
    scores = {hit.memory.id: hit.scores for hit in hits}
    cited = [content.lines[number - 1] for number in shown.cited]
    citations = tuple(
        Citation(n, line.memory, line.words, scores.get(line.memory.id, {})) for n, line in enumerate(cited, 1)
    )
    if reply.cut:
        notices.append(f"The reply was cut off at {settings.reply_tokens:,} tokens or began to repeat itself.")
    reading = Reading(
        answer,
        citations=citations,
        by=settings.model,
        notice=" ".join(notices),
        cut=reply.cut,
        unsupported=checked.unsupported,
    )
    figures = {
        "known": len(content.known),
        "earlier": len(content.earlier),
        "turns": len(content.turns),
        "prompt tokens": size,
        "tokens in": reply.tokens_in + cost.tokens_in,
        "tokens out": reply.tokens_out + cost.tokens_out,
        "unsupported": len(checked.unsupported),
        "fallback": 0,
    }
    return Spoken(reading, content, figures, shown.notes, checked.fault)


async def _compare(services: Services, content: Content, shown: StreamedReply, size: int) -> tuple[Checked, Completion]:
    """What of a reply the lines support, and what it cost to ask, at least `size` tokens if it is stopped."""
    assert services.model is not None
    try:
        return await _until(services.stop, check(services.model, content, shown.text, shown.cited))
    except Stopped:
        return Checked(fault="stopped"), Completion("", size)


async def _until(stop: asyncio.Event, work: Coroutine[None, None, Result]) -> Result:
    """What is asked of the model.

    Raises:
        Stopped: `stop` was set before it was there.
    """
    doing, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((doing, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise Stopped
        return doing.result()
    finally:
        stopping.cancel()
        doing.cancel()
        await asyncio.wait((doing,))


def _content(
    ask: Ask, message: Message, hits: Sequence[Hit], services: Services, outdated: Sequence[int]
) -> tuple[Content, int, list[str]]:
    """What the prompt is made of, as much as fits; see `fit`. What is left out of the chat may be found again."""
    model, most = services.model, services.settings.reply_tokens
    assert model is not None
    room = (context_length(model) or UNKNOWN_CONTEXT) - most
    share = min(1.0, max(room, CPU_TOKENS) / USUAL_TOKENS, CPU_TOKENS / USUAL_TOKENS if _is_on_cpu(model) else 1.0)
    content, size, notices = fit(gather(ask, message, hits, services, outdated, share), model, most)
    left = len(content.turns)
    if left < len(ask.dialogue):
        shorter = replace(content.ask, dialogue=ask.dialogue[len(ask.dialogue) - left :])
        content, size, more = fit(gather(shorter, message, hits, services, outdated, share), model, most)
        notices = notices or more
    asks = message.classes.is_question and message.classes.asks_memory
    together = asks and (message.classes.asks_many or asks_interval(message.question.text)) and len(content.lines) > 1
    # On this CPU, notes would take longer than the reply.
    return replace(content, notes=together and not _is_on_cpu(model)), size, notices


async def _ask(model: BaseChatModel, content: Content, shown: StreamedReply, name: str, most: int) -> Completion:
    """The whole reply; a model that got no further than its reasoning is asked again with more tokens."""
    spent = Completion("")
    while True:
        room = most + (REASONING_TOKENS if name in _REASONS else 0)
        reply = spent + await stream_reply(model, messages(content), max_tokens=room, on_piece=shown.feed)
        shown.end(reply.text)
        if shown.text or not reply.cut or name in _REASONS:
            return reply
        _REASONS.add(name)
        shown.raw, spent = "", reply


def fit(content: Content, model: BaseChatModel, reply_tokens: int) -> tuple[Content, int, list[str]]:
    """The content that fits beside the reply, its size in tokens, and what the user must be told; blocks.

    The oldest half of the chat goes first, and again half of the rest: so the beginning of the prompt stays the same
    for many messages. Then go the oldest lines, what is known, and the beginning of the message.

    Raises:
        ModelFailed: not even the persona's card fits.
    """
    context = context_length(model) or UNKNOWN_CONTEXT
    room = context - min(reply_tokens, context // 2)
    size, notices = count_tokens(model, messages(content)), list[str]()
    while size > room:
        if content.turns:
            content = replace(content, turns=content.turns[(len(content.turns) + 1) // 2 :])
        elif content.lines:
            content = replace(content, known=content.known[: len(content.known) // 2], earlier=content.earlier[1:])
        elif len(content.ask.text) > LEAST_MESSAGE:
            notices = [CUT_MESSAGE]
            content = replace(content, ask=replace(content.ask, text=content.ask.text[len(content.ask.text) // 4 :]))
        else:
            raise ModelFailed(
                f"the prompt has {size:,} tokens and the chat model can read {room:,} beside its reply. "
                "Shorten the persona's card, or choose a model with a longer context"
            )
        size = count_tokens(model, messages(content))
    return content, size, notices


def _is_on_cpu(model: BaseChatModel) -> bool:
    return isinstance(model, LocalModel) and model.weights.on_cpu
