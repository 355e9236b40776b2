"""The facts that a text tells of its speaker ("I live in Porto"), as memories with the sentences that tell them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from difflib import get_close_matches

from graph.language.facts import FACTS
from graph.language.patterns import phrasings
from graph.language.people import RELATIONS
from graph.learning.fact_reader import ARTICLES, PERSON, ReadFact, read
from graph.understanding.sentences import spans
from graph.understanding.times import times_in
from memory.bank.relations import YOU
from memory.dates.expressions import TimeExpression
from memory.types import LearnedMemory, MemoryDraft, Quote, Relation

_FORMS = phrasings("statements")
_SMALL = ARTICLES | {"my", "our", "his", "her", "their", "of", "in", "on", "at", "by", "and", "de", "la"}
_IRREGULAR = {"kids": "child", "children": "child", "puppies": "puppy", "wives": "wife"}

CLOSE, SHORTEST_CORRECTED = 0.83, 6
"""Share of letters in the same order from which a word is another spelled wrongly, and the fewest letters of one."""


def facts(text: str, speaker: str, said_at: datetime) -> list[MemoryDraft]:
    """The facts that a text tells of its speaker and that hold."""
    return [fact.memory for fact in facts_and_ends(text, speaker, said_at) if not fact.ends]


def facts_and_ends(text: str, speaker: str, said_at: datetime) -> list[LearnedMemory]:
    """The facts that a text tells of its speaker, those that it ends first."""
    return list(stated_facts(text, read([text])[0], speaker, said_at, 0, ()))


def stated_facts(
    text: str, found: Sequence[ReadFact], speaker: str, said_at: datetime, place: int, present: Collection[str]
) -> Iterator[LearnedMemory]:
    """The facts that were read in a text as memories, those that it ends first; `place` is that of its turn.

    Those present are spoken to: "my father, Ida, laughs a lot" tells her of a father and does not make her one.
    """
    seen: set[str] = set()
    for fact in sorted(found, key=lambda fact: not fact.ended):
        words = _sentences(text, fact.place)
        draft = _draft(fact, words, speaker, said_at)
        tail = draft.relation.tail if draft.relation and draft.store == "relationship" else ""
        if draft.text.casefold() not in seen and tail not in present:
            seen.add(draft.text.casefold())
            yield LearnedMemory(draft, (Quote(place, words),), ends=fact.ended)


def _sentences(text: str, place: tuple[int, int]) -> str:
    """The sentences of a text that have characters from the first to the last of a place."""
    within = [(start, end) for start, end in spans(text) if start < place[1] and end > place[0]]
    return text[within[0][0] : within[-1][1]] if within else text


def _draft(fact: ReadFact, words: str, speaker: str, said_at: datetime) -> MemoryDraft:
    """A fact as a memory, said in some words."""
    head, whose = (YOU, "your") if speaker.casefold() == "you" else (speaker, f"{speaker}'s")
    if fact.whose:
        head = _as_name(fact.whose)
        whose = f"{head}'s"
    kind, what = FACTS[fact.relation], fact.what
    if kind.named:
        what = _as_name(what)
    elif kind.plain:
        what = _in_sentence(what)
        what = "siblings" if what.endswith("only child") else what  # that one is so is to have none
    times = [time for time in times_in(words, said_at) if time.sure and time.relation == "in"]
    if fact.relation == "birthday" and not any(letter.isdigit() for letter in what):
        days = [time.span.start for time in times if time.text in what]
        what = f"{days[0].day} {days[0]:%B}" if days else what
    is_tie = fact.relation == PERSON
    relation = _plain_kind(fact.kind) if is_tie else fact.relation.format(kind=fact.kind).casefold()
    filled = kind.stored.format(whose=whose, kind=relation.removeprefix("favourite "), what=what)
    is_only = kind.one or fact.ended or (is_tie and _is_only(relation, words))
    since = _since(fact, words, times) if kind.since or fact.ended else None
    return MemoryDraft(
        kind.store,
        filled,
        key=f"{filled}. {words.strip()}",
        said_at=said_at,
        valid_from=min(since, said_at) if since else None,
        speaker=speaker,
        attribute=(f"{head}'s {relation}" if fact.whose else relation).casefold() if is_only else "",
        relation=Relation(head, relation, what),
    )


def _is_only(kind: str, words: str) -> bool:
    """Whether somebody named is the only one of a kind now, unlike "my colleague", "my late wife", "my other boss"."""
    return _FORMS["one_at_a_time"].fullmatch(kind) is not None and not _FORMS["not_only"].search(words)


def _plain_kind(kind: str) -> str:
    """The word for one of several, spelled right: "cat" for "cats", "friend" for "Freind"."""
    kind = _in_sentence(kind)
    word = _IRREGULAR.get(kind, kind if kind in RELATIONS or kind[:-1] not in RELATIONS else kind.removesuffix("s"))
    if word.casefold() in RELATIONS or len(word) < SHORTEST_CORRECTED:
        return word
    alike = [known for known in RELATIONS if known[0] == word[0] and abs(len(known) - len(word)) < 2]
    return next(iter(get_close_matches(word, alike, 1, CLOSE)), word)


def _as_name(words: str) -> str:
    """A name that is typed in lower case with its capitals: "Isle of Man", but "the bakery"."""
    parts = words.split()
    if not words.islower() or parts[0] in _SMALL:
        return words
    return " ".join(part if part in _SMALL else part[:1].upper() + part[1:] for part in parts)


def _in_sentence(words: str) -> str:
    """Words without the capital of a sentence's start: "wife" for "Wife", but "GP"."""
    return words[:1].lower() + words[1:] if words[1:].islower() else words


def _since(fact: ReadFact, words: str, times: Iterable[TimeExpression]) -> datetime | None:
    """The time that is named in the clause of a fact, if it is the only one."""
    at = words.find(fact.what)
    near = [
        time
        for time in times
        if not _FORMS["boundary"].search(words, min(at + len(fact.what), time.end), max(at, time.start))
    ]
    return near[0].span.start if len(near) == 1 else None
