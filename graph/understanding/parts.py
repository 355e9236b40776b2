"""Split a message into what it states, what it asks and what is small talk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from graph.language.patterns import phrasings
from graph.understanding import acts
from graph.understanding.classifier import KINDS, Classifier, Kind
from graph.understanding.question import names_something, refers_back
from graph.understanding.requests import asked_reminder
from graph.understanding.sentences import split
from memory.embedding import minilm
from memory.search.searcher import View
from memory.search.tokens import words

ABOUT_USER = "who_am_i"
"""Small talk that the memory may answer."""
ABOUT_PERSONA = (WHO_ARE_YOU := "who_are_you", "are_you_real", "what_can_you_do")
"""Small talk about the persona, which its card or its life may answer."""
KNOWN_OF_USER = "what_do_you_remember"
"""Small talk that is answered by what was told."""
OUT_OF_REACH = "missing_capability"
"""Small talk that asks for what only a clock, a calendar or the internet knows."""
_JOINING = (["and"], ["n"], ["or"])
"""First words of what goes on from before ("and back"), which is not small talk."""
_FORMS = phrasings("parts")


@dataclass(frozen=True, slots=True)
class Parts:
    """The sentences of a message that state something and those that ask; one in doubt is in both.

    `small_talk` is the intent of the last one that is small talk, unless it does not ask and another tells something;
    `news` is that of the first that tells news. `hardly_tell`: no sentence is at all likely to tell anything.
    """

    stating: tuple[View, ...]
    asking: tuple[View, ...]
    small_talk: str
    news: str
    hardly_tell: bool

    @property
    def kind(self) -> Mapping[Kind, float]:
        """The kind of the message: a question if any sentence asks, else a statement if any states."""
        kind: Kind = "question" if self.asking else "statement" if self.stating else "smalltalk"
        return {name: float(name == kind) for name in KINDS}

    @property
    def in_doubt(self) -> bool:
        """Whether all that it asks may be meant as a statement."""
        return bool(self.asking) and {view.text for view in self.asking} <= {view.text for view in self.stating}


def read_parts(sentences: Sequence[View], classifier: Classifier, *, follows_question: bool) -> Parts:
    """Tell the sentences of a message apart by what they do.

    What may ask and may tell is remembered, too, and so is a statement that is small talk ("I'm bored"). A fragment
    that goes on from a question ("and the other one") asks, too. What names nothing ("so it is") tells nothing.
    Sentences in letters that the recogniser of acts does not read are told apart by the classifier, if it reads them.
    """
    stating: list[View] = []
    asking: list[View] = []
    small_talk = news = ""
    tells, asks_idly, hardly_tell = False, False, True
    for view in sentences:
        said = _said(view, classifier)
        intent = said.act if said.is_small_talk else ""
        hardly_tell = hardly_tell and (said.hardly_tells or (bool(intent) and not said.tells))
        joins = words(view.text)[:1] in _JOINING
        if joins:
            intent = ""
        small_talk = intent or small_talk
        asks_idly = bool(intent) and acts.is_marked(view.text)
        if intent == ABOUT_USER:
            asking.append(view)
            continue
        goes_on = follows_question and refers_back(view.text)
        if goes_on:
            small_talk = intent = ""
        if goes_on or (said.asks and not intent and not (said.act in acts.NEWS and said.tells)):
            asking.append(view)
        if not said.tells or not names_something(view.text):
            continue
        stating.append(view)
        tells = tells or not intent
        news = news or (said.act if said.act in acts.NEWS else "")
    return Parts(tuple(stating), tuple(asking), "" if tells and not asks_idly else small_talk, news, hardly_tell)


def _said(view: View, classifier: Classifier) -> acts.Said:
    if _FORMS["crisis"].search(view.text.replace("’", "'")):
        return acts.Said(acts.CRISIS, asks=False, tells=True)
    if asked_reminder(view.text):
        return acts.Said("tells", asks=False, tells=True)
    said: acts.Said | None = None
    is_marked = acts.is_marked(view.text)
    if minilm.reads(view.text) or classifier.model == minilm.NAME:
        said = acts.said(view.text)
        if is_marked or not said.asks:
            return said
    classes = classifier.classify(view.text, view.vector)
    may_tell = classes.kind["statement"] >= acts.HARDLY
    if said is not None:  # it takes some requests ("list it") for news
        return replace(said, hardly_tells=said.hardly_tells or not may_tell)
    kind = "question" if is_marked else classes.likeliest_kind
    return acts.Said("", asks=kind == "question", tells=kind == "statement", hardly_tells=not may_tell)


def tells(text: str) -> bool:
    """Whether a text has a sentence that states something."""
    return any(acts.said(sentence).tells for sentence in split(text))
