"""Telegram Desktop's export as JSON: result.json of one chat, or of the whole account.

    {"personal_information": {"user_id": 11, "first_name": "Ana"}, "chats": {"list": [
      {"name": "Bo", "type": "personal_chat", "id": 22, "messages": [
        {"id": 1, "type": "service", "date": "2024-05-01T08:00:00", "actor": "Bo", "action": "phone_call"},
        {"id": 2, "type": "message", "date": "2024-05-01T08:00:05", "date_unixtime": "1714550405", "from": "Bo",
         "from_id": "user22", "text": ["See ", {"type": "link", "text": "example.org"}], "forwarded_from": "Cy"}]}]}}

One chat alone has its `name`, `type`, `id` and `messages` at the top. Format as written by
github.com/telegramdesktop/tdesktop (export_output_json.cpp).

A chat is a history identified by its id; a pause of six hours begins a session, identified by its first message. The
user is the one that `personal_information` names; in the export of one personal chat, the one who is not the chat's id;
otherwise the first to speak, which is reported. A forwarded message says from whom. Left out, and reported: service
messages, and pictures, files and polls beside the text. `date_unixtime` is exact; `date` alone is read as UTC. Contacts
and the like are not read.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from memory.importers.reading.dialogue import ChatLog, RoleAssigner
from memory.importers.reading.fields import EMPTY_TURN, Fields, parse_epoch
from memory.importers.reading.json_stream import Place, format_place, has_any, stream_values
from memory.importers.reading.source import Record, Source, record_reader
from memory.types import PersonaDraft, Skip, TurnDraft

NAME = "Telegram"

ACCOUNT = "personal_information"
LISTS = (("chats", "list"), ("left_chats", "list"))
OPENED = frozenset({(), ("messages",), *LISTS, *(place[:1] for place in LISTS)})
sniff = has_any(
    *(("messages", "[]", sign) for sign in ("from_id", "actor_id", "date_unixtime", "text_entities")),
    *((*place, "[]", "messages") for place in LISTS),
    (ACCOUNT, "user_id"),
)
OF_TWO = frozenset({"personal_chat", "bot_chat"})
MEDIA = ("media_type", "photo", "file", "poll", "location_information", "contact_information", "game_title")
NOBODY = "Deleted account"

# Before 2021 user ids were numbers with a higher bit set (export_data_types.cpp); a chat has the id of its user.
BARE_ID = (1 << 32) - 1


@record_reader
def read(skips: list[Skip], path: Source) -> Iterator[Record | None]:
    """Each chat, session by session."""
    user = ""
    for chat, parts in groupby(stream_values(path, _is_opened), lambda part: _chat_of(part[0])):
        if chat == (ACCOUNT,):
            (_, account), *_ = parts
            user_id = Fields(account, "").text("user_id") if isinstance(account, dict) else ""
            user = f"user{user_id}" if user_id else ""
        elif chat is not None:
            yield from _read_chat(skips, chat, parts, user)


def _is_opened(place: Place) -> bool:
    return place[3:] in OPENED if place[:2] in LISTS and len(place) > 2 else place in OPENED


def _chat_of(place: Place) -> Place | None:
    """The place of the chat that a value belongs to, or of the account; None if it belongs to neither."""
    if place[:2] in LISTS or place[:1] == (ACCOUNT,):
        return place[:3]
    return () if place[:1] in (("name",), ("type",), ("id",), ("messages",)) else None


def _read_chat(
    skips: list[Skip], chat: Place, parts: Iterable[tuple[Place, Any]], user: str
) -> Iterator[Record | None]:
    """One chat, whose name and type come before its messages; `user` is whose account it is, if known."""
    head: dict[str, Any] = {}
    cast: RoleAssigner | None = None
    log = ChatLog(skips)
    where = format_place(chat)
    for place, value in parts:
        inner = place[len(chat) :]
        if not inner:
            yield Skip(where, "expected a chat with messages")
        elif inner[0] != "messages":
            head[str(inner[0])] = value
        elif len(inner) != 2:
            yield Skip(format_place(place), "expected a list of messages")
        else:
            if cast is None:
                cast, persona = _read_head(Fields(head, where, skips), user)
                yield persona
            message = Fields.of(value, format_place(place), skips)
            turn = _read_message(message, cast)
            yield None
            if turn:
                yield from log.add(turn, message.place)
    yield from log.finish()
    if cast:
        yield cast.guess_at(where)
    elif head:
        yield Skip(where, "a chat without messages")


def _read_head(head: Fields, user: str) -> tuple[RoleAssigner, PersonaDraft]:
    kind, key = head.text("type"), head.text("id")
    peer = [f"user{key}", _user_key(key)] if key and not user else []
    # Saved messages are a chat of the user with themselves.
    users = [user] if user else peer if kind == "saved_messages" else []
    fallback = "Saved messages" if kind == "saved_messages" else f"Telegram chat {key}".strip()
    persona = PersonaDraft(head.text("name").strip() or fallback, f"telegram-{key}" if key else "")
    return RoleAssigner(users, peer if kind in OF_TWO else []), persona


def _read_message(message: Fields, cast: RoleAssigner) -> TurnDraft | None:
    kind = message.text("type")
    if kind != "message":
        action = message.text("action").replace("_", " ")
        message.report("", f"not a written message but {kind or 'of unknown type'}{f' ({action})' if action else ''}")
        return None
    pieces = message.pieces("text")  # marked-up text is a list of strings and objects
    text = "".join(piece if isinstance(piece, str) else piece.text("text") for piece in pieces).strip()
    if media := [name for name in MEDIA if message.values.get(name)]:
        left_out = message.text("media_type").replace("_", " ") or media[0].partition("_")[0]
        message.report("", f"only text is kept; left out: {left_out}")
    elif not text:
        message.report("", EMPTY_TURN)
    if not text:
        return None
    if "forwarded_from" in message.values:
        origin = message.text("forwarded_from")
        text = f"[forwarded{f' from {origin}' if origin else ''}] {text}"
    speaker = message.text("from").strip() or NOBODY
    key = _user_key(message.text("from_id")) or speaker
    is_exact = bool(message.values.get("date_unixtime"))
    said_at = message.moment("date_unixtime", parse_epoch) if is_exact else message.moment("date")
    return TurnDraft(speaker, cast.role_of(key, speaker), text, said_at, message.text("date"), message.text("id"))


def _user_key(written: str) -> str:
    """A `from_id` in today's spelling, "user22"."""
    return f"user{int(written) & BARE_ID}" if written.isdecimal() and len(written) < 20 else written
