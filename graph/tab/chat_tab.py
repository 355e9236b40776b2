"""The Chat tab: talk with a persona, see what each answer relies on, and how it was found."""

from functools import partial
from urllib.parse import urlencode

import gradio as gr

from graph.assistant import Answer, Assistant
from graph.learning.learner import Learner
from graph.tab import messages, personas
from graph.tab.answering import Answering
from graph.tab.chat_box import ChatBox, RememberedPanel
from graph.tab.chat_list import ChatList
from graph.tab.chats import find_place, open_new, parse_as_of, resume, without_forgotten
from graph.tab.evidence import TracePanel, render_last_sources, render_sources_of
from graph.tab.messages import Chat
from graph.tab.model_panels import EncoderPanel, ModelPanel
from graph.tab.personas import PROACTIVE, SAMPLE, NewPersonaPanel, WelcomePanel
from graph.tab.running import Running
from memory.bank.bank import Bank
from memory.bank.queries.chats import find_chat
from memory.errors import MemoirError
from memory.formatting import format_count, format_day
from memory.search.indexer import count_pending
from memory.tab.import_panel import ImportPanel
from memory.tab.memory_tab import persona_choices
from memory.tab.parts import PRIVATE, TEXTS, UNCHANGED, Update, hint, look, render
from memory.types import Persona


