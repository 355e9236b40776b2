"""The chats beside the chat: whom the user talks with, and past chats by day, to open, search, rename and delete."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby

import gradio as gr
from markupsafe import Markup

from graph.nodes.persist import MAX_TITLE, title_of
from graph.tab.messages import Chat
from graph.tab.running import Running
from memory.bank import journal
from memory.bank.bank import Bank
from memory.bank.queries.chats import change_chat, find_chat, openings, past_chats
from memory.bank.queries.deletion import select_session
from memory.errors import MemoirError
from memory.forgetting.forget import forget_selected, preview_selected
from memory.formatting import format_count, format_day
from memory.tab.parts import PRIVATE, Confirm, Update, hint, look, render
from memory.types import Session

LISTED = 100
"""Chats in the list; older ones are found by their words."""

MOST_TITLE = 80
"""Characters of a title."""

UNKEPT = "Not remembered"
"""The title of a chat that is not to be remembered, as long as it is answered."""

OPENING = 4
"""The user's turns in which the title of a conversation without one is looked for."""


class ChatList:
    """The components; `deleted` gets the id of a chat that left the list, `shown` are those that change with a chat."""

    def __init__(self, bank: Bank, chat: gr.State, running: Mapping[str, Running]) -> None:
        self.bank = bank
        self.running = running
        self.chosen: gr.State = gr.State("")
        self.deleted: gr.State = gr.State("")
        self.new_chat = gr.Button("New chat", variant="primary", elem_id="new-chat")
        self.persona = gr.Dropdown(label="Talk with", min_width=150, elem_id="persona")
        self.apart = gr.Checkbox(**look("apart"))
        self.search = gr.Textbox(**look("chat-search"))
        with gr.Column(visible=False, elem_classes="memoir-chat-menu", elem_id="chat-menu") as self.menu:
            self.title = gr.Textbox(max_length=MOST_TITLE, **look("chat-title"))
            with gr.Row():
                rename = gr.Button("Rename", size="sm", min_width=80, elem_id="chat-rename")
                cancel = gr.Button("Cancel", size="sm", min_width=80, elem_id="chat-cancel")
            self.note = gr.HTML(padding=False)
            with gr.Column() as self.ways:
                hide = gr.Button("Remove from the list", size="sm", elem_id="chat-hide")
                forget = gr.Button("Delete and forget", size="sm", variant="stop", elem_id="chat-forget")
            self.confirm = Confirm("chat-forget", size="sm", min_width=80)
        self.list = gr.HTML(**look("past-chats"))
        self.shown = [self.list, self.search]
        closed, asked = [self.list, self.menu], [self.ways, *self.confirm.outputs]
        self.search.change(self.show, [chat, self.search], self.list, trigger_mode="always_last", **PRIVATE)
        self.list.edit(self.open_menu, chat, [self.chosen, self.title, self.note, self.menu, *asked], **PRIVATE)
        renaming = [chat, self.chosen, self.title, self.search]
        gr.on([rename.click, self.title.submit], self.rename, renaming, closed, **PRIVATE)
        chosen, left = [chat, self.chosen, self.search], [self.deleted, *closed]
        hide.click(partial(self.remove, forget=False), chosen, left, **PRIVATE)
        forget.click(self.show_preview, [chat, self.chosen], asked, **PRIVATE)
        self.confirm.cancel.click(self._offer_ways, None, asked, **PRIVATE)
        self.confirm.sure.click(partial(self.remove, forget=True), chosen, left, **PRIVATE)
        cancel.click(lambda: gr.Column(visible=False), None, self.menu, **PRIVATE)

    def show(self, chat: Chat, words: str = "") -> Update:
        """List the chats with a persona that these words are found in, or all, with those that just began."""
        running = [] if words.strip() else self.running.values()
        begun = [(each.chat, title_of(each.text) if each.remember else UNKEPT) for each in running]
        return {self.list: render_chats(self.bank, chat, words, datetime.now(UTC).astimezone(), begun)}

    def open_menu(self, chat: Chat, event: gr.EventData) -> Update:
        """Ask what to do with a chat of the list."""
        past = self._find(chat, str(event.chat))
        return {
            self.chosen: past.chat_id,
            self.title: name_chats(self.bank, [past])[0].title,
            self.note: hint("Removing keeps what you told; deleting forgets it."),
            self.menu: gr.Column(visible=True),
            **self._offer_ways(),
        }

    def show_preview(self, chat: Chat, chosen: str) -> Update:
        """Say what would be forgotten with a chat, and ask."""
        past = self._find(chat, chosen)
        gone = preview_selected(self.bank, [past.persona_id], select_session(past.id))
        preview = render("forget_preview.html", gone=replace(gone, lines=()), is_fact=False)
        return {self.ways: gr.Column(visible=False), **self.confirm.ask(preview)}

    def _offer_ways(self) -> Update:
        return {self.ways: gr.Column(visible=True), **self.confirm.close()}

    def rename(self, chat: Chat, chosen: str, title: str, words: str) -> Update:
        """Give a chat another title."""
        change_chat(self.bank, self._find(chat, chosen), title=" ".join(title.split())[:MOST_TITLE])
        return self._close(chat, words)

    def remove(self, chat: Chat, chosen: str, words: str, *, forget: bool) -> Update:
        """Take a chat out of the list; what was told in it stays known, or is forgotten with it."""
        past = self._find(chat, chosen)
        with journal.requested_by("Chat tab"):
            if not forget:
                change_chat(self.bank, past, hidden=1)
            else:
                gone = forget_selected(self.bank, [past.persona_id], select_session(past.id))
                forgotten = format_count(gone.turns, "message"), format_count(gone.memories, "memory", "memories")
                gr.Info(f"Forgotten: {' and '.join(forgotten)}.", duration=6)
        return {self.deleted: chosen, **self._close(chat, words)}

    def _close(self, chat: Chat, words: str) -> Update:
        return {self.menu: gr.Column(visible=False), **self.show(chat, words)}

    def _find(self, chat: Chat, chat_id: str) -> Session:
        past = find_chat(self.bank, chat_id, chat.persona_id)
        if past is None or past.persona_id != chat.persona_id:
            raise MemoirError("This chat was forgotten.")
        return past


