"""Keep users' pages apart where Gradio holds one state for all pages of a process.

That state is the page under construction, the events that run, and the progress of uploads.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import sys
from contextvars import ContextVar
from typing import Any

import gradio as gr
from gradio import routes
from gradio.context import Context
from starlette.types import ASGIApp, Receive, Scope, Send

_PAGE: ContextVar[gr.Blocks] = ContextVar("page")
_SEPARATOR = "<gradio-sep>"
_UPLOAD = re.compile(rb"(?<![^&])upload_id=")


class _PerTask:
    """An attribute with a value of its own in each thread and task."""

    def __init__(self) -> None:
        self._value: ContextVar[Any] = ContextVar("of the page under construction", default=None)

    def __get__(self, owner: object, of_type: type | None = None) -> Any:  # noqa: ANN401  # as Gradio's
        return self._value.get()

    def __set__(self, owner: object, value: object) -> None:
        self._value.set(value)


class _BuildContext:
    """Gradio's `Context`, with the page under construction (`root_block`) and the parent of its next component apart.

    Gradio keeps them in class attributes, so a component that any thread makes meanwhile, such as a handler that
    answers another user, becomes a part of that page.
    """

    root_block = _PerTask()
    block = _PerTask()

    def __init__(self) -> None:
        self.id = Context.id
        self.token = Context.token


def isolate_pages() -> None:
    """Change Gradio for this process: pages are built apart, and a request cancels events of its own page only."""
    isolated = _BuildContext()
    for name, module in list(sys.modules.items()):
        if name.startswith("gradio.") and getattr(module, "Context", None) is Context:
            module.Context = isolated  # type: ignore[attr-defined]
    routes.cancel_tasks = _cancel_own  # type: ignore[attr-defined]


class PageIsolation:
    """Middleware before one page: no request to it cancels an event or sees an upload of another page."""

    def __init__(self, app: ASGIApp, page: gr.Blocks) -> None:
        self._app = app
        self._page = page
        self._prefix = secrets.token_hex(16).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, its upload ids prefixed with a secret of this page."""
        _PAGE.set(self._page)
        query = _UPLOAD.sub(b"upload_id=" + self._prefix, scope["query_string"])
        await self._app({**scope, "query_string": query}, receive, send)


async def _cancel_own(task_ids: set[str]) -> list[str]:
    """Cancel the page's events of these windows and functions; return their ids.

    Gradio's own function goes by what the request names alone, and cancels events of other pages, too.
    """
    own = _PAGE.get()._queue.event_ids_to_events
    named = [(task, *task.get_name().partition(_SEPARATOR)[::2]) for task in asyncio.all_tasks()]
    chosen = {event_id: task for task, task_id, event_id in named if task_id in task_ids and event_id in own}
    for task in chosen.values():
        task.cancel()
    await asyncio.gather(*chosen.values(), return_exceptions=True)
    return list(chosen)