class ChatTab:
    """The tab's components and what they do; other tabs follow its `persona` picker."""

    def __init__(
        self, page: gr.Blocks, tab: gr.Tab, assistant: Assistant, learner: Learner, *, choose_model: bool
    ) -> None:
        self.assistant, self.learner, self.indexer = assistant, learner, learner.indexer
        self.bank = assistant.services.bank
        self.chat: gr.State = gr.State(Chat())
        running: dict[str, Running] = {}
        self.timer = gr.Timer(2, active=False)
        self.welcome = WelcomePanel(self.bank)
        with gr.Column(elem_classes="memoir-talk") as self.talk:
            gr.HTML(render("open_chats.html"), padding=False, elem_classes="memoir-opener")
            with gr.Row(elem_classes="memoir-columns"):
                with gr.Column(min_width=0, elem_classes="memoir-drawer memoir-chats"):
                    gr.HTML(render("chats_heading.html"), padding=False)
                    self.chats = ChatList(self.bank, self.chat, running)
                    self.persona = self.chats.persona
                    with gr.Accordion("New persona", open=False, elem_classes="memoir-over", elem_id="new-persona"):
                        self.new_persona = NewPersonaPanel(self.bank)
                    with gr.Accordion("Import", open=False, elem_classes="memoir-over", elem_id="bring-in"):
                        self.imports = ImportPanel(self.bank, self.indexer, lambda: personas.own_assistant(self.bank))
                with gr.Column(scale=7, min_width=320, elem_classes="memoir-main"):
                    with gr.Row(elem_classes="memoir-place"):
                        self.place = gr.HTML(**look("place"))
                        self.own = gr.Button(**look("own"))
                    self.box = ChatBox()
                with gr.Column(scale=4, min_width=320, elem_classes="memoir-side"):
                    self._build_side(choose_model)
            self.trace = TracePanel(self.bank, self.persona)
            RememberedPanel(self.bank, self.chat)
        self.answering = Answering(
            page, assistant, learner, self.box, self.chat, self.sources, self.timer, self.trace, self._where, running
        )
        self._connect(page, tab, self.answering)
        if choose_model:  # what was said before Memoir was stopped is learned from by the model, too
            learner.use(self.model.chosen_model())

    def _build_side(self, choose_model: bool) -> None:
        self.date_note = gr.HTML(padding=False, elem_id="date-note")
        self.indexing = gr.HTML(padding=False, elem_id="indexing")
        with gr.Column(elem_classes="memoir-drawer memoir-sheet"):
            gr.HTML(render("drawer_heading.html", title="Sources"), padding=False)
            self.sources = gr.HTML(**look("sources"))
        with gr.Accordion("Settings", open=False, elem_classes="memoir-over", elem_id="chat-settings"):
            self.forgetful = gr.Checkbox(label="Don't remember this chat", elem_id="forgetful")
            self.proactive = gr.Checkbox(True, label=PROACTIVE, elem_id="proactive")
            self.as_of = gr.DateTime(**look("as-of"))
            self.at_end = gr.Button("Answer as of the last conversation", size="sm", elem_id="at-end")
            self.encoder = EncoderPanel(self.assistant, self.indexer, self.timer)
        self.model = ModelPanel(self.assistant, choose=choose_model)

    def _connect(self, page: gr.Blocks, tab: gr.Tab, answering: Answering) -> None:
        beside = [*self.chats.shown, *self.trace.outputs, self.timer]
        shown = [self.chat, self.sources, self.place, *self.box.shown, *beside]
        fresh = [*shown, self.as_of, self.forgetful, *self.box.suggestions]
        ways_in = [self.welcome.panel, self.welcome.offer, self.talk, self.own]
        opened = [*fresh, self.persona, self.proactive, self.chats.apart, *ways_in]
        loaded = page.load(self.open_page, None, [*opened, self.encoder.choice, *self.model.described], **PRIVATE)
        self.welcome.started.change(lambda started: self.open_chat(*started), self.welcome.started, opened, **PRIVATE)
        self.welcome.demo.click(self.open_demo, None, opened, **PRIVATE)
        self.own.click(self.open_own, self.chat, opened, **PRIVATE)
        tab.select(self.refresh, [self.chat, self.trace.answer, self.chats.search], fresh, **PRIVATE)
        self.chats.deleted.change(self.leave_chat, [self.chat, self.chats.deleted], fresh, **PRIVATE)
        self.sources.select(self.show_sources, self.chat, self.sources, **PRIVATE)
        # A dropdown also sends "input" when the keyboard only passes through it.
        self.persona.input(self.choose_persona, [self.chat, self.persona], opened, **PRIVATE)
        self.imports.imported.change(self.show_imported, [self.chat, self.imports.imported], opened, **PRIVATE)
        made = self.new_persona.created
        created = made.change(self.choose_persona, [self.chat, made], opened, **PRIVATE)
        created.then(None, js="() => window.showChat()")
        for setting, box in (("proactive", self.proactive), ("kept_apart", self.chats.apart)):
            box.input(partial(self.set_persona, setting), [self.chat, box], None, **PRIVATE)
        self.at_end.click(self.find_last_day, self.chat, self.as_of, **PRIVATE)
        explained = [self.date_note, self.box.dated]
        self.as_of.change(self.explain_date, [self.chat, self.as_of], explained, trigger_mode="always_last", **PRIVATE)
        self.box.dated.click(lambda: None, None, self.as_of, **PRIVATE)
        self.forgetful.change(lambda on: gr.Button(visible=on), self.forgetful, self.box.unkept, **PRIVATE)
        self.box.unkept.click(lambda: False, None, self.forgetful, **PRIVATE)
        self.timer.tick(self.show_indexing, self.chat, [self.indexing, self.timer], **PRIVATE)
        as_chosen = [self.chat, self.as_of, self.forgetful, self.model.name, self.model.quantization]
        # With the default "once", a page drops what is done until it has seen the end of the last, without a word.
        at_once = {"trigger_mode": "multiple", "concurrency_limit": None, **PRIVATE}
        self.box.composer.submit(None, js="() => window.sendMessage()", **PRIVATE)
        for button in (*self.box.suggestions, self.box.go_on):
            button.click(None, button, js="(text) => window.sendMessage(text)", **PRIVATE)
        self.box.bubbles.retry(None, js="() => window.sendAgain()", **PRIVATE)
        self.box.bubbles.undo(None, js="() => window.takeBack()", **PRIVATE)
        # What screen.js asks for, one after the other.
        sent = self.place.submit(answering.take, as_chosen, None, **at_once)
        undone = self.place.undo(answering.forget_last, self.chat, shown, **at_once)
        read = self.place.edit(answering.read_message, self.chat, self.box.composer, **at_once)
        chosen = self.place.select(self.open_listed, [self.chat, self.as_of], opened, **at_once)
        for asked in (sent, undone, read, chosen):
            asked.success(None, js="() => window.endTurn(true)")
            asked.failure(None, js="() => window.endTurn(false)")
        chosen.success(answering.follow, self.chat, shown, **at_once)
        sent.success(answering.follow, self.chat, shown, **at_once).failure(None, js="() => window.failAnswer()")
        followed = loaded.then(answering.follow, self.chat, shown, **at_once)
        offered = followed.then(self.model.offer_first, None, self.welcome.models, **PRIVATE)
        prepared = offered.then(self.assistant.prepare, None, None, **PRIVATE)
        prepared.then(partial(self.box.greet, self.assistant), self.chat, self.box.bubbles, **PRIVATE)
        offer = self.welcome.models
        offer.input(lambda name: name, offer, self.model.name, trigger_mode="always_last", **PRIVATE)
        # Not with Gradio's `cancels`, which covers the chat with the word "Error".
        self.box.composer.stop(answering.stop, self.chat, self.box.composer, **PRIVATE)

    def open_page(self, request: gr.Request) -> Update:
        """Show the chat or the persona that the page's address names, or welcome a new user."""
        running = self.answering.running.get(request.query_params.get("chat", ""))
        place = (running.chat.persona_id, running.chat.id) if running else find_place(self.bank, request.query_params)
        shown = self.open_chat(*place) if place else self.show_welcome()
        return {**shown, self.encoder.choice: self.encoder.model_in_use(), **self.model.describe()}

    def show_welcome(self) -> Update:
        """Ask a new user's name, and offer the demo if it is there."""
        return {
            self.welcome.panel: gr.Column(visible=True),
            self.welcome.offer: gr.Column(visible=personas.find_sample(self.bank) is not None),
            self.talk: gr.Column(visible=False),
        }

    def open_demo(self) -> Update:
        """Start a chat with the persona that comes with Memoir."""
        demo = personas.find_sample(self.bank)
        return self.open_chat(demo.id) if demo else UNCHANGED

    def open_own(self, chat: Chat) -> Update:
        """Leave the demo for the newest persona of the user's own, or to begin."""
        self.learner.close(chat.id)
        own = personas.own_personas(self.bank)
        return self.open_chat(own[-1].id) if own else self.show_welcome()

    async def open_listed(self, chat: Chat, as_of: str | None, event: gr.EventData, request: gr.Request) -> Update:
        """Go on with a chat of the list, or start another with the same persona."""
        show_other = partial(self._open_listed, chat, as_of, str(event.opens))
        return await self.answering.give(chat, show_other, request)

    def _open_listed(self, chat: Chat, as_of: str | None, chosen: str) -> Update:
        if not chosen:
            self.learner.close(chat.id)
            return self._start(_find(self.bank, chat.persona_id), as_of)
        past = find_chat(self.bank, chosen, chat.persona_id)
        if past is None and chosen not in self.answering.running:
            raise MemoirError("This chat was forgotten.")
        if chosen == chat.id:
            return self._without_forgotten(chat, None) or UNCHANGED
        return self._leave_for(chat, past.persona_id if past else chat.persona_id, chosen)

    def refresh(self, chat: Chat, answer: Answer | None, words: str) -> Update:
        """Show the chat and what is known beside it as they are now, after another tab was open."""
        if (persona := next((each for each in self.bank.personas() if each.id == chat.persona_id), None)) is None:
            return UNCHANGED
        about = {} if chat.bubbles else self.box.show(self.assistant.services, persona)
        about |= {**self.box.suggest(self.bank, persona), **self.chats.show(chat, words)}
        return {**about, **self._without_forgotten(chat, answer)}

    def _without_forgotten(self, chat: Chat, answer: Answer | None) -> Update:
        """Show the chat without what was forgotten, if any of it was, or of what was found for its last answer."""
        if chat.id in self.answering.running:  # the next answer begins so
            return {}
        current = without_forgotten(self.bank, chat)
        found = [hit.memory.id for hit in answer.hits] if answer else []
        kept = self.bank.memories_by_id(chat.persona_id, found) if chat.persona_id else []
        if current == chat and len(kept) == len(found):
            return {}
        return {
            self.chat: current,
            self.box.bubbles: messages.shown(current.bubbles),
            self.sources: render_last_sources(self.bank, current),
            **self.trace.clear(),
        }

    def show_sources(self, chat: Chat, event: gr.EventData) -> Update:
        """Show the sources of an earlier answer."""
        answer = next((each for each in chat.answers if each.number == int(event.answer)), None)
        if chat.persona_id is None or answer is None:
            return UNCHANGED
        return {self.sources: render_sources_of(self.bank, chat.persona_id, answer)}

    def choose_persona(self, chat: Chat, persona_id: int | None) -> Update:
        """Start a chat with another persona."""
        return UNCHANGED if persona_id == chat.persona_id else self._leave_for(chat, persona_id)

    def show_imported(self, chat: Chat, persona_id: int | None) -> Update:
        """Start a chat with the persona that was imported."""
        self.learner.wake()
        return UNCHANGED if persona_id is None else self._leave_for(chat, persona_id)

    def _leave_for(self, chat: Chat, persona_id: int | None, chat_id: str = "") -> Update:
        self.learner.close(chat.id)
        return self.open_chat(persona_id, chat_id)

    def leave_chat(self, chat: Chat, deleted: str) -> Update:
        """Start another chat if the open one was deleted."""
        return self._start(_find(self.bank, chat.persona_id), None) if deleted == chat.id else UNCHANGED

    def set_persona(self, setting: str, chat: Chat, on: bool) -> None:
        """Keep whether the persona brings up memories on its own, or is kept apart from the others."""
        if chat.persona_id is not None:
            self.bank.change_persona(chat.persona_id, **{setting: on})

    def find_last_day(self, chat: Chat) -> str:
        """Return the last day of the history."""
        period = self.bank.time_range(chat.persona_id) if chat.persona_id is not None else None
        if period is None:
            raise MemoirError("Nothing in this history has a date yet.")
        return f"{period.end:%Y-%m-%d}"

    def explain_date(self, chat: Chat, as_of: str | None) -> Update:
        """Say what the chosen date means."""
        if not as_of:
            return {self.date_note: "", self.box.dated: gr.Button(visible=False)}
        moment = parse_as_of(as_of)
        period = self.bank.time_range(chat.persona_id) if chat.persona_id is not None else None
        is_end = period is not None and period.end.date() == moment.date()
        day, note = format_day(moment), TEXTS["as_of"]["end" if is_end else "day"]
        return {self.date_note: hint(note.format(day)), self.box.dated: gr.Button(f"As of {day} ✕", visible=True)}

    def show_indexing(self, chat: Chat) -> Update:
        """Show what the background threads do for the persona of a chat; the timer stops when nothing is left."""
        pending = count_pending(self.bank, self.assistant.services.searcher.embedder.model, chat.persona_id)
        if self.indexer.fault is not None:
            stopped = f"Indexing stopped: {self.indexer.fault}. It resumes with your next message."
            return {self.indexing: hint(stopped), self.timer: gr.Timer()}
        state = f"Indexing {format_count(pending, 'memory', 'memories')}…" if pending else self.learner.state
        return {self.indexing: hint(state), self.timer: gr.Timer(active=pending > 0)}

    def open_chat(self, preferred: int | None, chat_id: str = "") -> Update:
        """Go on with a chat, or start one with a persona."""
        choices = persona_choices(self.bank)
        ids = [persona_id for _, persona_id in choices]
        chosen = preferred if preferred in ids else next(iter(ids), None)
        persona = _find(self.bank, chosen)
        is_demo = persona is not None and persona.external_id == SAMPLE
        return {
            self.persona: gr.Dropdown(choices, value=chosen),
            self.proactive: gr.Checkbox(persona is None or persona.proactive, interactive=persona is not None),
            self.chats.apart: gr.Checkbox(persona is not None and persona.kept_apart, interactive=not is_demo),
            self.timer: gr.Timer(active=True),
            self.welcome.panel: gr.Column(visible=False),
            self.talk: gr.Column(visible=True),
            self.own: gr.Button(visible=is_demo),
            **self._start(persona, None, chat_id),
        }

    def _start(self, persona: Persona | None, as_of: str | None, chat_id: str = "") -> Update:
        past = find_chat(self.bank, chat_id, persona.id) if persona else None
        running = self.answering.running.get(chat_id)
        begun = running.give_chat() if running else resume(self.bank, past) if past else None
        chat = begun or open_new(self.bank, persona, as_of)
        return {
            **self.box.show(self.assistant.services, persona, chat),
            self.box.composer: messages.ready(),
            self.box.go_on: gr.Button(visible=False),
            self.chat: chat,
            self.as_of: as_of,
            self.forgetful: False,
            **self.box.suggest(self.bank, persona),
            self.sources: render_last_sources(self.bank, chat),
            **self._where(chat),
            **self.trace.clear(),
        }

    def _where(self, chat: Chat) -> Update:
        """Keep the chat in the page's address once it has begun, and in the list of chats."""
        has_begun = find_chat(self.bank, chat.id, chat.persona_id) or chat.id in self.answering.running
        address = {**({"chat": chat.id} if has_begun else {}), "persona": chat.persona_id}
        persona = _find(self.bank, chat.persona_id)
        return {
            self.place: render("chat_place.html", place=urlencode(address), chat=chat.id, persona=persona),
            self.chats.search: "",
            **self.chats.show(chat),
        }


def _find(bank: Bank, persona_id: int | None) -> Persona | None:
    return bank.persona(persona_id) if persona_id is not None else None
