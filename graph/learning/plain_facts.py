"""Read facts from plain forms of statements ("I live in Porto").

Each fact carries the words it was read from. A form that may mean something else ("I'm a bit tired", "I moved to the
sofa") is left out: a fact that is missed can still be found in the dialogue, a wrong one misleads.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache

from graph.language.facts import FactKind, Form, forms
from graph.language.patterns import load, pattern, phrasings
from graph.language.people import capitalise_names, words_for
from graph.understanding.sentences import LOWER_CASE_END, split
from graph.understanding.times import times_in
from memory.bank.relations import YOU
from memory.types import MemoryDraft, Relation, TimeSpan

_FORMS = phrasings("statements")

LONGEST = 500
"""Characters of a sentence that are read; a longer one is hardly said of oneself."""

_REPLACED = [(pattern(source), plain) for source, plain in load("phrasings.toml")["plain_words"]["replaced"]]

_OTHER = ("bother", "fiend")
_KEYWORDS = [word for word in words_for("family", "around") if len(word) > 5]
_KEYWORDS += ["friend", "teacher", "birthday", "allergic", "favourite"]
"""Words that are spelled right, and words that are one letter away from one of them and are none."""
CLOSE = 0.83
"""Share of letters in the same order from which a word is a keyword spelled wrongly: "freind" has .83."""
_WORD = pattern(r"(?<=\bmy )[a-z]{5,}\b|\ba[a-z]{5,}(?= to\b)|(?<=\b(?:my|an|is) )[a-z]{5,}\b")


def plain_words(sentence: str) -> str:
    """The sentence with its apostrophes restored, known words spelled right, and plain verbs for liking."""
    text = sentence.replace("’", "'").replace("`", "'")
    if text.isupper():
        text = text.lower()
    text = _WORD.sub(lambda match: _spelled(match[0]), text)
    for each, plain in _REPLACED:
        text = each.sub(plain, text)
    return text


def facts(text: str, speaker: str, said_at: datetime, *, ends: bool = False) -> Iterator[MemoryDraft]:
    """The facts that a statement says about its speaker; none from sentences that ask or are unsure.

    With `ends`, those that it ends; `valid_from` is since when, if it says so.
    """
    among = [form for form in forms() if form.ends == ends]
    for sentence in split(_FORMS["goes_on"].sub(", ", text), LOWER_CASE_END):
        plain = plain_words(sentence[:LONGEST])
        named = capitalise_names(plain)
        if "?" in sentence or _FORMS["unreal"].search(plain):
            continue
        seen: set[str] = set()
        for form in among:
            spoken = named if form.kind.store == "relationship" or form.relation == "name" else plain
            for match in form.pattern.finditer(spoken):
                if _is_unsure(spoken, match, form):
                    continue
                for draft in _drafts(form, match, sentence, speaker, said_at):
                    if draft.text.casefold() not in seen:
                        seen.add(draft.text.casefold())
                        yield draft


@lru_cache(maxsize=4096)
def _spelled(word: str) -> str:
    """The keyword that a word is close to, of about its length; else the word."""
    if word in _OTHER or word.endswith("s"):
        return word
    alike = [keyword for keyword in _KEYWORDS if word[0] == keyword[0] and abs(len(word) - len(keyword)) < 2]
    return next(iter(get_close_matches(word, alike, 1, CLOSE)), word)


def _is_unsure(sentence: str, match: re.Match[str], form: Form) -> bool:
    """Whether the sentence supposes what a form matched, or its clause denies it or leaves it open."""
    if form.given:
        return False
    before = sentence[: match.start()]
    start = max((boundary.end() for boundary in _FORMS["boundary"].finditer(before)), default=0)
    after = _FORMS["boundary"].search(sentence, match.end())
    clause = sentence[start : after.start() if after else len(sentence)]
    # A name may be a verb elsewhere: "my son is called Will".
    clause = clause.replace(match["what"], "")
    return bool(_FORMS["supposed"].search(before) or (not form.ends and _FORMS["unsure"].search(clause)))


def _drafts(form: Form, match: re.Match[str], sentence: str, speaker: str, said_at: datetime) -> Iterator[MemoryDraft]:
    """The facts that a form found: one, or one for each value of a list ("my cats Miso and Tofu")."""
    groups = match.groupdict()
    head, whose = (YOU, "your") if speaker.casefold() == "you" else (speaker, f"{speaker}'s")
    if other := groups.get("head"):
        head, whose = other, f"{other}'s"
    kind = " ".join((groups.get("kind") or "spouse").split())
    found = match["what"].strip()
    is_tie = form.kind.store == "relationship"
    since = _since(sentence, said_at) if form.dated else None
    values = _values(form.kind, found)
    is_only = form.kind.one or form.ends or (is_tie and len(values) == 1 and _is_only(kind, match[0]))
    for what in values:
        if form.kind.named and what.islower():
            what = " ".join(word[:1].upper() + word[1:] for word in what.split())
        if form.relation == "birthday" and what in ("today", "tomorrow"):
            day = said_at + timedelta(days=what == "tomorrow")
            what = f"{day.day} {day:%B}"
        relation = _singular(kind) if is_tie else form.relation.format(kind=kind).casefold()
        filled = form.kind.stored.format(whose=whose, kind=relation.removeprefix("favourite "), what=what)
        yield MemoryDraft(
            form.kind.store,
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
    return _FORMS["one_at_a_time"].fullmatch(kind) is not None and not _FORMS["not_only"].search(words)


def _values(kind: FactKind, found: str) -> list[str]:
    """The values that are listed; of some kinds only where each is short and none is a part of one thing or name."""
    parts = [_FORMS["how_well"].sub("", part) for part in _FORMS["list"].split(found)]
    if kind.listed == "each":
        return parts
    if not kind.listed or _FORMS["one_thing"].search(found) or any(len(part.split()) > 2 for part in parts):
        return [found]
    is_name = "," not in found and all(part[:1].isupper() for part in parts)
    return [found] if is_name else parts


def _singular(kind: str) -> str:
    return "child" if kind.casefold() in ("kid", "child") else kind.replace("puppie", "puppy")


def _since(sentence: str, said_at: datetime) -> TimeSpan | None:
    """The time that a sentence names, if it names one and for sure."""
    times = times_in(sentence, said_at)
    return times[0].span if len(times) == 1 and times[0].sure and times[0].relation == "in" else None
