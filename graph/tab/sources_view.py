"""Render the sources of an answer: each cited line as a card that opens to the conversation around it."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from graph.state import Reading, Reason
from graph.tab.messages import PastAnswer
from memory.bank.bank import Bank
from memory.formatting import clip
from memory.tab.memory_card import render_sources
from memory.tab.templates import empty_state, render

REACH = 30
"""Turns shown before and after a quoted one."""

SHOW_ANSWER = "window.showSources = (answer) => trigger('select', { answer });"
"""Lets screen.js ask for the sources of an earlier answer, whose citation was clicked."""

ABSTENTIONS: Mapping[Reason, str] = {
    "nothing found": "No memory comes close to this question.",
    "found but does not say": "Some memories are related to this question, but none of them answers it.",
    "premise contradicted": "The question assumes something that the memories contradict.",
    "outside the known time": "The question is about a time that the memories do not cover.",
}
"""Why there is no answer, in a sentence."""


def render_sources_of(
    bank: Bank, persona_id: int, number: int, answer: PastAnswer, reading: Reading | None = None
) -> Markup:
    """Render the sources of an answer, or why it has none; the `reading` is that of the answer just given."""
    ids = [memory_id for _, memory_id, _ in answer.cited]
    by_id = {memory.id: memory for memory in bank.memories_by_id(persona_id, ids)}
    cards = [
        {
            "number": n,
            "memory": by_id[memory_id],
            "quote": quote or clip(by_id[memory_id].text),
            "conversation": render_sources(bank, by_id[memory_id], REACH),
        }
        for n, memory_id, quote in answer.cited
        if memory_id in by_id
    ]
    reason = _explain_no_sources(reading)
    return render("answer_sources.html", question=answer.question, number=number, cards=cards, reason=reason)


def _explain_no_sources(reading: Reading | None) -> Markup:
    if reading is None or reading.citations:
        return empty_state("No sources", "The lines that this answer relied on were forgotten.")
    if reading.abstained:
        return empty_state("No sources", ABSTENTIONS[reading.reason] if reading.reason else "No memory answers this.")
    return empty_state("No sources needed", "No memory was used for this reply.")
