"""Read facts from plain forms of statements ("I live in Porto").

Each fact carries the words it was read from. A form that may mean something else ("I'm a bit tired", "I moved to the
sofa") is left out: a fact that is missed can still be found in the dialogue, a wrong one misleads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from graph.learning.fact_slots import ONE_AT_A_TIME
from graph.learning.plain_words import plain_words, with_names
from memory.bank.relations import YOU
from memory.dates.expressions import find_times
from memory.types import MemoryDraft, Relation, TimeSpan

if TYPE_CHECKING:
    from graph.learning.fact_forms import Form

_POSSESSIVE = re.compile(r"'s\Z")
_LIST = re.compile(r",? (?:and|or|&) (?:also )?(?:to )?|, ")
_SEVERAL = ("allergy", "has", "has no", "speaks")
_KINDS = ("likes", "dislikes")
_ONE_THING = re.compile(
    r"\b(?:rock (?:and|&) roll|(?:drum|rhythm) (?:and|&) (?:bass|blues)|fish (?:and|&) chips|mac (?:and|&) cheese"
    r"|gin (?:and|&) tonic|peanut butter (?:and|&) jelly|bangers (?:and|&) mash|arts (?:and|&) crafts"
    r"|salt (?:and|&) vinegar|dungeons (?:and|&) dragons|black (?:and|&) white|peace (?:and|&) quiet)\b",
    re.IGNORECASE,
)
"""What is one thing in two words."""
_PART = re.compile(r"(?:(?:a (?:bit|little)(?: of)?|some|fluent|basic|broken|good) )+", re.IGNORECASE)
"""How well somebody speaks a language."""
_NAMED = ("name", "home", "employer", "origin", "birthplace", "speaks")
"""Relations to what has a name, which is stored with a capital."""

_NOT_ONLY = frozenset({"late", "old", "other"})
"""Words for somebody who is not the only one now."""

LONGEST = 500
"""Characters of a sentence that are read; a longer one is hardly said of oneself."""

_UNREAL = re.compile(
    r"\b(?:imagine|pretend\w*|suppos\w+|let'?s say|dream\w*|game|story|novel|movie|character\w*|kidding|joking|jk"
    r"|hypothetical\w*|april fool\w*)\b",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(r"\b(?:if|unless|wish|thought|say that|says|claims?)\b", re.IGNORECASE)
_UNSURE = re.compile(
    r"\b(?:not|never|no longer|used to|would|could|should|might|(?-i:may|will)|maybe|perhaps|probably|possibly|almost"
    r"|nearly|wanna|want to|wants? me|going to|gonna|about to|hop(?:e|ing) to|plan(?:ning)?|thinking|supposed to)\b"
    r"|n't\b|'ll\b|\bI'd\b",
    re.IGNORECASE,
)
_NOT_SO_HERE = re.compile(r"\b(?:if|would|wish|might|maybe|never|used to)\b", re.IGNORECASE)
_BOUNDARY = re.compile(r"[,;:()–—]|\b(?:but|and|because|cos|so|since|although|though|while|which|who)\b", re.IGNORECASE)
_GOES_ON = re.compile(r"[.!]+\s+(?=(?:he|she|it)(?:'s|s| is) (?:called|named)\b)", re.IGNORECASE)
"""The end of a sentence whose somebody the next one names: "we got a kitten! she's called Biscuit"."""
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bProf\.)(?<!\bSt\.)\s+|\n")


def facts(text: str, speaker: str, said_at: datetime) -> Iterator[MemoryDraft]:
    """The facts that a statement says about its speaker; none from sentences that ask or are unsure."""
    from graph.learning.fact_forms import (
        FORMS,
    )  # a third of a second to compile: not before it is needed

    return _read(FORMS, text, speaker, said_at, ending=False)


def endings(text: str, speaker: str, said_at: datetime) -> Iterator[MemoryDraft]:
    """The facts that a statement ends; `valid_from` is since when, if it says so."""
    from graph.learning.fact_forms import ENDINGS

    return _read(ENDINGS, text, speaker, said_at, ending=True)


def _read(forms: Iterable[Form], text: str, speaker: str, said_at: datetime, *, ending: bool) -> Iterator[MemoryDraft]:
    for sentence in _SENTENCE.split(_GOES_ON.sub(", ", text)):
        plain = plain_words(sentence[:LONGEST])
        named = with_names(plain)
        if "?" in sentence or _UNREAL.search(plain):
            continue
        seen: set[str] = set()
        for form in forms:
            spoken = named if form.is_of_people else plain
            for match in form.pattern.finditer(spoken):
                if _is_unsure(spoken, match, form, ending=ending):
                    continue
                for draft in _drafts(form, match, sentence, speaker, said_at):
                    if draft.text.casefold() not in seen:
                        seen.add(draft.text.casefold())
                        yield draft


def _is_unsure(sentence: str, match: re.Match[str], form: Form, *, ending: bool) -> bool:
    """Whether the sentence supposes what a form matched, or its clause denies it or leaves it open."""
    if form.presupposes:
        return False
    before = sentence[: match.start()]
    if ending:
        return bool(_NOT_SO_HERE.search(sentence))
    start = max((boundary.end() for boundary in _BOUNDARY.finditer(before)), default=0)
    after = _BOUNDARY.search(sentence, match.end())
    clause = sentence[start : after.start() if after else len(sentence)]
    # A name may be a verb elsewhere: "my son is called Will".
    clause = clause.replace(match["what"], "")
    return bool(_SUPPOSED.search(before) or _UNSURE.search(clause))


def _drafts(form: Form, match: re.Match[str], sentence: str, speaker: str, said_at: datetime) -> Iterator[MemoryDraft]:
    """The facts that a form found: one, or one for each value of a list ("my cats Miso and Tofu")."""
    groups = match.groupdict()
    head, whose = (YOU, "your") if speaker.casefold() == "you" else (speaker, f"{speaker}'s")
    if other := groups.get("head"):
        head, whose = other, f"{other}'s"
    kind = " ".join((groups.get("kind") or "spouse").split())
    found = _POSSESSIVE.sub("", match["what"].strip())
    is_tie = form.store == "relationship"
    since = _since(sentence, said_at) if form.begins else None
    values = _LIST.split(found) if is_tie else _values(form.relation, found)
    is_only = form.exclusive or (is_tie and len(values) == 1 and _is_only(kind, match[0]))
    for what in values:
        if is_tie or form.relation in _NAMED:
            what = " ".join(word[:1].upper() + word[1:] for word in what.split()) if what.islower() else what
        if form.relation == "birthday" and what in ("today", "tomorrow"):
            day = said_at + timedelta(days=what == "tomorrow")
            what = f"{day.day} {day:%B}"
        relation = form.relation.format(kind=kind).casefold() if not is_tie else _singular(kind)
        filled = form.text.format(whose=whose, kind=relation.removeprefix("favourite "), what=what)
        yield MemoryDraft(
            form.store,
            filled,
            key=f"{filled}. {sentence.strip()}",
            said_at=said_at,
            valid_from=min(since.start, said_at) if since else None,
            speaker=speaker,
            attribute=(f"{other}'s {relation}" if other else relation).casefold() if is_only else "",
            relation=Relation(head, relation, what),
        )


def _is_only(kind: str, words: str) -> bool:
    """Whether somebody named is the only one of a kind now, unlike "my colleague", "my late wife", "my other boss"."""
    return kind.casefold() in ONE_AT_A_TIME and _NOT_ONLY.isdisjoint(words.casefold().split())


def _values(relation: str, found: str) -> list[str]:
    """The values that are listed; what one likes only where each is short and none is a part of one thing or name."""
    parts = [_PART.sub("", part) for part in _LIST.split(found)] if relation == "speaks" else _LIST.split(found)
    if relation in _SEVERAL:
        return parts
    if relation not in _KINDS or _ONE_THING.search(found) or any(len(part.split()) > 2 for part in parts):
        return [found]
    is_name = "," not in found and all(part[:1].isupper() for part in parts)
    return [found] if is_name else parts


def _singular(kind: str) -> str:
    return "child" if kind.casefold() in ("kid", "child") else kind.replace("puppie", "puppy")


def _since(sentence: str, said_at: datetime) -> TimeSpan | None:
    """The time that a sentence names, if it names one and for sure."""
    times = find_times(sentence, said_at)
    return times[0].span if len(times) == 1 and times[0].sure and times[0].relation == "in" else None
