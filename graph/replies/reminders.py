"""Bring up at most one memory that fits a feeling or a scene, quoted with its source.

He et al. (2025, MADial-Bench) call it proactive recall: users tell how they are, and a fitting memory comes up without
a question. Most messages should bring nothing up, so a memory comes up only if the message tells a feeling and the
memory is similar, or if the memory is almost the same scene.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from graph.replies.phrases import MAX_REPEATED, manner
from graph.state import USER, Ask, Citation, Message, Reading
from graph.understanding.acts import CRISIS, LOSS, said
from graph.understanding.classifier import Classifier
from graph.understanding.message import DIALOGUE_TURNS
from graph.understanding.parts import tells
from graph.understanding.sentences import shorten, split
from memory.bank.bank import Bank
from memory.dates.expressions import describe_span
from memory.errors import UnknownMemory
from memory.formatting import format_day
from memory.search.tokens import content_terms, terms
from memory.types import EPISODIC, Hit, Memory

FEELING = 0.3
"""Probability of a feeling, in any view of the message, from which it counts as told. Of the messages of our own
benchmark, replayed as chats, one in seven is above it; of its probes for proactive recall three in four."""

FITS, SAME_SCENE = 0.3, 0.6
"""Cosine of a memory and the message from which it fits a feeling, and from which it is the same scene without one. Set
on the same histories: one message in ten brings a memory up."""

CONSIDERED = 5
"""Most hits, best first, among which one may be brought up."""

LEAST_NEW = 2
"""Fewest terms of a memory beyond the words just said; with fewer it would only repeat them."""

_QUOTED = re.compile(r"“([^“”…]{12,})")


def remind(
    ask: Ask, message: Message, hits: Sequence[Hit], bank: Bank, classifier: Classifier
) -> tuple[Reading | None, str]:
    """The reply that brings up one of the hits (best first), if one fits, and the reason in words.

    Nothing is brought up twice in a dialogue.
    """
    if not ask.persona.proactive:
        return None, "bringing up memories is off for this persona"
    feeling = max(classifier.classify(view.text, view.vector).state for view in message.views)
    fits = FITS if feeling >= FEELING else SAME_SCENE
    fitting = (hit for hit in hits[:CONSIDERED] if ask.handed_in or not _is_of_loss(hit.memory))
    best = next(eligible(ask, fitting, bank), None)
    basis = f"a feeling ({feeling:.2f})" if feeling >= FEELING else f"no feeling ({feeling:.2f})"
    if best is None:
        return None, f"nothing brought up: {basis}, and no suitable memory"
    near = best.scores.get("dense", 0.0)
    if near < fits:
        return None, f"nothing brought up: {basis}, best match {near:.2f}, below {fits:g}"
    return _reminder(best, ask), f"brought up a memory: {basis}, match {near:.2f}"


def _is_of_loss(memory: Memory) -> bool:
    """Whether a memory tells of a loss, of which nobody wants to be reminded."""
    return any(said(sentence).act in (LOSS, CRISIS) for sentence in split(memory.text))


def eligible(ask: Ask, hits: Iterable[Hit], bank: Bank) -> Iterator[Hit]:
    """The hits that may be brought up: of another chat and day, not brought up in this one, telling something new.

    Of hits that were handed in, those that were not brought up in this chat.
    """
    turns = [turn.text for turn in ask.dialogue[-DIALOGUE_TURNS:] if turn.role == "user"]
    recent, quotes = frozenset(terms(" ".join([*turns, ask.text]))), _quoted(ask)
    cited = {memory.id for memory in bank.cited_in_chat(ask.persona.id, ask.chat_id)}
    for hit in hits:
        memory = hit.memory
        if memory.id in cited or any(quote in " ".join(memory.text.split()) for quote in quotes):
            continue
        if ask.handed_in or (
            _may_come_up(memory, ask)
            and _is_of_another_chat(memory, ask, bank)
            and len(frozenset(content_terms(memory.text)) - recent) >= LEAST_NEW
        ):
            yield hit


def _may_come_up(memory: Memory, ask: Ask) -> bool:
    """Whether it is an event or a turn of the user that tells something, of an earlier day, still valid, not ahead."""
    if memory.store not in EPISODIC or memory.speaker in (ask.persona.name, "assistant") or not tells(memory.text):
        return False
    if memory.said_at is not None and memory.said_at.astimezone(ask.as_of.tzinfo).date() >= ask.as_of.date():
        return False
    if memory.event is not None and memory.event.end > ask.as_of:
        return False
    ends = (memory.valid_to, memory.retracted_at, memory.stale_since)
    return all(end is None or end > ask.as_of for end in ends)


def _quoted(ask: Ask) -> frozenset[str]:
    """All that the persona has quoted in this chat."""
    replies = (" ".join(turn.text.split()) for turn in ask.dialogue if turn.role == "assistant")
    return frozenset(quote for reply in replies for quote in _QUOTED.findall(reply))


def _is_of_another_chat(memory: Memory, ask: Ask, bank: Bank) -> bool:
    """Whether it is of none or of another chat, which was not forgotten while the message is answered."""
    if memory.session_id is None:
        return True
    try:
        return bank.session(ask.persona.id, memory.session_id).external_id != ask.chat_id
    except UnknownMemory:
        return False


def _reminder(hit: Hit, ask: Ask) -> Reading:
    memory = hit.memory
    sentences = split(memory.text) or [memory.text]
    asked = frozenset(content_terms(ask.text))
    first = max(range(len(sentences)), key=lambda n: len(asked & frozenset(terms(sentences[n]))))
    quoted = f"{_frame(memory)}“{shorten(' '.join(sentences[first:]), MAX_REPEATED)}” [1]"
    citation = Citation(1, memory, sentences[first], hit.scores)
    return Reading(manner(ask.persona.manner).reminded.format(text=quoted), citations=(citation,))


def _frame(memory: Memory) -> str:
    """The speaker and the day, or when it happened."""
    day = format_day(memory.said_at)
    if memory.speaker:
        speaker = "you" if memory.speaker == USER else memory.speaker
        told = f"{speaker} told {memory.told_to or 'me'}, "
        return f"on {day} {told}" if day else told
    if memory.event is not None:
        return f"{describe_span(memory.event)}, "
    return f"as of {day}, " if day else ""
