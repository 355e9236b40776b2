"""Carry out messages that correct something ("no, I said Tuesday") or retract it ("forget that").

The corrected words replace words of their kind in what the last reply quotes or cites, or in the last statement; where
the wrong words are named, in the last statement that has them, or one of another chat about the same. If it is not
clear what is meant, nothing changes. The first version is kept as history, marked as taken back.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import product

from graph.language.patterns import phrasing_list, phrasings
from graph.learning.plain_facts import facts
from graph.state import CITATION, USER, Ask, Revision
from graph.understanding.parts import tells
from graph.understanding.requests import Correction
from graph.understanding.sentences import capitalise, split
from graph.understanding.times import denied_times, stated_time, times_in
from memory.bank.bank import Bank
from memory.search.quotes import contains
from memory.search.tokens import content_terms, terms
from memory.types import SEMANTIC, SUMMARY, Hit, LearnedMemory, Memory, MemoryDraft, Quote, TimeSpan

RECENT = 8
"""Last statements of a chat that a message may correct by naming what is wrong."""

MOST_MEANT = 3
"""Most statements that one message may retract by naming them: "forget about Ann" must not empty a bank."""

LEAST_NAMED = 2
"""Words that a correction and a statement of another chat share at least."""

LEAST_REPEATED = 1 / 4
"""Share of a sentence's terms that a clause in its place repeats at least, or more would be lost than was wrong."""

_FORMS = phrasings("corrections")
_NAME = re.compile(r"(?<![.!?…]\s)(?<!^)\b(?!I\b|I')[A-Z][\w'-]+(?: [A-Z][\w'-]+)*")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,:]\d+)?(?![\w])")
_PARTS_OF_TIME = phrasing_list("corrections", "parts_of_time")


FindDerived = Callable[[Memory], Sequence[Memory]]
"""Finds all memories from the turns of a memory, including itself."""


def revise(parsed: Correction, ask: Ask, hits: Sequence[Hit], bank: Bank) -> Revision | None:
    """What a message corrects or retracts: of this chat's statements, or of what its replies quote or cite."""
    reply = next((turn.text for turn in reversed(ask.dialogue) if turn.role == "assistant"), "")
    quoted = [hit.memory for hit in hits if any(contains(reply, sentence) for sentence in split(hit.memory.text))]
    cited = bank.cited_in_chat(ask.persona.id, ask.chat_id)[: len(set(CITATION.findall(reply)))]
    recent = [m for m in bank.chat_memories(ask.persona.id, ask.chat_id, 2 * RECENT) if tells(m.text)][:RECENT]
    # What the last reply quotes or cites comes first: "no, ..." answers it, or else the statement before it.
    answered = [*(m for m in recent if contains(reply, m.text)), *quoted, *cited] or recent[:1]
    statements = answered
    if parsed.right and parsed.wrong:
        # "The dentist is on Friday, not Monday" says what it is about, too.
        named = frozenset((*content_terms(parsed.sentence), *terms(parsed.wrong)))
        own = (hit.memory for hit in hits if hit.memory.speaker == USER)
        denied = {time.span for time in denied_times(parsed.sentence, ask.as_of)}
        about = [m for m in own if len(named.intersection(terms(m.text))) + (m.event in denied) >= LEAST_NAMED]
        statements = _about_the_same(parsed, [*answered, *recent, *about])

    def derived(memory: Memory) -> Sequence[Memory]:
        return bank.memories_from_same_turns(ask.persona.id, memory.id)

    if parsed.right:
        return correct(parsed, statements, derived, ask.as_of)
    return retract(parsed, statements, hits, derived)


def _about_the_same(parsed: Correction, statements: list[Memory]) -> list[Memory]:
    """The statements that a correction may mean: without "no" or "sorry", only those about what it names itself.

    "We go to the zoo on Friday, not on Thursday" is news to a dentist's appointment on Thursday.
    """
    named = frozenset(content_terms(parsed.sentence)).difference(terms(parsed.right), terms(parsed.wrong))
    if not named or _FORMS["denies_alone"].match(parsed.sentence):
        return statements
    return [memory for memory in statements if named.intersection(terms(memory.text))]


