"""Read facts from plain forms of statements ("I live in Porto").

Each fact carries the words it was read from. A form that may mean something else ("I'm a bit tired", "I moved to the
sofa") is left out: a fact that is missed can still be found in the dialogue, a wrong one misleads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from memory.bank.relations import YOU
from memory.dates.expressions import find_times
from memory.types import MemoryDraft, Relation, Store, TimeSpan

_PROPER = (
    r"(?-i:(?P<what>(?:(?:Mr|Mrs|Ms|Dr|Prof|St)\.? )?[A-Z][\w'-]*"
    r"(?:(?: (?:de|del|da|do|du|la|le|of|on|the|upon|van|von|der|and the))* [A-Z][\w'-]*)*))"
)
"""A name: capitalised words, and the small ones between them ("Isle of Man"). Lower-case words may be anything."""
_WHAT = r"(?P<what>[^.,;!?\n]{1,80}?)"
_END = r"(?=$|[.,;!?\n]|\s+(?:and|but|because|since|so|now|with|these days|at the moment|last|this|yesterday|today)\b)"
_THINGS = r"(?P<what>[^.;!?\n]{1,80}?)(?=$|[.;!?\n]|,?\s+(?:but|because|since|so|now|which|these days)\b)"
_JOB_END = rf"(?:{_END}|(?=\s+(?:at|for|in|on)\b))"
_FAMILY = (
    "mother|mum|mom|father|dad|sister|brother|wife|husband|partner|girlfriend|boyfriend|son|daughter|grandmother|"
    "grandfather|grandma|grandpa|aunt|uncle|cousin|niece|nephew"
)
_KIN = (
    f"{_FAMILY}|friend|best friend|boss|manager|colleague|neighbour|neighbor|flatmate|roommate|teacher|doctor|dentist|"
    "dog|cat|puppy|kitten"
)
_NO_NAME = (
    r"(?!(?:I|It|He|She|They|You|We|My|This|That|These|Those|Here|There|One|Who|What|Which|Mine|So|And|But|Well|Now|"
    r"Then|Also|Yes|No|Oh|Today|Because|Since|As)\b)"
)
"""Words that begin a sentence with a capital and are no name."""
_TYPED_NAME = (
    r"(?P<what>(?!(?:on|in|at|by|of|to|not|no|the|an?|my|your|this|that|what|it|so|too|very|just|still|also|now|spel\w+"
    r"|later|maybe|back|again|soon|tonight|today|tomorrow|anytime|when|if|crazy|old)\b)(?-i:[a-z])[\w'-]+)"
    r"(?=\W*\Z|[,.;!?]| and\b| but\b| btw\b)"
)
"""A name in any case where nothing else is likely: "my name is anna", but not "my name is on the list"."""
_DATE = (
    r"(?P<what>[^.,;!?\n]{0,30}?\b(?:\d{1,2}(?:st|nd|rd|th)?|January|February|March|April|May|June|July|August|September"
    r"|October|November|December)\b[^.,;!?\n]{0,30}?)"
)


@dataclass(frozen=True, slots=True)
class Form:
    """A way of stating a fact: its pattern, its store, what it is about, and how it is written down.

    Only one fact of an `attribute` holds at a time; where several may ("my sister ..."), it is empty. A form that
    `begins` tells when the fact came to hold, if it names a time ("I moved to Porto in 2019").
    """

    pattern: re.Pattern[str]
    store: Store
    attribute: str
    text: str
    begins: bool = False


def _form(pattern: str, store: Store, attribute: str, text: str, *, begins: bool = False) -> Form:
    return Form(re.compile(pattern, re.I), store, attribute, text, begins)


Fact = tuple[Store, str, str]
"""The store, the attribute and the text of a form."""

_NAME: Fact = ("profile", "name", "Name: {what}")
_HOME: Fact = ("profile", "home", "Lives in {what}")
_OCCUPATION: Fact = ("profile", "occupation", "Works as {what}")
_EMPLOYER: Fact = ("profile", "employer", "Works at {what}")
_FAVOURITE: Fact = ("profile", "favourite {kind}", "Favourite {kind}: {what}")
_RELATION: Fact = ("relationship", "", "{what} is {whose} {kind}")

FORMS: tuple[Form, ...] = (
    _form(rf"\b(?:my name(?:'?s| is)|I(?:'?m| am) called|call me) {_PROPER}", *_NAME),
    _form(rf"\b(?:my name(?:'?s| is)|I(?:'?m| am) called|call me) {_TYPED_NAME}", *_NAME),
    _form(rf"\A\W*(?:hi|hello|hey)(?: there)?,? I(?:'?m| am) {_NO_NAME}{_PROPER}(?=\W*\Z|[,.;!])", *_NAME),
    _form(rf"\bI(?: now)? live in {_PROPER}", *_HOME),
    _form(rf"\b(?:I|we)(?:'ve| have)?(?: just| recently)? moved(?: back)? to {_PROPER}", *_HOME, begins=True),
    _form(rf"\bI(?: now)? work as (?:an? )?{_WHAT}{_JOB_END}", *_OCCUPATION),
    _form(rf"\bI(?: now)? work (?:at|for) (?:the )?{_PROPER}", *_EMPLOYER),
    _form(rf"\bmy birthday is(?: on)? (?:the )?{_DATE}{_END}", "profile", "birthday", "Birthday: {what}"),
    _form(rf"\bmy favou?rite (?P<kind>\w[\w ]{{1,30}}?) is(?: now)? {_WHAT}{_END}", *_FAVOURITE),
    _form(rf"\bmy (?P<kind>{_KIN})(?: is called| is named|'s name is|,)? {_PROPER}", *_RELATION),
    _form(rf"\bI(?:'ve got| have| have got) an? (?:\w+ )?(?P<kind>{_KIN}) (?:called|named) {_PROPER}", *_RELATION),
    # Not of friends: music and coffee are many people's best.
    _form(
        rf"\b{_NO_NAME}{_PROPER} is my (?:(?:older|elder|younger|big|little) )?(?P<kind>{_FAMILY})(?![\w'-])",
        *_RELATION,
    ),
    _form(rf"\bI(?:'m| am) allergic to {_THINGS}", "profile", "", "Allergic to {what}"),
    _form(rf"\bI was born in {_PROPER}", "profile", "birthplace", "Born in {what}"),
)

_NO_MORE = r"\bI(?: no longer| don't| do not)"
_LEFT = r"\bI(?:'ve| have)?(?: just)? (?:quit|left) my (?:job|position)"
ENDINGS: tuple[Form, ...] = (
    _form(rf"{_NO_MORE} live in {_PROPER}", *_HOME, begins=True),
    _form(rf"\b(?:I|we)(?:'ve| have)? moved (?:away from|out of) {_PROPER}", *_HOME, begins=True),
    _form(rf"{_NO_MORE} work (?:at|for) (?:the )?{_PROPER}", *_EMPLOYER, begins=True),
    _form(rf"{_LEFT} (?:at|with) (?:the )?{_PROPER}", *_EMPLOYER, begins=True),
    _form(rf"{_NO_MORE} work as (?:an? )?{_WHAT}{_JOB_END}", *_OCCUPATION, begins=True),
)
"""Ways of saying that a fact of these words is so no more."""

_POSSESSIVE = re.compile(r"'s\Z")
_ASKS = re.compile(r"\?|\b(?:if|never|used to|would|wish|might|maybe)\b", re.I)
_UNSURE = re.compile(r"\?|\b(?:if|not|never|used to|would|wish|might|maybe)\b|n't\b", re.I)
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bProf\.)(?<!\bSt\.)\s+|\n")


def facts(text: str, speaker: str, said_at: datetime) -> Iterator[MemoryDraft]:
    """The facts that a statement says about its speaker; none from sentences that ask or are unsure."""
    return _read(FORMS, _UNSURE, text, speaker, said_at)


def endings(text: str, speaker: str, said_at: datetime) -> Iterator[MemoryDraft]:
    """The facts that a statement ends; `valid_from` is since when, if it says so."""
    return _read(ENDINGS, _ASKS, text, speaker, said_at)


def _read(
    forms: Iterable[Form], unsure: re.Pattern[str], text: str, speaker: str, said_at: datetime
) -> Iterator[MemoryDraft]:
    head, whose = (YOU, "your") if speaker.casefold() == "you" else (speaker, f"{speaker}'s")
    for sentence in _SENTENCE.split(text.replace("’", "'")):
        if unsure.search(sentence):
            continue
        for form in forms:
            for match in form.pattern.finditer(sentence):
                words = {name: _POSSESSIVE.sub("", value.strip()) for name, value in match.groupdict().items()}
                if form.attribute == "name":
                    words["what"] = words["what"][0].upper() + words["what"][1:]
                filled = form.text.format(whose=whose, **words)
                attribute = form.attribute.format(**words).casefold()
                relation = attribute or words.get("kind", "")
                since = _since(sentence, said_at) if form.begins else None
                yield MemoryDraft(
                    form.store,
                    filled,
                    key=f"{filled}. {sentence.strip()}",
                    said_at=said_at,
                    valid_from=min(since.start, said_at) if since else None,
                    speaker=speaker,
                    attribute=attribute,
                    relation=Relation(head, relation, words["what"]) if relation else None,
                )


def _since(sentence: str, said_at: datetime) -> TimeSpan | None:
    """The time that a sentence names, if it names one and for sure."""
    times = find_times(sentence, said_at)
    return times[0].span if len(times) == 1 and times[0].sure and times[0].relation == "in" else None
