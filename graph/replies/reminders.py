"""What a feeling or a scene brings back unasked: at most one memory, quoted with its source.

He et al. (2025, MADial-Bench) call it proactive recall: somebody tells how they are, and a fitting memory comes up that
nobody asked for. Most of what is said in a chat should bring nothing back, so a memory comes up only where a feeling is
told and the memory is near it, or where the memory is all but the same scene again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from graph.readers.composing import describe_day
from graph.replies.manners import manner
from graph.state import USER, Ask, Citation, Message
from graph.understanding.classifier import Classifier
from graph.understanding.message import DIALOGUE_TURNS
from graph.understanding.sentences import split
from memory.bank.bank import Bank
from memory.dates.expressions import describe_span
from memory.search import tokens as lexical
from memory.types import EPISODIC, Hit, Memory

FELT = 0.3
"""Probability of a feeling, in any way the message is put, from which one counts as told. Of what our own benchmark's
lives tell, said again as chats, one in seven is above it, of its probes for proactive recall three in four."""

FITS, SAME_SCENE = 0.3, 0.6
"""Cosine of a memory to the message from which it fits a feeling, and from which it is the same scene again whatever is
felt; set on the same lives: one message in ten brings a memory up."""

CONSIDERED = 5
"""Memories looked at, best first, for one that may be brought up; those further down seldom fit."""

LEAST_NEW = 2
"""Terms that a memory must hold beyond the words just said: anything less says them back."""

MAX_WORDS = 40
"""Words that are quoted of it."""

_QUOTED = re.compile(r"“([^“”…]{12,})")


@dataclass(frozen=True, slots=True)
class Reminder:
    """A memory brought up: what is said of it, in the persona's manner, and what that relies on."""

    said: str
    citation: Citation


def remind(
    ask: Ask, message: Message, hits: Sequence[Hit], bank: Bank, classifier: Classifier
) -> tuple[Reminder | None, str]:
    """The memory that a message which asks nothing brings back, if one fits, and why or why not in words.

    Args:
        ask: What was said; nothing is brought up twice in its dialogue.
        message: The same, classified.
        hits: What was found for it and may be read, best first.
        bank: Where they are from.
        classifier: Tells whether a feeling is told, in the message alone or with what was said before it.
    """
    if not ask.persona.proactive:
        return None, "this persona brings nothing up unasked"
    felt = max(classifier.classify(view.text, view.vector).state for view in message.views)
    fits = FITS if felt >= FELT else SAME_SCENE
    heard, quotes = _just_said(ask), _quoted(ask)
    eligible = (
        hit
        for hit in hits[:CONSIDERED]
        if _may_come_up(hit.memory, ask) and _tells_more(hit.memory, heard) and not _holds_any(hit.memory, quotes)
    )
    best = next((hit for hit in eligible if not _is_of_this_chat(hit.memory, ask, bank)), None)
    told = f"a feeling ({felt:.2f})" if felt >= FELT else f"no feeling ({felt:.2f})"
    if best is None:
        return None, f"nothing brought up: {told}, and no memory that could be"
    near = best.scores.get("dense", 0.0)
    if near < fits:
        return None, f"nothing brought up: {told}, the best memory at {near:.2f} of {fits:g}"
    return _told(best, ask), f"brought up a memory: {told}, as near as {near:.2f}"


def _may_come_up(memory: Memory, ask: Ask) -> bool:
    """Whether it is something that happened or was told to the persona, and still holds."""
    if memory.store not in EPISODIC or memory.speaker in (ask.persona.name, "assistant"):
        return False
    ends = (memory.valid_to, memory.taken_back, memory.stale_since)
    return all(end is None or end > ask.as_of for end in ends)


def _just_said(ask: Ask) -> frozenset[str]:
    """The terms of the message and of what the user said before it."""
    mine = [turn.text for turn in ask.dialogue[-DIALOGUE_TURNS:] if turn.role == "user"]
    return frozenset(lexical.terms(" ".join([*mine, ask.text])))


def _tells_more(memory: Memory, heard: frozenset[str]) -> bool:
    return len(frozenset(lexical.content_terms(memory.text)) - heard) >= LEAST_NEW


def _quoted(ask: Ask) -> frozenset[str]:
    """What the persona has quoted in this chat already, be it unasked or to answer."""
    replies = (" ".join(turn.text.split()) for turn in ask.dialogue if turn.role == "assistant")
    return frozenset(quote for reply in replies for quote in _QUOTED.findall(reply))


def _holds_any(memory: Memory, quotes: frozenset[str]) -> bool:
    text = " ".join(memory.text.split())
    return any(quote in text for quote in quotes)


def _is_of_this_chat(memory: Memory, ask: Ask, bank: Bank) -> bool:
    if memory.session_id is None:
        return False
    return bank.session(ask.persona.id, memory.session_id).external_id == ask.chat_id


def _told(hit: Hit, ask: Ask) -> Reminder:
    memory = hit.memory
    sentences = split(memory.text) or [memory.text]
    heard = frozenset(lexical.content_terms(ask.text))
    first = max(range(len(sentences)), key=lambda n: (len(heard & frozenset(lexical.terms(sentences[n]))), -n))
    said = f"{_frame(memory)}“{_from(sentences[first:])}” [1]"
    citation = Citation(1, memory, sentences[first], hit.scores)
    return Reminder(manner(ask.persona.manner).reminded.format(told=said), citation)


def _frame(memory: Memory) -> str:
    """Who told it and when, or when it happened."""
    day = describe_day(memory.said_at)
    if memory.speaker:
        teller = "you" if memory.speaker == USER else memory.speaker
        return f"on {day} {teller} told me: " if day else f"{teller} told me: "
    if memory.event is not None:
        return f"{describe_span(memory.event)}: "
    return f"as of {day}: " if day else ""


def _from(sentences: Sequence[str]) -> str:
    """As many whole sentences as fit, the first of them in any case, cut if need be."""
    words = sentences[0].split()
    if len(words) > MAX_WORDS:
        return " ".join(words[:MAX_WORDS]) + "…"
    for sentence in sentences[1:]:
        if len(words) + len(sentence.split()) > MAX_WORDS:
            break
        words += sentence.split()
    return " ".join(words)
