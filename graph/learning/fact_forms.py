"""The forms in which people state facts about themselves ("I live in Porto", "my sister Wen").

Forms are matched against a sentence that `graph.learning.plain_words` has put into plain words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from graph.learning.fact_slots import (
    ANIMAL,
    ANY_JOB,
    ANY_NAME,
    ANY_PLACE,
    AT_WORK,
    BARE,
    CHIEFS,
    DATE,
    DEMONYM,
    END,
    FAMILY,
    JOB,
    JOBS,
    JOKES,
    LANGUAGES,
    LOWER,
    LOWER_PLACE,
    MY,
    NO_PEOPLE,
    NONE_OF,
    NUMBERED,
    OWN,
    PEOPLE,
    PERSON,
    PLACE_NAME,
    QUALITY,
    ROLE,
    SOFTWARE,
    SUBJECT,
    SURE_PLACE,
    TIE,
    WHO,
    WORKPLACE,
)
from memory.types import Store


@dataclass(frozen=True, slots=True)
class Form:
    """A way of stating a fact: its pattern, its store, its relation to the speaker, and how it is written down.

    Only one fact of an `exclusive` relation holds at a time. A form that `begins` tells when the fact came to hold, if
    it names a time ("I moved to Porto in 2019"). What a form `presupposes` is so even where the sentence denies or
    supposes something ("my sister Wen might not come").
    """

    pattern: re.Pattern[str]
    store: Store
    relation: str
    text: str
    exclusive: bool = False
    begins: bool = False
    presupposes: bool = False

    @property
    def is_of_people(self) -> bool:
        """Whether its value is the name of a person or an animal."""
        return self.store == "relationship" or self.relation == "name"


def _form(store: Store, relation: str, text: str, pattern: str, **how: bool) -> Form:
    return Form(re.compile(pattern, re.IGNORECASE), store, relation, text, **how)


_profile = partial(_form, "profile")
_name = partial(_profile, "name", "Name: {what}", exclusive=True)
_home = partial(_profile, "home", "Lives in {what}", exclusive=True)
_occupation = partial(_profile, "occupation", "Works as {what}", exclusive=True)
_employer = partial(_profile, "employer", "Works at {what}", exclusive=True)
_birthday = partial(_profile, "birthday", "Birthday: {what}", exclusive=True)
_favourite = partial(_profile, "favourite {kind}", "Favourite {kind}: {what}", exclusive=True)
_status = partial(_profile, "marital status", "Marital status: {what}", exclusive=True)
_tie = partial(_form, "relationship", "{kind}", "{what} is {whose} {kind}")

_INTRODUCED = r"(?=\W*\Z|[,.;!)]| and\b| btw\b| by the way\b| here\b)"
_LASTS = r"(?=.{0,40}\b(?:for|since|all my life|now|the past|ever)\b)"
_WORKING = r"\b(?:I(?: now| still| currently)? work|I'm(?: now| still| currently)? working|I've been working)"
_STARTED = (
    rf"{SUBJECT}(?:got|landed|started|found|took)(?: (?:work(?:ing)?|(?:an?|my|another)(?: new)?(?: \w+)? "
    r"(?:job|position|role)))?"
)
_FIRM = r"(?:the )?"
_HOW_MUCH = r"\bI(?: absolutely| really| just| do| also| still)*"

_NOBODY_ELSE = (
    rf"(?:(?!\b(?:{FAMILY}|{ROLE}|{ANIMAL}|guy|man|girl|boy|woman|lady|bloke|someone|somebody|one)\b)[^.?]){{0,60}}?"
)
"""Words between somebody and "she's called", which name nobody who may be meant instead."""

FORMS: tuple[Form, ...] = (
    _name(rf"(?:\bmy name(?:'?s| is)|\A\W*(?:the )?name'?s|\bI'm called) {ANY_NAME}"),
    _name(rf"(?:\A\W*|\b(?:you can|please|just|and|but) )(?:just )?call me {ANY_NAME}"),
    _name(rf"\b{WHO} is my name\b"),
    _name(rf"\A\W*(?:(?:hi|hello|hey)(?: there)?,? )?(?:it'?s|this is) {WHO} here(?=\W*\Z|[,.;!)])"),
    _name(
        rf"(?:\A\W*|\b(?:hi|hello|hey|there|and|so|evening|morning|afternoon),? )I'm (?!(?-i:{DEMONYM})\b)"
        rf"(?-i:(?![A-Z]{{2}})){WHO}{_INTRODUCED}"
    ),
    _name(
        rf"\A\W*(?:(?:hi|hello|hey)(?: there)?,? )?I'm {LOWER}[, ]+(?:and )?(?:nice|pleased|lovely|good|great) to meet"
    ),
    _home(
        r"\b(?:(?:I|we)(?: now| currently| still| both)? live"
        rf"|(?:I'm|we're)(?: now| currently| still)? (?:living|based)) in {ANY_PLACE}"
    ),
    _home(rf"\b(?:I|we)(?:'ve| have) (?:been living|lived) in {ANY_PLACE}{_LASTS}"),
    _home(rf"{SUBJECT}moved(?: back| over| up| down| out)? to (?!{SOFTWARE}\b){SURE_PLACE}", begins=True),
    _profile(
        "origin", "From {what}", rf"\bI(?:'m(?: originally)? from|(?: originally)? come from| grew up in) {SURE_PLACE}"
    ),
    _profile("birthplace", "Born in {what}", rf"\bI was born (?:and (?:raised|bred) )?in {SURE_PLACE}", exclusive=True),
    _occupation(rf"\bI'm (?:an? |now an? |currently an? ){JOB}"),
    _occupation(rf"\bI'm an? {ANY_JOB}(?= by (?:trade|profession)\b)"),
    _occupation(rf"{_WORKING}(?: (?:part|full)[- ]time)? as (?:an? )?{ANY_JOB}"),
    _occupation(rf"{_STARTED} as (?:an? ){ANY_JOB}"),
    _employer(rf"{_WORKING} (?:at|for) {_FIRM}{WORKPLACE}"),
    _employer(rf"{_STARTED} (?:at|for|with) {_FIRM}{PLACE_NAME}"),
    _employer(rf"{_STARTED}(?<=job|ion|ole|ing) at {LOWER_PLACE}"),
    _employer(rf"\bI've worked (?:at|for) {_FIRM}{PLACE_NAME}{_LASTS}"),
    _employer(rf"\bI'm an? (?:[\w'-]+ ){{0,3}}?(?:{JOBS}) (?:at|for|with) {_FIRM}{PLACE_NAME}"),
    _profile(
        "works in",
        "Works in {what}",
        rf"{_WORKING} in (?!(?:silence|pairs|teams|shifts|bursts|peace|private)\b)"
        rf"{BARE}",
    ),
    _birthday(rf"\bmy (?:birthday|bday|b-day)(?:'?s| is| falls)(?: always)?(?: on| in)?(?: the)? {DATE}"),
    _birthday(rf"\b(?:it's my (?:birthday|bday)|I was born) on (?:the )?{DATE}"),
    _birthday(r"\bit's my (?:\d+(?:st|nd|rd|th) )?(?:birthday|bday) (?P<what>today|tomorrow)\b"),
    _favourite(rf"\bmy favou?rite (?P<kind>[a-z][\w ]{{1,30}}?)(?:'s| is| are)(?: now| probably| definitely)? {BARE}"),
    _favourite(
        rf"\A\W*(?!(?:this|that|it|he|she|they|here|there)\b)(?P<what>[\w' -]{{2,40}}?) (?:is|are) my favou?rite "
        rf"(?P<kind>[a-z][\w ]{{1,30}}?){END}"
    ),
    _profile("likes", "Likes {what}", rf"{_HOW_MUCH} (?:love|like|enjoy|adore) {BARE}"),
    _profile("dislikes", "Dislikes {what}", rf"{_HOW_MUCH} (?:hate|dislike|detest|loathe) {BARE}"),
    _profile(
        "allergy",
        "Allergic to {what}",
        rf"(?:\bI'm (?:\w+ )?|\A\W*(?:also |very )?)allergic to (?!{JOKES}\b){BARE}",
    ),
    _profile(
        "allergy",
        "Allergy: {what}",
        r"\bI(?:'ve got| have| got)(?: [^.,;]{1,30} and)? an? "
        r"(?:(?:severe|bad|mild|serious|slight|horrible|awful|terrible) )?"
        r"(?P<what>(?!an\b)[\w-]+(?: [\w-]+)?) allergy(?! \w+(?:ist|est|ment)\b)",
    ),
    _profile(
        "intolerance", "Intolerant to {what}", r"\bI'm (?P<what>lactose|gluten|fructose|histamine|dairy) intolerant\b"
    ),
    # Who is what to the speaker.
    _tie(rf"{MY}{TIE}s? {PEOPLE}", presupposes=True),
    _tie(rf"{MY}{TIE}s?(?:, | \(){PEOPLE}(?=[,.;!)])", presupposes=True),
    _tie(rf"{MY}{TIE}s?(?:'?s| is| are) (?:called|named) {ANY_NAME}"),
    _tie(rf"{MY}{TIE}'?s name(?:'?s| is) {ANY_NAME}"),
    _tie(
        rf"{MY}(?P<kind>{FAMILY}|{ROLE}) is (?!(?-i:{DEMONYM})\b)(?-i:(?![A-Z]{{2}})){WHO}"
        r"(?=\W*\Z|[,.;!)]| (?:and|but|who|now)\b)"
    ),
    *(
        _tie(rf"(?:{OWN}|\A\W*got){before} (?:an?|two|three|four|\d)(?: \w+)? {TIE}s? (?:called|named) {ANY_NAME}")
        for before in ("", r"\b[^.;:!?]{1,60} and")
    ),
    _tie(
        rf"(?:{MY}|(?:{OWN}|\A\W*got) an? (?:new )?){TIE}\b{_NOBODY_ELSE}\W(?:he|she|it)(?:'s|s| is) (?:called|named) "
        rf"{ANY_NAME}"
    ),
    _tie(rf"{OWN} (?:two|three|four|\d)(?: \w+)? {TIE}s?,? {PEOPLE}"),
    _tie(rf"{OWN} an? {QUALITY}(?P<kind>{FAMILY}|{ROLE}),? (?!(?-i:{DEMONYM})\b){WHO}"),
    _tie(rf"\b(?P<head>{PERSON})'s {QUALITY}{TIE} (?:(?:is )?(?:called|named) )?{WHO}", presupposes=True),
    # Not of friends: music and coffee are many people's best.
    _tie(rf"\b{WHO}(?: is|'s) my {QUALITY}(?P<kind>{FAMILY}|{AT_WORK})(?![\w'-]){END}"),
    _tie(rf"\b{WHO}(?:, (?:who's |who is )?| \()my {QUALITY}{TIE}(?=[,)])", presupposes=True),
    _tie(rf"\bI'm (?:\w+ )?(?:married to )(?P<kind>){WHO}"),
    # Whom and what one has, and has not.
    _profile("has", "Has {what}", rf"\b(?:I|we)(?:'ve got| have| have got| got) {NUMBERED}{END}"),
    _profile("has no", "Has no {what}", rf"\b(?:I|we) lack {QUALITY}{NONE_OF}"),
    _profile(
        "has no", "Has no {what}", rf"(?:\A\W*|\bI'm (?:single|married|divorced)(?:,? and| with|,)? )no {NO_PEOPLE}"
    ),
    _status(
        r"\bI'm (?:(?:now|still|newly|happily|finally|recently|currently) )*"
        rf"(?P<what>single|married|unmarried|divorced|widowed|engaged|separated){END}"
    ),
    _status(
        r"\b(?:I|we)(?:(?:'ve| have)?(?: just)? got|(?:'ve| have) been) (?P<what>married|divorced|single|widowed)"
        rf"(?:{END}|(?= (?:for|since|in|on|to|again|young)\b))"
    ),
    _profile("speaks", "Speaks {what}", rf"\b(?:I'm fluent in|(?:I|we)(?: can| also| still| both)* speak) {LANGUAGES}"),
)

_NO_MORE = r"\bI(?: no longer| don't| do not)"
_LEFT = r"\bI(?:'ve| have)?(?: just)? (?:quit|left) my (?:job|position)"
ENDINGS: tuple[Form, ...] = (
    _home(rf"{_NO_MORE} live in {ANY_PLACE}", begins=True),
    _home(rf"\b(?:I|we)(?:'ve| have)? moved (?:away from|out of) {ANY_PLACE}", begins=True),
    _employer(rf"{_NO_MORE} work (?:at|for) {_FIRM}{ANY_PLACE}", begins=True),
    _employer(rf"{_LEFT} (?:at|with) {_FIRM}{ANY_PLACE}", begins=True),
    _occupation(rf"{_NO_MORE} work as (?:an? )?{ANY_JOB}", begins=True),
    _tie(
        rf"\b(?:my|our) (?:old|former|ex)[- ](?P<kind>{CHIEFS}),? (?:(?:was )?(?:called|named) )?{WHO}", exclusive=True
    ),
    _tie(
        rf"{MY}(?P<kind>{CHIEFS}),? {WHO},?(?: has| just)* (?:quit|resigned|retired"
        rf"|left (?:the|our) (?:company|firm|team)){END}",
        exclusive=True,
        begins=True,
    ),
)
"""Ways of saying that a fact of these words is so no more."""
