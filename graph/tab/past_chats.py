"""Chats: begin one, find the one that the page's address names, resume one, and take back what was said last in it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace

from graph.replies.card import first_message
from graph.tab import messages
from graph.tab.first_personas import own_personas
from graph.tab.messages import Bubble, Chat, PastAnswer
from graph.tab.request import parse_as_of
from memory.bank.bank import Bank
from memory.bank.queries.chats import citations, find_chat, last_chat
from memory.bank.queries.deletion import Selection
from memory.bank.queries.told import name_told
from memory.forgetting.forget import forget_selected
from memory.types import Persona, Session


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


def user_places(chat: Chat) -> list[int]:
    """The places of the user's messages among the bubbles of a chat."""
    return [place for place, bubble in enumerate(chat.bubbles) if bubble.role == "user"]


def take_back(bank: Bank, chat: Chat, place: int) -> Chat:
    """The chat without its bubbles from a place on and all that came of them, in the memory, too.

    Messages that were not to be remembered are only taken out of the chat.
    """
    gone, session = chat.bubbles[place:], find_chat(bank, chat.id, chat.persona_id)
    first = next((bubble.turn for bubble in gone if bubble.turn), "")
    turns = bank.turns(session.persona_id, session.id) if session and first else []
    begin = next((n for n, turn in enumerate(turns) if turn.external_id == first), len(turns))
    if session and turns[begin:]:
        selection = Selection(turns=[turn.id for turn in turns[begin:]])
        forget_selected(bank, [session.persona_id], lambda db, persona_id: selection)
    kept = min((bubble.answer - 1 for bubble in gone if bubble.answer), default=len(chat.answers))
    return replace(chat, bubbles=chat.bubbles[:place], answers=chat.answers[:kept], edited=None)
