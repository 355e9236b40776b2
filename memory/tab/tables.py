"""Tables for reading, and the row of buttons that turns their pages."""

from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr

from memory.tab.events import PRIVATE, Update
from memory.tab.templates import hint


def build_table(
    elem_id: str,
    label: str,
    headers: Sequence[str] | None = None,
    *,
    widths: Sequence[int] = (),
    clickable: bool = False,
    **more: Any,  # noqa: ANN401
) -> gr.Dataframe:
    """Build a table that cannot be edited, with further options of `gr.Dataframe`.

    `headers` is None if the columns depend on the data; `widths` are their shares in percent; `clickable` says whether
    a click on a row does something.
    """
    return gr.Dataframe(
        headers=list(headers) if headers else None,
        label=label,
        type="array",
        interactive=False,
        wrap=True,
        buttons=[],
        column_widths=[f"{percent}%" for percent in widths] or None,
        elem_id=elem_id,
        elem_classes="memoir-table" if clickable else "memoir-plain-table",
        **{"max_height": 460, **more},
    )


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
