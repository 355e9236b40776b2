"""Chats: begin one, list past ones, find the one that the page's address names, resume one, and take back its end."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace

from markupsafe import Markup

from graph.replies.card import first_message
from graph.tab import messages
from graph.tab.first_personas import own_personas
from graph.tab.messages import Bubble, Chat, PastAnswer
from graph.tab.request import parse_as_of
from memory.bank.bank import Bank
from memory.bank.queries.chats import citations, find_chat, last_chat, past_chats
from memory.bank.queries.deletion import Selection
from memory.bank.queries.told import name_told
from memory.forgetting.forget import forget_selected
from memory.tab.parts import render
from memory.types import Persona, Session

LISTED = 100
"""Chats in the list; older ones can be found in the Memory tab by their words."""

OPEN_CHAT = """element.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-chat]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  trigger("select", { chat: link.dataset.chat });
});"""
"""A click on a chat of the list opens it without loading the page anew."""


def render_chats(bank: Bank, persona_id: int | None, chat_id: str) -> Markup:
    """Render the list of chats with a persona, the open one marked."""
    chats = past_chats(bank, persona_id, LISTED) if persona_id is not None else []
    return render("past_chats.html", chats=chats, open=chat_id, full=len(chats) == LISTED)


def find_place(bank: Bank, address: Mapping[str, str]) -> tuple[int, str] | None:
    """The ids of the persona and of the chat, if any, to show; None where the user has not begun.

    The page's address decides. An address that names nothing leads to the persona of the last chat, or to the newest
    one of the user's own.
    """
    number = address.get("persona", "")
    if chat := find_chat(bank, address.get("chat", ""), int(number) if number.isdecimal() else None):
        return chat.persona_id, chat.chat_id
    if named := next((p for p in bank.personas() if str(p.id) == number), None):
        return named.id, ""
    if last := last_chat(bank):
        return last.persona_id, ""
    own = own_personas(bank)
    return (own[-1].id, "") if own else None


def open_new(bank: Bank, persona: Persona | None, as_of: str | None) -> Chat:
    """A new chat, which begins with the first message of the persona's card, if it has one."""
    if persona is None:
        return Chat(uuid.uuid4().hex)
    said = (
        first_message(persona, name_told(bank, persona.id, parse_as_of(as_of))) if persona.first_message.strip() else ""
    )
    return Chat(uuid.uuid4().hex, persona.id, (messages.draft_bubble(said),) if said else ())


def resume(bank: Bank, chat: Session) -> Chat:
    """The chat as it was left, with the citations of its answers; in an import, others have their names before them."""
    cited, name = citations(bank, chat.id), bank.persona(chat.persona_id).name
    bubbles: list[Bubble] = []
    answers: list[PastAnswer] = []
    question = ""
    for turn in bank.turns(chat.persona_id, chat.id):
        if turn.role == "user":
            if bubbles and bubbles[-1].role == "user":  # or the chat box would show both as one message
                bubbles += messages.notice(*messages.STOPPED)
            question = turn.text
            bubbles.append(messages.user_bubble(turn.text, turn.external_id))
            continue
        is_of_other = chat.source == "import" and turn.speaker not in ("", name)
        if is_of_other or not question:  # the first message of the persona's card answers nothing
            bubbles.append(messages.draft_bubble(f"{turn.speaker}: {turn.text}" if is_of_other else turn.text))
            continue
        numbers = cited.get(turn.id, {})
        answers.append(PastAnswer(question, tuple((n, memory_id, "") for n, memory_id in numbers.items())))
        bubbles.append(messages.answer_bubble(turn.text, numbers, len(answers)))
    return Chat(chat.chat_id, chat.persona_id, tuple(messages.latest(bubbles)), tuple(answers))


def take_back(bank: Bank, chat: Chat) -> tuple[Chat, str]:
    """The chat without its last message and all that came of it, in the memory, too; and the text of that message.

    A message that was not to be remembered is only taken out of the chat.
    """
    places = [place for place, bubble in enumerate(chat.bubbles) if bubble.role == "user"]
    if not places:
        return chat, ""
    last, session = chat.bubbles[places[-1]], find_chat(bank, chat.id, chat.persona_id)
    turns = bank.turns(session.persona_id, session.id) if session and last.turn else []
    begin = next((n for n, turn in enumerate(turns) if turn.external_id == last.turn), len(turns))
    if session and turns[begin:]:
        gone = Selection(turns=[turn.id for turn in turns[begin:]])
        forget_selected(bank, [session.persona_id], lambda db, persona_id: gone)
    answered = any(bubble.role == "assistant" and not bubble.title for bubble in chat.bubbles[places[-1] :])
    answers = chat.answers[:-1] if answered else chat.answers
    return replace(chat, bubbles=chat.bubbles[: places[-1]], answers=answers), last.text
