"""A row that turns the pages of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import gradio as gr

from memory.tab.events import PRIVATE, Update
from memory.tab.templates import hint


@dataclass(frozen=True, slots=True)
class Pager:
    """The row's parts; `shown` holds the number of the page, from 0."""

    shown: gr.State
    back: gr.Button
    where: gr.HTML
    further: gr.Button

    @property
    def parts(self) -> list[gr.State | gr.Button | gr.HTML]:
        """What `at` changes."""
        return [self.shown, self.back, self.where, self.further]

    def at(self, page: int, size: int, here: int, total: int, said: str) -> Update:
        """The row under a page of `size` lines that holds `here` of them; `said` tells of how many they are."""
        start = page * size
        return {
            self.shown: page,
            self.back: gr.Button(interactive=page > 0),
            self.where: hint(f"{start + 1:,}–{start + here:,} of {said}" if here else said),
            self.further: gr.Button(interactive=start + here < total),
        }

    def turn(self, handler: Callable[..., Update], inputs: Sequence[object], outputs: Sequence[object]) -> None:
        """Let the two buttons change the page, and `handler` show it."""
        for button, step in ((self.back, -1), (self.further, 1)):
            button.click(lambda page, by=step: max(0, page + by), self.shown, self.shown, **PRIVATE).then(
                handler, inputs, outputs, **PRIVATE
            )


def pager(name: str, back: str, further: str) -> Pager:
    """Lay the row out; its parts have ids that begin with `name`."""
    shown: gr.State = gr.State(0)
    with gr.Row(elem_classes="memoir-pages"):
        before = gr.Button(back, size="sm", min_width=90, scale=0)
        where = gr.HTML(padding=False, elem_id=f"{name}-where")
        after = gr.Button(further, size="sm", min_width=90, scale=0)
    return Pager(shown, before, where, after)
