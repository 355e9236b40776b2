"""Carry out messages that correct something ("no, I said Tuesday") or retract it ("forget that").

The trained reader tells which statement a message corrects, and which of its words take the place of which: of the
statements of this chat, what the last reply quotes or cites, and those of other chats about the same. The first
version is kept as history, marked as taken back.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile

from graph.language.patterns import phrasing_list, phrasings
from graph.learning.correction_reader import SURE, ReadCorrection, read
from graph.learning.facts import facts
from graph.state import CITATION, USER, Ask, Message, Revision
from graph.understanding.parts import tells
from graph.understanding.requests import LONGEST
from graph.understanding.sentences import split
from graph.understanding.times import stated_time, times_in
from memory.bank.bank import Bank
from memory.embedding import minilm
from memory.search.quotes import contains
from memory.search.tokens import FUNCTION_WORDS, content_terms, terms
from memory.types import SEMANTIC, SUMMARY, Hit, LearnedMemory, Memory, MemoryDraft, Quote, TimeSpan

RECENT = 3
"""Last statements of a chat that a message may correct without naming what they are about."""

MOST_MEANT = 3
"""Most statements that one message may retract by naming them: "forget about Ann" must not empty a bank."""

_DATED, _PARTS_OF_TIME = phrasings("corrections")["dated"], phrasing_list("corrections", "parts_of_time")

_WORD = re.compile(r"\w+")

FindDerived = Callable[[Memory], Sequence[Memory]]
"""Finds all memories from the turns of a memory, including itself."""


def put_right(text: str, wrong: tuple[int, int], right: str) -> str:
    """The text with the right words in the place of the wrong ones, from `start` to `end`.

    A part of a time takes the place of that part alone. Of "Friday the 4th", Friday is wrong where the 4th is, and the
    4th where Friday is.
    """
    start, end = wrong
    kind = next((each for each in _PARTS_OF_TIME if each.fullmatch(right)), None)
    if kind and len(places := [part.span() for part in kind.finditer(text, start, end)]) == 1:
        ((start, end),) = places
    dated = next((each for each in _DATED.finditer(text) if each.start() <= start and end <= each.end()), None)
    before = text[:start]
    if dated and end <= dated.end("weekday"):
        end = dated.end()
    elif dated and start >= dated.end("weekday"):
        before = text[: dated.start()] + text[dated.end("weekday") : start]
    return before + right + text[end:]


def _lead(text: str, start: int, end: int) -> list[re.Match[str]]:
    """The function words just before words of a text, and at their beginning."""

    def is_function(word: re.Match[str]) -> bool:
        return word[0].lower() in FUNCTION_WORDS

    found = list(_WORD.finditer(text, 0, end))
    before = takewhile(is_function, reversed([word for word in found if word.end() <= start]))
    return [*reversed(list(before)), *takewhile(is_function, [word for word in found if word.end() > start][:-1])]


def aligned(text: str, wrong: tuple[int, int], message: str, right: tuple[int, int]) -> tuple[tuple[int, int], str]:
    """The wrong words of a text and the right ones, both from behind the last function word that they share.

    "Friday" and "the 4th", both after "on", or "Porto" and "Lisbon" where the text has "in Porto".
    """
    ours, theirs = _lead(message, *right), _lead(text, *wrong)
    for said in reversed(ours):
        for told in reversed(theirs):
            if said[0].lower() == told[0].lower():
                start = next(_WORD.finditer(text, told.end())).start()
                return (start, wrong[1]), message[said.end() : right[1]].strip()
    inside = [word for word in theirs if word.start() >= wrong[0]]
    start = inside[-1].end() + 1 if inside and not any(word.start() >= right[0] for word in ours) else wrong[0]
    return (start, wrong[1]), message[slice(*right)]


@dataclass(frozen=True, slots=True)
class Correction:
    """The right words, the wrong ones, and the sentence that corrects."""

    right: str
    wrong: str
    sentence: str

    def apply(self, text: str) -> str:
        """The text with the right words in the place of the wrong ones; empty if it does not have these."""
        found = re.search(rf"(?<!\w){re.escape(self.wrong)}(?!\w)", text, re.IGNORECASE)
        return put_right(text, found.span(), self.right) if found else ""


def revise(message: Message, ask: Ask, hits: Sequence[Hit], bank: Bank) -> Revision | None:
    """What a message corrects or retracts, if anything."""
    may_correct = len(ask.text) <= LONGEST and "?" not in ask.text and minilm.reads(ask.text)
    if message.retracts is None and not may_correct:
        return None
    reply = next((turn.text for turn in reversed(ask.dialogue) if turn.role == "assistant"), "")
    quoted = [hit.memory for hit in hits if any(contains(reply, sentence) for sentence in split(hit.memory.text))]
    cited = bank.cited_in_chat(ask.persona.id, ask.chat_id)[: len(set(CITATION.findall(reply)))]
    recent = [m for m in bank.chat_memories(ask.persona.id, ask.chat_id, 2 * RECENT) if tells(m.text)][:RECENT]
    # What the last reply quotes or cites comes first: "no, ..." answers it, or else the statement before it.
    answered = [*(m for m in recent if contains(reply, m.text)), *quoted, *cited] or recent[:1]

    def derived(memory: Memory) -> Sequence[Memory]:
        return bank.memories_from_same_turns(ask.persona.id, memory.id)

    if message.retracts is not None:
        return retract(ask.text, message.retracts, answered, hits, derived)
    named = frozenset(content_terms(ask.text))
    own = (hit.memory for hit in hits if hit.memory.speaker == USER)
    about = [m for m in own if not named.isdisjoint(terms(m.text))]
    return correct(ask.text, [*answered, *recent, *about], derived, ask.as_of)


def correct(text: str, statements: Sequence[Memory], derived: FindDerived, now: datetime) -> Revision | None:
    """Correct the first statement that a message surely puts right, and all memories from its turns."""
    lines = list(_originals(statements, derived))
    found = zip(read(text, [memory.text for memory in lines]), lines, strict=True)
    sure = ((each, memory) for each, memory in found if each.probability >= SURE)
    meant = next(((each, memory) for each, memory in sure if _may_give_way(text, each, memory, now)), None)
    if meant is None:
        return None
    words, memory = meant
    wrong, right = aligned(memory.text, words.wrong, text, words.right)
    corrected = put_right(memory.text, wrong, right)
    if corrected == memory.text:
        return None
    sentence = next((each for each in split(text) if right in each), text)
    correction = Correction(right, memory.text[slice(*wrong)], sentence)
    known = [m for m in derived(memory) if m.retracted_at is None and m.attribute != SUMMARY]
    learned = tuple(_learn_again(correction, memory, corrected, known, now))
    replaced = {item.replaces for item in learned}
    gone = [m for m in known if m.id not in replaced and _repeats_error(correction, m, memory, corrected)]
    return Revision((memory,), corrected, sentence, learned, tuple(m.id for m in gone))


def _may_give_way(text: str, found: ReadCorrection, memory: Memory, now: datetime) -> bool:
    """Whether the wrong words may be: a time takes the place of a time alone, an hour that of a bare number, too."""
    is_number = memory.text[slice(*found.wrong)].isdecimal()
    return is_number or _is_time(memory.text, found.wrong, memory.said_at) or not _is_time(text, found.right, now)


def _is_time(text: str, words: tuple[int, int], said_at: datetime | None) -> bool:
    """Whether words of a text are a part of a time, or are in one."""
    is_part = any(kind.fullmatch(text[slice(*words)]) for kind in _PARTS_OF_TIME)
    return is_part or any(time.start < words[1] and words[0] < time.end for time in times_in(text, said_at))


def _originals(statements: Sequence[Memory], derived: FindDerived) -> Iterator[Memory]:
    """The statements, each once; in the place of a fact, the dialogue that it was learned from, if there is any."""
    seen: set[int] = set()
    for memory in statements:
        dialogue = [m for m in derived(memory) if m.store == "dialogue"] if memory.store in SEMANTIC else []
        for each in dialogue or (memory,):
            if each.id not in seen and each.attribute != SUMMARY and each.retracted_at is None:
                seen.add(each.id)
                yield each


def retract(
    text: str, what: str, statements: Sequence[Memory], hits: Sequence[Hit], derived: FindDerived
) -> Revision | None:
    """Retract the last statement or, if the message names `what`, all statements and hits with those words."""
    targets = list(statements[:1])
    if what:
        named = frozenset(content_terms(what))
        candidates = [*statements, *(hit.memory for hit in hits)]
        targets = [m for m in candidates if named and named <= frozenset(content_terms(f"{m.text} {m.key}"))]
        if len({m.turn_ids or m.id for m in targets}) > MOST_MEANT:
            return Revision(tuple(targets), "", text)
    related = {m.id: m for memory in targets for m in (memory, *derived(memory))}
    taken = tuple(m.id for m in related.values() if m.retracted_at is None and m.attribute != SUMMARY)
    old = tuple({m.id: m for m in targets}.values())
    return Revision(old, "", text, retracted=taken) if taken else None


def _learn_again(
    correction: Correction, memory: Memory, corrected: str, known: Sequence[Memory], now: datetime
) -> Iterator[LearnedMemory]:
    """The corrected memory, and the facts and events that follow from it instead of the old ones."""
    quotes = (Quote(0, correction.sentence, alone=False),)
    yield LearnedMemory(_draft(memory, corrected, now), quotes, replaces=memory.id)
    anchor = memory.said_at or now
    known_facts = [m for m in known if m.id != memory.id and m.store in SEMANTIC]
    for fact in facts(corrected, memory.speaker, anchor):
        if any(m.text == fact.text for m in known_facts):
            continue
        same = (m.id for m in known_facts if (m.store, m.attribute) == (fact.store, fact.attribute))
        right = replace(fact, said_at=now, valid_from=fact.valid_from or anchor)
        yield LearnedMemory(right, quotes, replaces=next(same, None))
    gone, new = _changed_times(memory, corrected)
    for event in known:
        text = correction.apply(event.text) if event.store == "event" and not event.attribute else ""
        if text:
            yield LearnedMemory(_draft(event, text, now), quotes, replaces=event.id)
        elif event.store == "event" and event.event in gone and len(new) == 1:
            (span,) = new
            moved = replace(_draft(event, event.text, now), event=span, event_text=new[span])
            yield LearnedMemory(moved, quotes, replaces=event.id)


def _changed_times(memory: Memory, corrected: str) -> tuple[frozenset[TimeSpan], dict[TimeSpan, str]]:
    """The times that a memory names and its corrected text does not, and those that only that names, with its words."""
    before, after = (
        {time.span: time.text for time in times_in(text, memory.said_at)} for text in (memory.text, corrected)
    )
    return frozenset(before.keys() - after.keys()), {span: after[span] for span in after.keys() - before.keys()}


def _draft(memory: Memory, text: str, now: datetime) -> MemoryDraft:
    """The memory with a new text, said now; its event time is relative to when it was said first."""
    when = stated_time(text, memory.said_at)
    draft = MemoryDraft(
        memory.store,
        text,
        said_at=now,
        emotion=memory.emotion,
        scene=memory.scene,
        speaker=memory.speaker,
        valid_from=memory.valid_from if memory.store in SEMANTIC else None,
        attribute=memory.attribute,
    )
    return replace(draft, event=when.span, event_text=when.text) if when else draft


def _repeats_error(correction: Correction, known: Memory, memory: Memory, corrected: str) -> bool:
    """Whether a memory from the same turns repeats what was wrong."""
    if known.store == "dialogue":
        return known.id != memory.id and contains(memory.text, known.text)
    gone = frozenset(terms(memory.text)) - frozenset(terms(corrected))
    names_wrong = contains(known.text, correction.wrong)
    return names_wrong or not gone.isdisjoint(terms(known.text))
