"""Split a message into what it states, what it asks and what is small talk."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.learning.feelings import GOOD_FEELINGS, HARD_FEELINGS, feeling_now, unwell
from graph.replies.phrases import CRISIS, GOOD, HARD, SMALL_TALK
from graph.state import Services
from graph.understanding import intents
from graph.understanding.classifier import KINDS, Kind
from graph.understanding.form import Form, exclaims, form_of, states
from graph.understanding.intents import NONE
from graph.understanding.question import names_something
from graph.understanding.sentences import split
from memory.search.searcher import View
from memory.search.tokens import FUNCTION_WORDS, words

ABOUT_USER = "who_am_i"
"""Small talk that the memory may answer."""
KNOWN_OF_USER = "what_do_you_remember"
"""Small talk that is answered by what was told."""
SMALL_TALK_WORDS = FUNCTION_WORDS | {
    word for name, intent in SMALL_TALK.items() if name != NONE for text in intent.examples for word in words(text)
}
"""All words of the small talk that was trained on. A fragment or statement with any other word is not small talk."""
_JOINING = (["and"], ["n"], ["or"])
"""First words of what goes on from before ("and back"), which is not small talk."""
_ABOUT_SELF = re.compile(r"\A(?!.*\b(?:you|your|u|ur)\b).*\b(?:i|my)\b|\bcall me\b", re.IGNORECASE | re.DOTALL)
"""Asks about oneself alone: "do i have a boyfriend" is small talk only if the memory has no answer."""
_OF_HABITS = re.compile(r"\W*(?:do|did|have|had|was) i\b(?! (?:have|need|got) to\b)", re.IGNORECASE)
"""Asks whether oneself did something ("do i smoke"), which small talk never answers."""
_OF_OTHERS = re.compile(r"\b(?:about|of|on) (?!(?:me|myself|us|now|late)\b)\w", re.IGNORECASE)
"""Asks what is known of somebody or something else."""
_ADDRESSES = re.compile(r"\b(?:you|your|u|ur)\b", re.IGNORECASE)
_ONLY_ASKS = re.compile(
    r"\W*(?:(?:and|but|so|since|till?|until|with|from|to|for|at) )?(?:when|where|who|why|what time|which(?: one)?"
    r"|how(?: (?:long|much|many|old|come|often))?)\W*",
    re.IGNORECASE,
)
"""A question word alone: after a question, it asks more of the same."""
_STRETCHED = re.compile(r"(\w)\1{2,}")
_CRISIS = re.compile(
    r"\b(?:kill(?:ing)? myself|suicid\w*|(?:end|ending|take|taking) my (?:own )?life|self.?harm\w*"
    r"|(?:hurt|hurting|cut|cutting) myself(?= (?:again|on purpose|because|tonight|to)\b|\W*\Z)"
    r"|(?:want|wanna|wish i could|going) (?:to )?(?:die|be dead)|(?:don'?t|do not) want to (?:live|be alive)"
    r"|better off (?:dead|without me)|no reason to live)\b",
    re.IGNORECASE,
)
MIN_LOSS_PROBABILITY, MIN_NEWS_PROBABILITY = 0.8, 0.7
"""Probabilities from which a loss, and other hard or good news, gets a reaction: a wrong one is worse than none."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The sentences of a message that state something and those that ask; one in doubt is in both.

    `small_talk` is the intent of the last one that is small talk, unless another tells something; `news` is that of the
    first that tells news.
    """

    stating: tuple[View, ...]
    asking: tuple[View, ...]
    small_talk: str
    news: str

    @property
    def kind(self) -> Mapping[Kind, float]:
        """The kind of the message: a question if any sentence asks, else a statement if any states."""
        kind: Kind = "question" if self.asking else "statement" if self.stating else "smalltalk"
        return {name: float(name == kind) for name in KINDS}

    @property
    def in_doubt(self) -> bool:
        """Whether all that it asks may be meant as a statement."""
        return bool(self.asking) and {view.text for view in self.asking} <= {view.text for view in self.stating}


def read_parts(sentences: Sequence[View], services: Services, persona: str, *, follows_question: bool) -> Parts:
    """Tell the sentences of a message apart by their form; where it leaves that open, words and meaning decide.

    What may be a question by its words alone is remembered, too, and so is a statement that is small talk ("I'm
    bored"). A fragment that goes on from a question ("and the other one") asks, too. What names nothing ("so it is")
    tells nothing.
    """
    stating: list[View] = []
    asking: list[View] = []
    small_talk = news = ""
    known, tells = SMALL_TALK_WORDS.union(words(persona)), False
    for view in sentences:
        form = form_of(view.text)
        intent = services.recogniser(intents.SMALL_TALK).recognise(view.text, view.vector)[0]
        typed = words(_STRETCHED.sub(r"\1", view.text))
        joins = form != "question" and typed[:1] in _JOINING
        if joins or (form != "question" and not known.issuperset(typed)):
            intent = ""
        if intent == KNOWN_OF_USER and _OF_OTHERS.search(view.text):
            intent = ""
        if _OF_HABITS.match(view.text) and not _ADDRESSES.search(view.text):
            intent = ""
        small_talk = intent or small_talk
        may_be_known = _ABOUT_SELF.search(view.text) or not (known.issuperset(typed) or _ADDRESSES.search(view.text))
        if intent == ABOUT_USER or (intent and form == "question" and may_be_known):
            asking.append(view)
            continue
        goes_on = follows_question and ((joins and form == "unclear") or _ONLY_ASKS.fullmatch(view.text))
        if goes_on:
            small_talk = intent = ""
        if not intent and (goes_on or _may_ask(form, view, services)):
            asking.append(view)
        if form == "question" or (intent and form != "statement") or not names_something(view.text):
            continue
        stating.append(view)
        tells = tells or not intent
        news = news or _news(view, services)
    return Parts(tuple(stating), tuple(asking), "" if tells else small_talk, news)


def tells(text: str) -> bool:
    """Whether a text has a sentence that states something and is no small talk."""
    return any(states(sentence) and not SMALL_TALK_WORDS.issuperset(words(sentence)) for sentence in split(text))


def _news(view: View, services: Services) -> str:
    """The kind of news that a sentence tells: a crisis, a loss, or hard or good by a named feeling or its words."""
    if _CRISIS.search(view.text.replace("’", "'")):
        return CRISIS
    intent, probability = services.recogniser(intents.LOSSES).recognise(view.text, view.vector)
    if intent and probability > MIN_LOSS_PROBABILITY:
        return intent
    felt = feeling_now(view.text)
    if felt in GOOD_FEELINGS:
        return GOOD
    if felt in HARD_FEELINGS or unwell(view.text):
        return HARD
    kind, probability = services.recogniser(intents.NEWS).recognise(view.text, view.vector)
    return kind if probability > MIN_NEWS_PROBABILITY else ""


def _may_ask(form: Form, view: View, services: Services) -> bool:
    if form == "question":
        return True
    if exclaims(view.text) or view.text.endswith((".", "!", "…")):
        return False
    return bool(services.recogniser(intents.QUESTIONS).recognise(view.text, view.vector)[0])
