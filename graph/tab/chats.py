"""Chats: begin, find and resume one, forget what was said last in it, and turn its next message into an `Ask`."""

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from graph.replies.card import fill_names
from graph.state import CITATION, USER, Ask, Citation, Reading
from graph.tab import messages
from graph.tab.chat_box import taught_by
from graph.tab.evidence import still_remembered
from graph.tab.messages import FORGOTTEN, Bubble, Chat, PastAnswer
from graph.tab.personas import own_personas
from memory.bank import journal
from memory.bank.bank import Bank
from memory.bank.queries.chats import citations, find_chat, last_chat
from memory.bank.queries.deletion import Selection
from memory.bank.queries.told import name_told
from memory.dates.expressions import last_moment
from memory.errors import MemoirError
from memory.forgetting.forget import forget_selected
from memory.types import Persona, Session, Turn, TurnDraft

MAX_MESSAGE = 100_000
"""Characters of a message; a longer text is a conversation to import."""

MAX_CLOCK_CHANGE = timedelta(days=1)
"""How far a clock may be set back without hiding what was said before; what lies further ahead was dated on purpose."""


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
    said = ""
    if persona.first_message.strip():
        said = fill_names(persona.first_message, persona, name_told(bank, persona.id, parse_as_of(as_of)))
    return Chat(uuid.uuid4().hex, persona.id, (messages.draft_bubble(said),) if said else ())


def resume(bank: Bank, chat: Session) -> Chat:
    """The chat as it was left, with what it taught and the citations of its answers.

    In an import, others have their names before them.
    """
    cited, name = citations(bank, chat.id), bank.persona(chat.persona_id).name
    taught = _taught_in(bank, chat) if chat.source == "chat" else {}
    bubbles: list[Bubble] = []
    question, number = "", 0
    for turn in bank.turns(chat.persona_id, chat.id):
        if turn.role == "user":
            question = turn.text
            said = messages.user_bubble(turn.text, _name(turn))
            bubbles.append(replace(said, remembered=taught.get(turn.id, ())))
            continue
        is_of_other = chat.source == "import" and turn.speaker not in ("", name)
        if is_of_other or not question:  # the first message of the persona's card answers nothing
            said = messages.draft_bubble(f"{turn.speaker}: {turn.text}" if is_of_other else turn.text)
            bubbles.append(replace(said, turn=_name(turn)))
            continue
        ids = {**dict.fromkeys(map(int, CITATION.findall(turn.text)), FORGOTTEN), **cited.get(turn.id, {})}
        number += 1
        answer = PastAnswer(question, tuple((n, memory_id, "") for n, memory_id in ids.items()), number)
        bubbles.append(replace(messages.answer_bubble(turn.text, answer, turn.unsupported), turn=_name(turn)))
    return Chat(chat.chat_id, chat.persona_id, tuple(messages.latest(bubbles)))


def _taught_in(bank: Bank, chat: Session) -> dict[int, tuple[str, ...]]:
    """What each turn of a chat taught and is not taken back, by the id of the turn."""
    taught: dict[int, tuple[str, ...]] = defaultdict(tuple)
    for memory in taught_by(bank, chat.persona_id, chat.external_id) if chat.external_id else ():
        if memory.retracted_at is None:
            taught[min(memory.turn_ids)] += (memory.text,)
    return taught


def _name(turn: Turn) -> str:
    """What a bubble calls its turn: by its source id or, in an import without ids, by its number in the bank."""
    return turn.external_id or f"turn-{turn.id}"


def without_forgotten(bank: Bank, chat: Chat) -> Chat:
    """The chat without what was forgotten since the page showed it; its answers cite nothing that was."""
    session = find_chat(bank, chat.id, chat.persona_id)
    turns = {_name(turn): turn.id for turn in bank.turns(session.persona_id, session.id)} if session else {}
    taught = _taught_in(bank, session) if session else {}
    known = still_remembered(bank, chat.persona_id, chat.answers)
    bubbles: list[Bubble] = []
    edited = chat.edited
    for place, bubble in enumerate(chat.bubbles):
        edited = len(bubbles) if place == chat.edited else edited
        if bubble.remembered:
            bubble = replace(bubble, remembered=taught.get(turns.get(bubble.turn, 0), ()))
        if bubble.answer:
            cited = (each if each[1] in known else (each[0], FORGOTTEN, "") for each in bubble.answer.cited)
            bubble = replace(bubble, answer=replace(bubble.answer, cited=tuple(cited)))
        if not bubble.turn or bubble.turn in turns:
            bubbles.append(bubble)
    return replace(chat, bubbles=tuple(bubbles), edited=edited)


