"""Answer what is asked of the persona from the text of its card, which it quotes."""

from __future__ import annotations

from graph.readers.composing import MIN_SIMILARITY
from graph.readers.lines import Line
from graph.readers.updates import SUFFICIENT
from graph.replies.card import fill_names
from graph.replies.phrases import manner
from graph.replies.second_person import first_person
from graph.state import USER, Ask, Reading, Services
from graph.understanding.sentences import split
from memory.bank.queries.told import name_told

MOST = 40
"""Most sentences of a card that are read; each costs some 4 ms."""

QUOTED = "My description says: “{}”"


def read_card(question: str, ask: Ask, services: Services) -> Reading | None:
    """The sentence of the description that answers or, unsure, the nearest; None if none is near."""
    name = name_told(services.bank, ask.persona.id, ask.as_of)
    sentences = split(fill_names(ask.persona.description, ask.persona, name))[:MOST]
    if not sentences:
        return None
    read = services.line_reader.read(first_person(question), None, [Line(text, USER) for text in sentences])
    found, text = max(zip(read, sentences, strict=True), key=lambda pair: pair[0].logit)
    if found.answers >= SUFFICIENT:
        return Reading(QUOTED.format(text), by="extractive")
    asked, *views = services.searcher.views([question, *sentences])
    near, text = max((float(view.vector @ asked.vector), view.text) for view in views)
    if near < MIN_SIMILARITY:
        return None
    unsure = f"{manner(ask.persona.manner).unsure}\n{QUOTED.format(text)}"
    return Reading(unsure, abstained=True, reason="found but does not say", by="extractive")
