"""What the event handlers of all tabs share: types, options, and how errors reach the screen."""

from collections.abc import Callable
from functools import wraps
from html import escape
from typing import Any, ParamSpec, TypeVar

import gradio as gr

from memory.errors import MemoirError

P = ParamSpec("P")
T = TypeVar("T")

PRIVATE: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
"""Options of an event that only the page may trigger."""

Update = dict[Any, Any]
"""New values by component."""

UNCHANGED: Update = gr.skip()
"""An update that changes nothing."""


def show_errors(handler: Callable[P, T]) -> Callable[P, T]:
    """Make a handler show its `MemoirError`s as messages on the screen."""

    @wraps(handler)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return handler(*args, **kwargs)
        except MemoirError as error:
            raise to_gradio_error(error) from error

    return guarded


def to_gradio_error(error: BaseException) -> gr.Error:
    """Turn an exception into a message on the screen, escaped: Gradio shows messages as HTML, and an error may quote a
    file.
    """
    if isinstance(error, MemoirError):
        return gr.Error(escape(str(error)), title="Something went wrong", duration=12, print_exception=False)
    # Not its text, which may name files of the server or quote another user.
    return gr.Error(f"Memoir ran into a bug ({type(error).__name__}). See the terminal for details.", duration=12)
