"""The parts of the screen that all tabs share: templates, tables with pages, tasks in progress, plots and events.

Pictures and templates are in assets/web. Templates are rendered as HTML, every value escaped.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from memory import formatting, read_table
from memory.dates.expressions import describe_span
from memory.errors import Cancelled, MemoirError
from memory.importers.generic.character_card import MAX_CHARACTERS, PICTURE_FORMATS, cut_small
from memory.progress import Task
from memory.types import SEMANTIC, STORES, PersonaDraft, Store

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PRIVATE: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
"""Options of an event that only the page may trigger."""

Update = dict[Any, Any]
"""New values by component."""

UNCHANGED: Update = gr.skip()
"""An update that changes nothing."""

WEB = Path(__file__).parents[2] / "assets" / "web"

LOGO, USER_AVATAR, PERSONA_AVATAR = PICTURES = tuple(
    WEB / name for name in ("logo.svg", "avatar-user.svg", "avatar-persona.svg")
)
"""The files that every page serves; all others that it serves are downloads of its user."""

TICK = 0.4
"""Seconds between two updates of the progress; a task that ends within the first shows none."""

_environment = Environment(
    loader=FileSystemLoader(WEB / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_environment.globals |= {"STORES": STORES, "SEMANTIC": SEMANTIC, "STORE_NAMES": formatting.STORE_NAMES}
_environment.filters |= {
    "clip": formatting.clip,
    "count": formatting.format_count,
    "day": formatting.format_day,
    "beginning": formatting.format_beginning,
    "span": describe_span,
    "time": formatting.format_time,
    "duration": formatting.format_duration,
    "clock": lambda moment: f"{moment:%H:%M}",
    "memory_date": formatting.memory_date,
}

_SCREEN = read_table(__file__, "screen.toml")

CARD_FIELDS: dict[str, dict[str, Any]] = _SCREEN["card_fields"]
"""The texts of a persona by their names in a `Persona`, and how each field looks."""

COLOURS: Mapping[Store, str] = _SCREEN["colours"]
QUIET = _SCREEN["figure"]["font"]["color"]
TRACES: Mapping[str, dict[str, Any]] = _SCREEN["traces"]
"""How parts of the plots look."""

TEXTS: Mapping[str, Mapping[str, str]] = _SCREEN["texts"]
"""What the screen says of things that have a name in the code, by kind."""


def look(elem_id: str) -> dict[str, Any]:
    """The id of a component and how it looks."""
    return {"elem_id": elem_id, **_SCREEN["components"][elem_id]}


def render(template: str, /, **values: object) -> Markup:
    """Fill in a template, named by its file.

    The result is marked as safe, so other templates can contain it. A variable that the template uses and `values`
    lacks raises `jinja2.UndefinedError`.
    """
    return Markup(_environment.get_template(template).render(values))


def hint(text: str) -> Markup:
    """Render a quiet line of explanation; nothing for an empty text."""
    return render("hint.html", text=text)


def empty_state(title: str, remedy: str) -> Markup:
    """Render what a part shows while it has no content, and what the user can do about it."""
    return render("empty_state.html", title=title, remedy=remedy)


def error_box(text: str) -> Markup:
    """Render what went wrong, and what to do."""
    return render("error_box.html", text=text)


def new_figure(height: int) -> "Figure":
    """A figure of this height in pixels, as wide as its place."""
    from plotly.graph_objects import Figure  # takes half a second to import, and only plots need it

    return Figure(layout=_SCREEN["figure"] | {"height": height})


def build_table(elem_id: str, look: Mapping[str, Any] | None = None) -> gr.Dataframe:
    """Build a table that cannot be edited and looks as screen.toml says, or another file with such a `look`.

    Of its options, `widths` are the columns' shares in percent, and `clickable` says whether a click on a row does
    something; the others are those of `gr.Dataframe`.
    """
    options: dict[str, Any] = {"type": "array", "interactive": False, "wrap": True, "buttons": [], "max_height": 460}
    options |= look or _SCREEN["tables"][elem_id]
    shares: list[str | int] | None = [f"{percent}%" for percent in options.pop("widths", ())] or None
    classes = "memoir-table" if options.pop("clickable", False) else "memoir-plain-table"
    return gr.Dataframe(column_widths=shares, elem_id=elem_id, elem_classes=classes, **options)


class Confirm:
    """The question whether to delete something for good: what would be lost, Cancel, and the button that does it."""

    def __init__(self, name: str, sure: str = "Forget for good", between: str = "", **size: Any) -> None:  # noqa: ANN401
        """Build it, hidden; `name` begins the ids of its parts, `between` labels a button that does less."""
        size = size or {"size": "md"}
        with gr.Group(visible=False, elem_classes="memoir-confirm") as self.group:
            self.preview = gr.HTML(padding=False, elem_id=f"{name}-planned")
            with gr.Row():
                self.cancel = gr.Button("Cancel", **size)
                self.less = gr.Button(between, visible=bool(between), elem_id=f"{name}-fact", **size)
                self.sure = gr.Button(sure, variant="stop", elem_id=f"{name}-sure", **size)
        self.outputs: list[Any] = [self.group, self.preview]

    def ask(self, preview: Markup) -> Update:
        """Show what would be lost, and ask."""
        return {self.group: gr.Group(visible=True), self.preview: preview}

    def close(self) -> Update:
        """Ask no more."""
        return {self.group: gr.Group(visible=False)}

    def close_on(self, *events: Callable[..., Any]) -> None:
        """Ask no more after Cancel, nor after these events."""
        gr.on([self.cancel.click, *events], self.close, None, self.group, **PRIVATE)


class Pager:
    """The buttons under a table; `page` is the page it shows, from 0, and `outputs` is what `show` updates."""

    def __init__(self, name: str, size: int, previous: str, following: str) -> None:
        """Build the buttons with their labels; `name` begins the id of the position, `size` is the rows of a page."""
        self.size = size
        self.page: gr.State = gr.State(0)
        with gr.Row(elem_classes="memoir-pages"):
            self.previous = gr.Button(previous, size="sm", min_width=90, scale=0)
            self.position = gr.HTML(padding=False, elem_id=f"{name}-where")
            self.next = gr.Button(following, size="sm", min_width=90, scale=0)
        self.outputs: list[Any] = [self.page, self.previous, self.position, self.next]

    def last(self, page: int, total: int) -> int:
        """The page to show of so many rows: `page`, or the last one if there are fewer."""
        return min(page, max(0, total - 1) // self.size)

    def show(self, page: int, total: int, text: str) -> Update:
        """Show the position of a page among all rows; `text` is what to say of the total, or alone if it is 0."""
        start, end = page * self.size, min((page + 1) * self.size, total)
        return {
            self.page: page,
            self.previous: gr.Button(interactive=page > 0),
            self.position: hint(f"{start + 1:,}–{end:,} of {text}" if total else text),
            self.next: gr.Button(interactive=end < total),
        }

    def connect(self, handler: Callable[..., Update], inputs: Sequence[object], outputs: Sequence[object]) -> None:
        """Let the buttons change the page and call `handler` to show it."""
        for button, step in ((self.previous, -1), (self.next, 1)):
            button.click(lambda page, step=step: max(0, page + step), self.page, self.page, **PRIVATE).then(
                handler, inputs, outputs, **PRIVATE
            )


class TaskPanel:
    """The progress bar and its button; each browser window sees its own task only."""

    def __init__(self, name: str) -> None:
        """Build the panel, empty until a task runs; `name` begins the ids of its components."""
        self.status = gr.HTML(padding=False, elem_id=f"{name}-going")
        self.stop = gr.Button("Stop", variant="stop", size="sm", visible=False, elem_id=f"{name}-stop")
        self.outputs: list[gr.components.Component] = [self.status, self.stop]
        self._tasks: dict[str | None, Task] = {}
        self.stop.click(self.cancel, None, [self.stop], **PRIVATE)

    def cancel(self, request: gr.Request) -> Update:
        """Cancel the task of this window."""
        task = self._tasks.get(request.session_hash)
        if task is None:
            return {self.stop: gr.Button(visible=False)}
        task.cancel()
        return {self.stop: _stop_button(task)}

    def connect(
        self,
        event: Callable[..., Any],
        title: str,
        work: Callable[..., Update],
        inputs: Any,  # noqa: ANN401  # as Gradio's
        outputs: Sequence[object],
        first: Callable[[], Update],
        *,
        outlives_page: bool = True,
        **options: Any,  # noqa: ANN401
    ) -> None:
        """Let an event run `work`, which gets the task and the inputs, after what `first` shows."""

        def start(request: gr.Request, *values: object) -> Iterator[Update]:
            yield first()
            yield from self.run(title, request, lambda task: work(task, *values), outlives_page=outlives_page)

        name = getattr(work, "__name__", None)
        event(start, inputs, [*outputs, *self.outputs], api_name=name, **PRIVATE, **options)

    def run(
        self, title: str, request: gr.Request, work: Callable[[Task], Update], *, outlives_page: bool = True
    ) -> Iterator[Update]:
        """Run a task: yield its progress, then what `work` returns to show at its end, or why it was cancelled.

        `request` is of the window that started it; `outlives_page` says whether it goes on when the page is closed.
        """
        task = self._tasks[request.session_hash] = Task()
        pool = ThreadPoolExecutor(1)
        future = pool.submit(work, task)
        pool.shutdown(wait=False)
        try:
            while not wait([future], TICK).done:
                yield {self.status: render("task_progress.html", title=title, task=task), self.stop: _stop_button(task)}
            error = future.exception()
            cancelled = hint(str(error)) if isinstance(error, Cancelled) else ""
            ended: Update = {self.status: cancelled, self.stop: gr.Button(visible=False)}
            yield ended if error else {**ended, **future.result()}
            if isinstance(error, Exception) and not cancelled:
                raise error
        finally:
            self._tasks.pop(request.session_hash, None)
            if not outlives_page:
                task.cancel()


def _stop_button(task: Task) -> gr.Button:
    return gr.Button(visible=not task.uncancellable, interactive=not task.cancelled)


class CardFields:
    """The fields, all optional, in a closed accordion; `inputs` are the texts in the order of `CARD_FIELDS`."""

    def __init__(self, elem_id: str) -> None:
        with gr.Accordion("More about the persona", open=False, elem_id=f"{elem_id}-more"):
            self.inputs = [
                # With a value: Gradio sends None for a field that was never on the screen.
                gr.Textbox("", max_length=MAX_CHARACTERS, elem_id=f"{elem_id}-{name.replace('_', '-')}", **options)
                for name, options in CARD_FIELDS.items()
            ]

            self.picture = gr.File(
                label="Picture (PNG, JPEG or WebP)",
                file_types=[f".{name.lower()}" for name in (*PICTURE_FORMATS, "JPG")],
                height=110,
                elem_id=f"{elem_id}-picture",
            )

    def show(self, persona: PersonaDraft) -> Update:
        """Show the texts of a persona."""
        texts = {field: getattr(persona, name) for field, name in zip(self.inputs, CARD_FIELDS, strict=True)}
        return {**texts, self.picture: None}


def read_picture(file: str | None) -> str:
    """The chosen picture, cut small, as a `data:` address; empty if none was chosen.

    Raises:
        MemoirError: it is no picture, or too large.
    """
    picture = cut_small(Path(file)) if file else ""
    if file and not picture:
        raise MemoirError(f"“{Path(file).name}” cannot be read as a picture. Choose a smaller PNG, JPEG or WebP.")
    return picture
