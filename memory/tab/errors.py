"""How the screen's handlers speak to it: what they hand back, and how a fault is told."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from html import escape
from typing import Any, ParamSpec, TypeVar

import gradio as gr

from memory.errors import MemoirError

P = ParamSpec("P")
T = TypeVar("T")

PRIVATE: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
"""An event of the screen, which is no API."""

Update = dict[Any, Any]
"""New values by component."""

UNCHANGED: Update = gr.skip()
"""No new values at all."""


def told(handler: Callable[P, T]) -> Callable[P, T]:
    """The handler, its faults turned into messages on the screen."""

    @wraps(handler)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return handler(*args, **kwargs)
        except MemoirError as fault:
            raise shown_fault(fault) from fault

    return guarded


def shown_fault(fault: Exception) -> gr.Error:
    """A fault as a message on the screen, which shows messages as HTML; a fault may quote a file."""
    if isinstance(fault, MemoirError):
        return gr.Error(escape(str(fault)), title="That did not work", duration=12, print_exception=False)
    name = escape(f"{type(fault).__name__}: {fault}")
    return gr.Error(f"A fault in Memoir itself ({name}). Nothing was changed; the terminal says more.", duration=12)
