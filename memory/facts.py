"""Facts in a person's own words: a few plain forms in which people state what holds of them.

Each fact carries the words it was read from. A form that may mean something else ("I'm a bit tired") is left out:
a fact that is missed can still be found in the dialogue, a wrong one misleads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from memory.types import MemoryDraft, Store

_WHAT = r"(?P<what>[^.,;!?\n]{1,80}?)"
_END = r"(?=$|[.,;!?\n]|\s+(?:and|but|because|since|so|now|with|these days|at the moment|last|this|yesterday|today)\b)"
_KIN = (
    "mother|mum|mom|father|dad|sister|brother|wife|husband|partner|girlfriend|boyfriend|son|daughter|grandmother|"
    "grandfather|grandma|grandpa|aunt|uncle|cousin|niece|nephew|friend|best friend|boss|manager|colleague|neighbour|"
    "neighbor|flatmate|roommate|teacher|doctor|dentist|dog|cat|puppy|kitten"
)


@dataclass(frozen=True, slots=True)
class Form:
    """A way of stating a fact: its pattern, its store, what it is about, and how it is written down.

    Only one fact of an `attribute` holds at a time; where several may ("my sister ..."), it is empty.
    """

    pattern: re.Pattern[str]
    store: Store
    attribute: str
    text: str


def _form(pattern: str, store: Store, attribute: str, text: str) -> Form:
    return Form(re.compile(pattern, re.I), store, attribute, text)


FORMS: tuple[Form, ...] = (
    _form(rf"\bmy name is {_WHAT}{_END}", "profile", "name", "Name: {what}"),
    _form(rf"\bI(?: now)? live in {_WHAT}{_END}", "profile", "home", "Lives in {what}"),
    _form(rf"\bI(?:'ve| have)?(?: just| recently)? moved to {_WHAT}{_END}", "profile", "home", "Lives in {what}"),
    _form(rf"\bI(?: now)? work as (?:an? )?{_WHAT}{_END}", "profile", "occupation", "Works as {what}"),
    _form(rf"\bI(?: now)? work (?:at|for) {_WHAT}{_END}", "profile", "employer", "Works at {what}"),
    _form(rf"\bmy birthday is(?: on)? (?:the )?{_WHAT}{_END}", "profile", "birthday", "Birthday: {what}"),
    _form(
        rf"\bmy favou?rite (?P<kind>\w[\w ]{{1,30}}?) is {_WHAT}{_END}",
        "profile",
        "favourite {kind}",
        "Favourite {kind}: {what}",
    ),
    _form(
        rf"\bmy (?P<kind>{_KIN})(?: is called| is named|'s name is|’s name is) {_WHAT}{_END}",
        "relationship",
        "",
        "{what} is the {kind} of {speaker}",
    ),
    _form(
        rf"\bmy (?P<kind>{_KIN}),? (?-i:(?P<what>[A-Z]\w+))", "relationship", "", "{what} is the {kind} of {speaker}"
    ),
)

_UNSURE = re.compile(r"\?|\b(?:if|not|never|used to|would|wish|might|maybe|n't)\b|n['’]t\b", re.I)


def facts(text: str, speaker: str, said_at: datetime) -> Iterator[MemoryDraft]:
    """The facts that a statement by `speaker` holds of them; none from a sentence that is unsure or asks."""
    for sentence in re.split(r"(?<=[.!?])\s+|\n", text):
        if _UNSURE.search(sentence):
            continue
        for form in FORMS:
            for found in form.pattern.finditer(sentence):
                words = {name: value.strip() for name, value in found.groupdict().items()}
                if not words["what"]:
                    continue
                filled = form.text.format(speaker=speaker, **words)
                yield MemoryDraft(
                    form.store,
                    filled,
                    key=f"{filled}. {sentence.strip()}",
                    said_at=said_at,
                    speaker=speaker,
                    attribute=form.attribute.format(**words).casefold(),
                )