def correct(
    correction: Correction, statements: Sequence[Memory], derived: FindDerived, now: datetime
) -> Revision | None:
    """Correct the first statement that the correction fits, and all memories from its turns."""
    for memory in _originals(statements, derived):
        corrected = _correct_text(correction, memory, now)
        if corrected and corrected != memory.text:
            known = [m for m in derived(memory) if m.retracted_at is None and m.attribute != SUMMARY]
            learned = tuple(_learn_again(correction, memory, corrected, known, now))
            replaced = {item.replaces for item in learned}
            wrong = [m for m in known if m.id not in replaced and _repeats_error(correction, m, memory, corrected)]
            return Revision((memory,), corrected, correction.sentence, learned, tuple(m.id for m in wrong))
    return None


def _originals(statements: Sequence[Memory], derived: FindDerived) -> Iterator[Memory]:
    """The statements, each once; a fact comes after the dialogue that it was learned from."""
    seen: set[int] = set()
    for memory in statements:
        dialogue = [m for m in derived(memory) if m.store == "dialogue"] if memory.store in SEMANTIC else []
        for each in (*dialogue, memory):
            if each.id not in seen and each.attribute != SUMMARY and each.retracted_at is None:
                seen.add(each.id)
                yield each


def retract(
    retraction: Correction, statements: Sequence[Memory], hits: Sequence[Hit], derived: FindDerived
) -> Revision | None:
    """Retract the last statement or, if the message names something, all statements and hits with those words."""
    targets = list(statements[:1])
    if retraction.wrong:
        named = frozenset(content_terms(retraction.wrong))
        candidates = [*statements, *(hit.memory for hit in hits)]
        targets = [m for m in candidates if named and named <= frozenset(content_terms(f"{m.text} {m.key}"))]
        if len({m.turn_ids or m.id for m in targets}) > MOST_MEANT:
            return Revision(tuple(targets), "", retraction.sentence)
    related = {m.id: m for memory in targets for m in (memory, *derived(memory))}
    taken = tuple(m.id for m in related.values() if m.retracted_at is None and m.attribute != SUMMARY)
    old = tuple({m.id: m for m in targets}.values())
    return Revision(old, "", retraction.sentence, retracted=taken) if taken else None


def _correct_text(correction: Correction, memory: Memory, now: datetime) -> str:
    """The corrected text of a memory; empty if the correction, said now, does not fit."""
    right = correction.right
    if correction.wrong:
        wrong = _wrong_words(correction.wrong, memory)
        if wrong is None:
            return _replace_denied_time(correction, memory, now)
        put = _without_repetition(right, wrong[0], memory)
        return memory.text[: wrong.start()] + put + memory.text[wrong.end() :]
    if _FORMS["clause"].match(right):
        return _replace_sentence(right, memory)
    return _replace_same_kind(right, memory)


def _wrong_words(wrong: str, memory: Memory) -> re.Match[str] | None:
    """Where a memory has the wrong words, or those of them before others that only say what it is about.

    "March for the twins" is wrong in "Ana expects twins in March".
    """
    words, about = wrong.split(), frozenset(content_terms(memory.text))
    for end in range(len(words), 0, -1):
        named = rf"(?<!\w){re.escape(' '.join(words[:end]))}(?!\w)"
        found = re.search(named, memory.text, re.IGNORECASE)
        if found and about.issuperset(content_terms(" ".join(words[end:]))):
            return found
    return None


