"""What is asked, and of which stores?"""

from __future__ import annotations

from dataclasses import replace

from langgraph.runtime import Runtime

from graph.classifier import Classification
from graph.sentences import split
from graph.state import Ask, Message, Services, TraceLine, TurnState
from memory.search import View

MAX_SENTENCES = 6
"""Sentences that are classified one by one, to tell what a message states from what it asks."""

CONTEXT_TURNS = 3
CONTEXT_WEIGHT = 0.5
"""How much the user's earlier words count beside the last ones: "and when was that?" lives by them, while a change of
subject must not be drowned."""


def classify(state: TurnState, runtime: Runtime[Services]) -> TurnState:
    """Tell what kind of message this is and which stores it asks about, with one call of the encoder."""
    ask, services = state["ask"], runtime.context
    sentences = split(ask.text)[:MAX_SENTENCES]
    singly = sentences if len(sentences) > 1 else []
    context = _context(ask)
    views = services.searcher.views([ask.text, *context, *singly])
    said, before, parts = views[0], views[1 : 1 + len(context)], views[1 + len(context) :]
    classes = _classes(services, said)
    statements = tuple(v.text for v in parts if _states(_classes(services, v), v.text))
    if not singly and _states(classes, ask.text):
        statements = (ask.text,)
    asked = (said, *(View(v.text, v.vector, CONTEXT_WEIGHT) for v in before))
    line = TraceLine("classify", _decided(classes), figures(classes))
    return {"message": Message(classes, statements, asked), "trace": (line,)}


def _context(ask: Ask) -> list[str]:
    mine = [t.text for t in ask.dialogue if t.role == "user"][-CONTEXT_TURNS:]
    return [" ".join([*mine, ask.text])] if mine else []


def _classes(services: Services, view: View) -> Classification:
    classes = services.classifier.classify(view.text, view.vector)
    if services.settings.classifier == "none":
        return replace(classes, stores=Classification.uniform().stores)
    return classes


def _states(classes: Classification, text: str) -> bool:
    return likeliest(classes) == "statement" and not text.rstrip().endswith(("?", "？"))


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
