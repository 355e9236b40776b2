"""What is asked, and of which stores?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from langgraph.runtime import Runtime

from graph.state import Ask, Message, Services, TraceLine, TurnState
from graph.understanding.classifier import GROUPS, Classification
from graph.understanding.llm_classifier import Judged, stores_of
from graph.understanding.question import names_something
from graph.understanding.sentences import split
from memory.dates.expressions import find_times
from memory.embedding.embedder import Vectors
from memory.search.names import is_about_others, is_about_self, possible_names, to_first_person
from memory.search.scoring import Subject
from memory.search.searcher import View

MAX_SENTENCES = 6
"""Parts that are classified one by one, to tell what is stated from what is asked; the last takes all the rest."""

CONTEXT_TURNS = 5
"""What the user said last that goes with the message."""

DIALOGUE_TURNS = 8
"""What both said last that goes with it; the encoder reads some 250 tokens."""

CONTEXT_WEIGHT = 1.0
"""How much all of what was said before counts beside a question about the past: "Where does she live?" needs it, but a
change of subject must not be drowned. What asks for no memory means what the dialogue is about, and every view of it
counts alike (He et al. 2025 ask with the dialogue as a whole)."""

FULL_STOP = 50.0
"""How much less likely a full stop makes a question. The classifier has learned from a file of nineteen questions in
twenty; in a chat most sentences tell something. Set on the lives of our own benchmark, said again as chats: of 789
messages without a question mark it took 554 to ask something, and takes 91 with this."""

_WISHES = r"I(?:['’]d| would)? (?:like|love|want|need) to know|I(?:['’]m| am)? wonder(?:ing)?"
_ASKS = "|".join([_WISHES, *sorted(GROUPS["asks"] | GROUPS["order"])])
_STATES = re.compile(rf"^\W*(?!(?:{_ASKS})\b)\w[^?？]*[.!…][\"'”’)]*\s*$", re.IGNORECASE)
"""A sentence that closes with a full stop and does not begin as a question or an order ("Tell me ...") does."""

_BACK = re.compile(
    r"^\W*(?:and|but|or|so|then)\b|\b(?:that|this|it|there|then|those|these|he|him|his|she|hers?|they|them|theirs?)\b"
    r"|^\W*\w+(?:\s+\w+)?\W*$",
    re.IGNORECASE,
)
"""How a question takes up what was said: by a joining word, by a pronoun, or by being one or two words long."""


def classify(state: TurnState, runtime: Runtime[Services]) -> TurnState:
    """Tell what kind of message this is, what it asks, of which stores and of whom, with one call of the encoder."""
    ask, services = state["ask"], runtime.context
    sentences = _parts(ask.text)
    context, whole = (_context(ask), _dialogue(ask)) if services.settings.views else ([], [])
    texts = [ask.text, *context, *sentences]
    names = services.searcher.main_speakers(ask.persona.id, "\n".join(texts), ask.as_of)
    views, voices = _views(services, [*texts, *whole], names if services.settings.search.voice else ())
    said, before, parts = views[0], views[1 : 1 + len(context)], views[1 + len(context) : len(texts)]
    states = [likeliest(_classes(services, part)) == "statement" for part in parts or (said,)]
    stating = [part for part, so in zip(parts or (said,), states, strict=True) if so]
    asking = [part for part, so in zip(parts or (said,), states, strict=True) if not so]
    question = _together(asking) if stating and asking else said
    classes = _of_whom(_classes(services, question), question.text, (ask.persona.name, *names))
    told = _told_by_model(services, question.text, classes)
    if told is not None:
        classes = replace(classes, stores=told.stores)
    if _refers_back(question.text):
        question = before[0] if before and _refers_back(ask.text) else said
    # What is looked up is in the voice of those it is about; what it is, the classifier tells by its own words.
    heard = {view.text: replace(view, vector=voices[view.text]) for view in views}
    if question.text not in heard:
        heard[question.text] = _together([heard[part.text] for part in asking])
    stated = tuple(part.text for part in stating)
    times = find_times(question.text, ask.as_of) if ask.times is None else ask.times
    named = frozenset(possible_names(question.text))
    asked = Subject(tuple(name for name in names if name in named), is_about_self(question.text), times)
    message = Message(
        classes, stated, question, _weighted(question, views[0], before, views[len(texts) :], heard, classes), asked
    )
    return {"message": message, "trace": (_line(classes, told),)}


def _views(
    services: Services, texts: Sequence[str], names: Sequence[str]
) -> tuple[tuple[View, ...], dict[str, Vectors]]:
    """The texts as they stand, and their vectors in the voice of those who are named."""
    put = {text: to_first_person(text, names) for text in texts}
    views = services.searcher.views(list(dict.fromkeys([*texts, *put.values()])))
    vectors = {view.text: view.vector for view in views}
    return tuple(View(text, vectors[text]) for text in texts), {text: vectors[put[text]] for text in texts}


def _weighted(
    question: View,
    said: View,
    before: Sequence[View],
    whole: Sequence[View],
    heard: Mapping[str, View],
    classes: Classification,
) -> tuple[View, ...]:
    """The question and, of less weight, what was said before it; where it asks for no memory, all alike."""
    if classes.is_question and classes.asks_memory:
        others = dict.fromkeys(v.text for v in (said, *before, *whole) if v.text != question.text)
        weight = CONTEXT_WEIGHT / max(1, len(others))
        return (heard[question.text], *(replace(heard[text], weight=weight) for text in others))
    return tuple(heard[text] for text in dict.fromkeys(v.text for v in (said, *before, *whole)))


def _told_by_model(services: Services, question: str, classes: Classification) -> Judged | None:
    """What a chat model says of the stores, where one is set to; what asks nothing is not put to it."""
    engine = services.settings.classifier
    if engine not in ("llm", "llm-few-shot") or likeliest(classes) != "question":
        return None
    if services.model is None:
        return Judged(Classification.uniform().stores, "no chat model is set (MEMOIR_MODEL)")
    return stores_of(question, services.model, examples=engine == "llm-few-shot")


def _line(classes: Classification, told: Judged | None) -> TraceLine:
    if told is None:
        return TraceLine("classify", _decided(classes), figures(classes))
    decided = f"all stores alike: {told.fault}" if told.fault else f"{_decided(classes)}, says the model"
    tokens = {"tokens in": told.tokens_in, "tokens out": told.tokens_out}
    return TraceLine("classify", decided, {**figures(classes), **tokens})


def _parts(text: str) -> list[str]:
    """The sentences of a message that has several; none is left out, or what it states would not be remembered."""
    sentences = split(text)
    if len(sentences) < 2:
        return []
    first, rest = sentences[: MAX_SENTENCES - 1], sentences[MAX_SENTENCES - 1 :]
    return [*first, " ".join(rest)] if rest else first


def _context(ask: Ask) -> list[str]:
    """The message after what the user said before it; where it names nothing itself, after the last words that did."""
    mine = [t.text for t in ask.dialogue if t.role == "user"]
    named = [text for text in mine if names_something(text)]
    before = named[-1:] if _refers_back(ask.text) else mine[-CONTEXT_TURNS:]
    return [" ".join([*before, ask.text])] if before else []


def _dialogue(ask: Ask) -> list[str]:
    """The message after what both said."""
    before = [t.text for t in ask.dialogue[-DIALOGUE_TURNS:]]
    return [" ".join([*before, ask.text])] if before else []


def _refers_back(text: str) -> bool:
    """Whether a question is about what was said before it: "What is my name?" names as little as "When was that?"."""
    return not names_something(text) and bool(_BACK.search(text))


def _together(views: Sequence[View]) -> View:
    """Several sentences as one; the direction of the sum of their vectors stands for what they mean together."""
    total = np.sum([v.vector for v in views], axis=0)
    return View(" ".join(v.text for v in views), total / np.linalg.norm(total))


def _classes(services: Services, view: View) -> Classification:
    classes = services.classifier.classify(view.text, view.vector)
    if services.settings.classifier == "none":
        classes = replace(classes, stores=Classification.uniform().stores)
    kind = classes.kind
    if likeliest(classes) == "statement" and view.text.rstrip().endswith(("?", "？")):
        # The words alone would state it ("I sold the canoe?"): the mark makes it a question.
        classes = replace(classes, kind={**kind, "statement": 0.0, "question": kind["question"] + kind["statement"]})
    elif _STATES.search(view.text):
        weighed = {**kind, "question": kind["question"] / FULL_STOP}
        classes = replace(classes, kind={name: p / sum(weighed.values()) for name, p in weighed.items()})
    return classes


def _of_whom(classes: Classification, question: str, known: Sequence[str]) -> Classification:
    """The classes, with none of a profile where it is about somebody else: a profile is of those whose memory it is."""
    others = 1 - classes.stores["profile"]
    if not is_about_others(question, known) or others <= 0:
        return classes
    stores = {store: p / others for store, p in classes.stores.items()}
    return replace(classes, stores={**stores, "profile": 0.0})


def likeliest(classes: Classification) -> str:
    """The likeliest kind of message."""
    return max(classes.kind, key=lambda kind: classes.kind[kind])


def _decided(classes: Classification) -> str:
    if likeliest(classes) != "question":
        return likeliest(classes)
    best = max(classes.stores, key=lambda store: classes.stores[store])
    return f"question, most likely about {best}" + (", asking for several" if classes.asks_many else "")


def figures(classes: Classification) -> dict[str, float]:
    """The probabilities, by name."""
    stores = {str(store): p for store, p in classes.stores.items()}
    return {**stores, "many": classes.many, "recall": classes.recall, "state": classes.state}
