"""Answer a message of the Chat tab: what the page shows meanwhile, and at the end."""

import asyncio
from asyncio import to_thread
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn
from weakref import WeakValueDictionary

import gradio as gr
from langchain_core.language_models import BaseChatModel
from starlette.concurrency import iterate_in_threadpool

from graph.assistant import Answer, Assistant
from graph.learning.learner import Learner
from graph.models.local_model import LocalModel
from graph.models.registry import NONE, Quantization, chat_model_or_none
from graph.state import Ask, Token, TraceLine
from graph.tab import chats, messages
from graph.tab.chat_box import ChatBox, taught_by
from graph.tab.evidence import TracePanel, render_last_sources, render_sources_of
from graph.tab.messages import Bubble, Chat, PastAnswer
from graph.tab.running import Running
from memory.embedding import e5, minilm
from memory.errors import MemoirError
from memory.tab.parts import UNCHANGED, Update, hint

MOST_RUNNING = 4
"""Answers that are written at once, of all chats."""


@dataclass(frozen=True, slots=True)
class Answering:
    """Answers with an assistant, and shows it in these components of a page.

    `show_place` says what changes on the page once a chat has begun. `running` holds, by the id of its chat, each
    answer that is being written, and `ended` the last that were. `sending` has a lock for each page.
    """

    page: gr.Blocks
    assistant: Assistant
    learner: Learner
    box: ChatBox
    chat: gr.State
    sources: gr.HTML
    timer: gr.Timer
    trace: TracePanel
    show_place: Callable[[Chat], Update]
    running: dict[str, Running]
    ended: dict[str, Running] = field(default_factory=dict)
    sending: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def take(
        self,
        chat: Chat,
        as_of: str | None,
        forgetful: bool,
        model_name: str | None,
        quantization: Quantization,
        event: gr.EventData,
        request: gr.Request,
    ) -> None:
        """Take the message of an event, and begin to answer it.

        The event names the chat that the message was written in, and which message of the user it takes the place of,
        if any: without a text, that one is asked again.
        """
        chat = await self._end_check(chat)
        text, edited, places = str(event.text), event.edits, chats.user_places(chat)
        if chat.id in self.running or len(self.running) >= MOST_RUNNING:
            refuse(messages.STILL_ANSWERING)
        if event.chat != chat.id != "" or (edited is not None and edited not in range(len(places))):
            refuse(messages.CHAT_CHANGED)
        chat = replace(chat, edited=None if edited is None else places[edited])
        text = text or chat.bubbles[chat.edited or 0].text
        held = self.page.state_holder[request.session_hash or ""][self.chat._id]
        running = self.running[chat.id] = Running(chat, [held], text, remember=not forgetful)
        updates = self._answer(running, as_of, forgetful, model_name, quantization)
        running.task = asyncio.create_task(running.write(updates, self.assistant.services.bank))

    def lock_of(self, request: gr.Request) -> asyncio.Lock:
        """Held while what changed of a chat is sent to a page, and while the page is given another chat."""
        return self.sending.setdefault(request.session_hash or "", asyncio.Lock())

    async def give(self, chat: Chat, show_other: Callable[[], Update], request: gr.Request) -> Update:
        """Give a page another chat, once what changed of this one is sent; nothing of this one is sent after."""
        async with self.lock_of(request):
            shown = await to_thread(show_other)
            # Gradio does this too, but later: meanwhile, `follow` could go on with the chat before.
            self.page.state_holder[request.session_hash or ""][self.chat._id] = shown.get(self.chat, chat)
            return shown

    async def follow(self, chat: Chat, request: gr.Request) -> AsyncIterator[Update]:
        """Yield what changes of a chat that is answered, or just was, until all is there or the page shows another."""
        running = self.running.get(chat.id) or self._unheard_end(chat)
        sent, lock = Update(), self.lock_of(request)
        state = self.page.state_holder[request.session_hash or ""]
        while (
            running is not None and self.running.get(chat.id) in (None, running) and state[self.chat._id].id == chat.id
        ):
            changed = running.changed
            news = {shown: value for shown, value in running.shown.items() if sent.get(shown) is not value}
            sent |= news
            if news:
                if self.trace.answer in news and state[self.trace.is_open._id]:
                    news |= await to_thread(self.trace.explain, news[self.trace.answer])
                async with lock:  # until Gradio has sent it, and asks for the next
                    if state[self.chat._id].id == chat.id:
                        yield news
            elif running.task is not None and running.task.done():
                running.task.result()
                break
            else:
                await changed.wait()
        yield {self.box.composer: gr.skip()}  # or Gradio would send the last update again

    async def _answer(
        self, running: Running, as_of: str | None, forgetful: bool, model_name: str | None, quantization: Quantization
    ) -> AsyncIterator[Update]:
        """Yield what a page shows while a message is answered, and at the end."""
        try:
            chosen = (model_name or NONE).strip() or NONE
            model = await to_thread(chat_model_or_none, chosen, quantization)
            ask, bubbles, unanswered = await to_thread(self._begin, running, as_of, remember=not forgetful)
            assistant = self.assistant.reading_with(model, chosen, quantization)
            self.learner.use(assistant.services.model)
            begun = {self.box.composer: messages.busy(ask.persona.name), self.box.go_on: gr.update(visible=False)}
            place = {} if running.chat.bubbles else await to_thread(self.show_place, running.chat)
            yield {**begun, **place, **self._below(bubbles, messages.status("Thinking…"))}
            waits = assistant.wait_until_ready(self.learner.indexer, ask.persona.id)
            async for waiting in iterate_in_threadpool(waits):
                yield self._below(bubbles, messages.status(waiting))
                if running.stop.is_set():
                    break
            async for update in self._write(assistant, ask, bubbles, running, unanswered):
                yield update
        except Exception:  # whatever it was, the page must not wait for ever
            restored = {self.box.bubbles: messages.shown(running.chat.bubbles), self.chat: running.chat}
            yield {self.box.composer: messages.ready(running.text), **restored}
            raise
        finally:
            self._count_as_ended(running)

    def _begin(self, running: Running, as_of: str | None, *, remember: bool) -> tuple[Ask, Sequence[Bubble], Chat]:
        """The question to answer, the bubbles up to it, and the chat if it gets no answer.

        What was forgotten leaves the chat, and so does what the message takes the place of.
        """
        bank, text = self.assistant.services.bank, running.text
        before = running.chat = chats.without_forgotten(bank, running.chat)
        shorter = replace(before, bubbles=before.bubbles[: before.edited])
        ask = chats.build_ask(bank, text, shorter, as_of, remember=remember)  # first: it may be refused
        if before.edited is not None:
            running.chat = chats.forget_from(bank, before, before.edited)
        earlier = chats.earlier_replies(before, text)
        ask = replace(ask, earlier=chats.given_reply(bank, before.persona_id, earlier))
        said = messages.user_bubble(text, ask.turn_id if remember else "")
        bubbles = (*messages.latest(running.chat.bubbles), said)
        return ask, bubbles, chats.keep_earlier(replace(running.chat, bubbles=bubbles), earlier, ask)

    async def _write(
        self, assistant: Assistant, ask: Ask, bubbles: Sequence[Bubble], running: Running, unanswered: Chat
    ) -> AsyncIterator[Update]:
        """Yield the answer as it comes, then all of it; if there is none, the chat `unanswered`."""
        chat, draft, event = running.chat, "", None
        model = assistant.services.model
        async for event in assistant.stream(ask, running.stop):
            if isinstance(event, Answer) and event.reading.answer:
                by_model = event.reading.by == assistant.services.settings.model
                shown = await to_thread(self._show_answer, chat, bubbles, event, by_model=by_model)
                self._count_as_ended(running)  # before the page shows that the next message can be sent
                yield shown
                return
            if isinstance(event, Token) and event.is_last:
                running.is_checked = True
                yield {self.box.composer: messages.ready(), self.sources: hint(messages.CHECKING)}
            elif model is None:
                continue  # all of the answer is there before a part could be read
            elif isinstance(event, Token):
                draft = event.text if event.restart else draft + event.text
                yield self._below(bubbles, messages.draft_bubble(draft))
            elif isinstance(event, TraceLine) and not draft and event.node in messages.STATUS:
                yield self._below(bubbles, messages.status(status_after(event.node, model)))
        yield await to_thread(self._end_unanswered, unanswered)

    def _count_as_ended(self, running: Running) -> None:
        if self.running.get(running.chat.id) is running:
            del self.running[running.chat.id]
            self.ended.pop(running.chat.id, None)
            self.ended[running.chat.id] = running
            for old in [*self.ended][:-MOST_RUNNING]:
                del self.ended[old]

    def _below(self, bubbles: Sequence[Bubble], last: Bubble) -> Update:
        return {self.box.bubbles: messages.shown([*bubbles, last])}

    async def stop(self, chat: Chat) -> Update:
        """Stop the answer that is being written in this chat, and show at once that this was heard.

        If none is, the page missed its end: then the next message can be sent.
        """
        running = self.running.get(chat.id)
        if running is None:
            return {self.box.composer: messages.ready()}
        running.stop.set()
        running.show({self.box.composer: messages.stopping()})
        return UNCHANGED

    def _unheard_end(self, chat: Chat) -> Running | None:
        """The last answer of a chat, if the page that holds the chat has not heard of its end."""
        ended = self.ended.get(chat.id)
        return ended if ended and any(held is chat for held in ended.held) else None

    async def _end_check(self, chat: Chat) -> Chat:
        """The chat after its last reply: if that is only compared with the memories, this ends.

        A page that had not heard of the end sends the chat as it was before.
        """
        running, ended = self.running.get(chat.id), self._unheard_end(chat)
        if running is not None and running.is_checked and running.task is not None:
            running.stop.set()
            await asyncio.wait((running.task,))
            ended = running
        elif running is not None or ended is None:
            return chat
        kept: Chat = ended.shown.get(self.chat, chat)
        return kept

    async def forget_last(self, chat: Chat) -> Update:
        """Put the last message back into the composer; it leaves the chat and the memory with all that came of it."""
        chat = await self._end_check(chat)
        if chat.id in self.running:
            raise MemoirError(messages.STILL_ANSWERING)
        if not (places := chats.user_places(chat)):
            return UNCHANGED
        shorter = await to_thread(chats.forget_from, self.assistant.services.bank, chat, places[-1])
        text = messages.ready(chat.bubbles[places[-1]].text)
        return {**await to_thread(self._end_unanswered, shorter), self.box.composer: text}

    async def read_message(self, chat: Chat, event: gr.EventData) -> str:
        """Return one of the user's messages as it was typed, to be edited."""
        chat = await self._end_check(chat)
        if chat.id in self.running:
            raise MemoirError(messages.STILL_ANSWERING)
        return chat.bubbles[chats.user_places(chat)[int(event.message)]].text

    def _is_first_in_script(self, ask: Ask) -> bool:
        """Whether a message is the first of its chat in letters that the encoder does not know, and another does."""
        said = (turn.text for turn in ask.dialogue if turn.role == "user")
        is_unread = not minilm.reads(ask.text) and all(map(minilm.reads, said))
        return is_unread and self.assistant.services.classifier.model == minilm.NAME and e5.is_installed()

    def _show_answer(self, chat: Chat, bubbles: Sequence[Bubble], answer: Answer, *, by_model: bool) -> Update:
        bank, reading = self.assistant.services.bank, answer.reading
        if answer.stored and answer.stored.memories:
            taught = taught_by(bank, answer.ask.persona.id, chat.id, answer.ask.turn_id)
            told = tuple(memory.text for memory in taught if memory.retracted_at is None)
            bubbles = (*bubbles[:-1], replace(bubbles[-1], remembered=told))
        cited = tuple((c.number, c.memory.id, c.quote) for c in reading.citations)
        past = PastAnswer(answer.ask.text, cited, chat.answers[-1].number + 1 if chat.answers else 1)
        notice = messages.notice(messages.NOTE if by_model else messages.WITHOUT_MODEL, reading.notice)
        if not by_model and any(b.title and b.text == reading.notice for b in chat.bubbles):
            notice = messages.notice(messages.WITHOUT_MODEL, messages.AS_BEFORE)
        reply = messages.answer_bubble(reading.answer, past, reading.unsupported)
        given = (reply, *notice) if by_model else (*notice, reply)
        turn = answer.ask.reply_id if answer.stored else ""
        bubbles = (*bubbles, *(replace(bubble, turn=turn) for bubble in given))
        if self._is_first_in_script(answer.ask):
            bubbles = (*bubbles, *messages.notice(messages.NOTE, messages.OTHER_SCRIPT))
        return {
            **self._end(replace(chat, bubbles=bubbles), cut=reading.cut),
            self.sources: render_sources_of(bank, answer.ask.persona.id, past, reading),
            self.trace.answer: answer,
        }

    def _end_unanswered(self, chat: Chat) -> Update:
        """Show a chat that ends without a new answer, and the sources of its last."""
        sources = render_last_sources(self.assistant.services.bank, chat)
        return {**self._end(chat), self.sources: sources, **self.trace.clear()}

    def _end(self, chat: Chat, *, cut: bool = False) -> Update:
        return {
            self.box.go_on: gr.update(visible=cut),
            self.box.composer: messages.ready(),
            self.box.bubbles: messages.shown(chat.bubbles),
            self.chat: chat,
            self.timer: gr.update(active=True),
            **self.show_place(chat),
        }


def refuse(why: str) -> NoReturn:
    """Say why a message is not taken; the page then puts it back into the composer."""
    gr.Info(why, duration=4)
    raise gr.Error(why, visible=False, print_exception=False)


def status_after(node: str, model: BaseChatModel) -> str:
    """What is being done after a node: what comes after `time_filter` first loads a model that runs here."""
    if node == "time_filter" and isinstance(model, LocalModel) and not model.weights.loaded:
        return messages.LOADING_MODEL
    return messages.STATUS[node]
