"""Render the sources of an answer: each cited line as a card that opens to the conversation around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from graph.assistant import Answer
from graph.state import Citation, Reason
from graph.tab.messages import PastAnswer
from memory.bank.bank import Bank
from memory.formatting import clip
from memory.tab.memory_card import render_sources
from memory.tab.templates import empty_state, render

EARLIER = 5
"""Earlier answers whose sources stay on the page."""

REACH = 30
"""Turns shown before and after a quoted one."""

ABSTENTIONS: Mapping[Reason, str] = {
    "nothing found": "No memory comes close to this question.",
    "found but does not say": "Some memories are related to this question, but none of them answers it.",
    "premise contradicted": "The question assumes something that the memories contradict.",
    "outside the known time": "The question is about a time that the memories do not cover.",
}
"""Why there is no answer, in a sentence."""


def render_answer_sources(bank: Bank, answer: Answer, before: Sequence[PastAnswer]) -> Markup:
    """Render the sources of an answer and, folded, those of the last answers before it that cited something."""
    number = len(before) + 1
    citations = answer.reading.citations
    earlier = [(n, past) for n, past in enumerate(before, 1) if past.memory_ids][-EARLIER:]
    return render(
        "answer_sources.html",
        number=number,
        newest=_answer_cards(bank, answer.ask.text, number, citations) if citations else None,
        reason="" if citations else _explain_no_sources(answer),
        earlier=[
            _answer_cards(bank, past.question, n, _remaining(bank, answer.ask.persona.id, past.memory_ids))
            for n, past in reversed(earlier)
        ],
    )


def _answer_cards(bank: Bank, question: str, number: int, citations: Sequence[Citation]) -> dict[str, object]:
    cards = [{"citation": each, "conversation": render_sources(bank, each.memory, REACH)} for each in citations]
    return {"question": question, "number": number, "cards": cards}


def _explain_no_sources(answer: Answer) -> Markup:
    reading = answer.reading
    if reading.abstained:
        return empty_state("No sources", ABSTENTIONS[reading.reason] if reading.reason else "No memory answers this.")
    if reading.by not in ("", "extractive"):
        return empty_state("No sources", "The chat model cited no memory for this answer. Check it before you use it.")
    return empty_state("No sources needed", "You asked nothing, so no memory was needed.")


def _remaining(bank: Bank, persona_id: int, memory_ids: Sequence[int]) -> list[Citation]:
    """The citations of an earlier answer, without memories that were forgotten since."""
    by_id = {memory.id: memory for memory in bank.memories_by_id(persona_id, list(memory_ids))}
    return [Citation(n, by_id[i], clip(by_id[i].text), {}) for n, i in enumerate(memory_ids, 1) if i in by_id]