def render_chats(bank: Bank, chat: Chat, words: str, now: datetime, begun: Sequence[tuple[Chat, str]] = ()) -> Markup:
    """Render the chats with a persona, the latest first, by the days of their last turns; the open one is marked.

    `begun` are chats of which the bank may hold nothing yet, with their titles.
    """
    found = past_chats(bank, chat.persona_id, LISTED, words) if chat.persona_id is not None else []
    known = {each.chat_id for each, _ in found}
    for new, title in begun:
        if new.persona_id is not None and new.persona_id == chat.persona_id and new.id not in known:
            found.insert(0, (Session(0, new.persona_id, new.id, title, "chat", now, "", 0), now))
    named = name_chats(bank, [each for each, _ in found])
    moments = [last and last.astimezone(now.tzinfo) for _, last in found]
    past = list(zip(named, moments, strict=True))
    days = [(day, list(chats)) for day, chats in groupby(past, lambda each: name_day(each[1], now))]
    return render("past_chats.html", days=days, open=chat.id, full=len(past) == LISTED, words=words.strip())


def name_chats(bank: Bank, chats: Sequence[Session]) -> list[Session]:
    """The chats, those without a title named by what the user says at their beginning."""
    said = openings(bank, [chat for chat in chats if not chat.title], OPENING)
    named = {number: title_of(text) or text.strip().partition("\n")[0][:MAX_TITLE] for number, text in said.items()}
    return [replace(chat, title=chat.title or named.get(chat.id) or "Conversation") for chat in chats]


def name_day(moment: datetime | None, now: datetime) -> str:
    """The day of a chat as the list names it."""
    if moment is None:
        return "Without a date"
    names = {now.date(): "Today", now.date() - timedelta(days=1): "Yesterday"}
    return names.get(moment.date()) or format_day(moment)