def earlier_replies(chat: Chat, text: str) -> tuple[Bubble, ...]:
    """What the chat shows below a message that is sent again as it was: the reply, with its notices."""
    again, *below = chat.bubbles[chat.edited :] if chat.edited is not None else (None,)
    is_same = again is not None and again.text == text
    return tuple(takewhile(lambda bubble: bubble.role != "user", below)) if is_same else ()


def given_reply(bank: Bank, persona_id: int | None, bubbles: Sequence[Bubble]) -> Reading | None:
    """The reply among bubbles, with its citations if all that it cites is still there; None without one."""
    reply = next((bubble for bubble in bubbles if bubble.answer), None)
    if reply is None or reply.answer is None:
        return None
    known, cited = still_remembered(bank, persona_id, [reply.answer]), sorted(reply.answer.cited)
    are_known = all(memory_id in known for _, memory_id, _ in cited)
    citations = tuple(Citation(n, known[memory_id], quote, {}) for n, memory_id, quote in cited if are_known)
    return Reading(reply.text, citations=citations, unsupported=reply.unsupported)


def keep_earlier(chat: Chat, earlier: Sequence[Bubble], ask: Ask) -> Chat:
    """A chat whose last message gets no reply, with the earlier replies to it."""
    turn = ask.reply_id if ask.earlier and ask.remember else ""
    return replace(chat, bubbles=(*chat.bubbles, *(replace(bubble, turn=turn) for bubble in earlier)))


def user_places(chat: Chat) -> list[int]:
    """The places of the user's messages among the bubbles of a chat."""
    return [place for place, bubble in enumerate(chat.bubbles) if bubble.role == "user"]


@journal.requested_by("Chat tab")
def forget_from(bank: Bank, chat: Chat, place: int) -> Chat:
    """The chat without its bubbles from a place on and all that came of them, in the memory, too.

    Messages that were not to be remembered are only taken out of the chat.
    """
    session = find_chat(bank, chat.id, chat.persona_id)
    first = next((bubble.turn for bubble in chat.bubbles[place:] if bubble.turn), "")
    turns = bank.turns(session.persona_id, session.id) if session and first else []
    begin = next((n for n, turn in enumerate(turns) if _name(turn) == first), len(turns))
    if session and turns[begin:]:
        selection = Selection(turns=[turn.id for turn in turns[begin:]])
        forget_selected(bank, [session.persona_id], lambda db, persona_id: selection)
    return replace(chat, bubbles=chat.bubbles[:place], edited=None)


def build_ask(bank: Bank, text: str, chat: Chat, as_of: str | None, *, remember: bool) -> Ask:
    """Build the question to answer.

    Raises:
        MemoirError: the chat was lost or has no persona, the message is too long, or `as_of` is not a date.
    """
    if not chat.id:  # the server was restarted, or dropped the state of a window that was out of touch for an hour
        raise MemoirError("This page has lost its connection to the chat. Reload it to continue.")
    if chat.persona_id is None:
        raise MemoirError("No persona yet. Create one first.")
    if len(text) > MAX_MESSAGE:
        raise MemoirError(
            f"This message has {len(text):,} characters; the limit is {MAX_MESSAGE:,}. Shorten it, or "
            "import it as a file."
        )
    now = asked_at(bank, chat.persona_id, as_of)
    said = ((USER if b.role == "user" else "", b) for b in chat.bubbles if not b.title)
    dialogue = tuple(TurnDraft(speaker, b.role, b.text, now, unsupported=b.unsupported) for speaker, b in said)
    return Ask(bank.persona(chat.persona_id), text.strip(), now, chat.id, dialogue, remember)


def asked_at(bank: Bank, persona_id: int, as_of: str | None) -> datetime:
    """Return the moment that a message is said at: the last of a chosen day, or now.

    Now is not before what was last said, although the clock may have been set back.

    Raises:
        MemoirError: `as_of` is not a date.
    """
    now = parse_as_of(as_of)
    if as_of and as_of.strip():
        return now
    said = bank.last_said(persona_id, now + MAX_CLOCK_CHANGE)
    return max(now, said.astimezone(now.tzinfo)) if said else now


def parse_as_of(as_of: str | None) -> datetime:
    """Return the last moment of a day as typed; now for an empty one.

    Raises:
        MemoirError: it is not a date.
    """
    if not as_of or not as_of.strip():
        return datetime.now(UTC).astimezone()
    last = last_moment(as_of)
    if last is None:
        raise MemoirError(f"“{as_of}” is not a date. Write for example 2023-10-22, or leave it empty to ask as of now.")
    return last