def _replace_denied_time(correction: Correction, memory: Memory, now: datetime) -> str:
    """The text with the right time in place of the one that the correction denies in other words; empty without it.

    "Friday" is wrong in "My exam is on Friday" if that Friday is the 4th and the exam is on the 11th, not the 4th.
    """
    denied, right = denied_times(correction.sentence, now), stated_time(correction.right, now)
    places = [time for time in times_in(memory.text, memory.said_at) if time.span in {each.span for each in denied}]
    if right is None or len(places) != 1:
        return ""
    return memory.text[: places[0].start] + right.text + memory.text[places[0].end :]


def _without_repetition(right: str, wrong: str, memory: Memory) -> str:
    """The end of the right words that stands for the wrong ones, where what comes before it repeats the memory.

    For "Ana arrives on Saturday, not on Friday" and a memory about Ana it is "on Saturday".
    """
    words, first = right.split(), wrong.split()[0].casefold()
    alike = [place for place, word in enumerate(words) if word.casefold() == first]
    start = alike[-1] if alike else max(0, len(words) - len(wrong.split()))
    repeated = frozenset(content_terms(" ".join(words[:start]))) if start else frozenset[str]()
    return " ".join(words[start:]) if repeated & frozenset(content_terms(memory.text)) else right


def _replace_same_kind(right: str, memory: Memory) -> str:
    """The text with the right words in place of the only words of their kind: a time, a number or a name.

    Empty if they name what the text does not: "Ana's talk is at 12" says nothing of where a ship leaves from.
    """
    text, anchor = memory.text, memory.said_at
    times = times_in(text, anchor)
    for kind, part in product(_PARTS_OF_TIME, (right, _FORMS["before_time"].sub("", right))):
        places = [m for m in kind.finditer(text) if any(t.start < m.end() and m.start() < t.end for t in times)]
        if kind.fullmatch(part) and len(places) == 1:
            return text[: places[0].start()] + part + text[places[0].end() :]
    new = times_in(right, anchor)
    if new and _is_about(text, new[0].text, right):
        return text[: times[0].start] + new[0].text + text[times[0].end :] if len(times) == 1 else ""
    for kind in (_NUMBER, _NAME):
        value = kind.search(f" {right}")  # a name at the beginning is one here
        places = [m for m in kind.finditer(text) if not any(t.start < m.end() and m.start() < t.end for t in times)]
        if value and _is_about(text, value[0], right) and len(places) == 1:
            return text[: places[0].start()] + value[0].strip() + text[places[0].end() :]
    return ""


def _is_about(text: str, value: str, right: str) -> bool:
    """Whether the right words name nothing but a value and what the text names, too."""
    return frozenset(content_terms(right)) <= frozenset(terms(f"{text} {value}"))


def _replace_sentence(clause: str, memory: Memory) -> str:
    """The text with a clause in place of its sentence about the same: the one of which it repeats the largest share.

    All else that was told stays: "Lia can't have sesame. We go to the zoo on Sunday." keeps its first sentence.
    """
    shares = {sentence: _repeated_share(clause, sentence, memory) for sentence in split(memory.text)}
    about = max(shares, key=lambda sentence: shares[sentence])
    return memory.text.replace(about, f"{capitalise(clause)}.", 1) if shares[about] >= LEAST_REPEATED else ""


def _repeated_share(clause: str, sentence: str, memory: Memory) -> float:
    """The share of a sentence's terms that a clause repeats; 1 if both tell the same fact."""
    if memory.said_at is not None:
        stated = (facts(text, memory.speaker, memory.said_at) for text in (clause, sentence))
        about, known = ({(fact.store, fact.attribute) for fact in each if fact.attribute} for each in stated)
        if about & known:
            return 1.0
    told = frozenset(content_terms(sentence))
    return len(told & frozenset(content_terms(clause))) / max(1, len(told))


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
        text = _correct_text(correction, event, now) if event.store == "event" and not event.attribute else ""
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
    names_wrong = bool(correction.wrong) and contains(known.text, correction.wrong)
    return names_wrong or not gone.isdisjoint(terms(known.text))
