"""Keeps apart what Gradio holds once for all pages of a process: the events that run, and the progress of uploads."""

from __future__ import annotations

import asyncio
import re
import secrets
from contextvars import ContextVar

import gradio as gr
from gradio import routes
from starlette.types import ASGIApp, Receive, Scope, Send

_PAGE: ContextVar[gr.Blocks] = ContextVar("page")
_SEPARATOR = "<gradio-sep>"
_UPLOAD = re.compile(rb"(?<![^&])upload_id=")


class Apart:
    """Stands before one page; no request that comes by it stops or sees what goes on in another."""

    def __init__(self, app: ASGIApp, page: gr.Blocks) -> None:
        self._app = app
        self._page = page
        self._mark = secrets.token_hex(16).encode()
        routes.cancel_tasks = _cancel_own  # type: ignore[attr-defined]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on, its uploads called by names that are this page's alone."""
        _PAGE.set(self._page)
        query = _UPLOAD.sub(b"upload_id=" + self._mark, scope["query_string"])
        await self._app({**scope, "query_string": query}, receive, send)


async def _cancel_own(task_ids: set[str]) -> list[str]:
    """Stop the page's events of these windows and functions, and tell which.

    Gradio's own goes by what the request names alone, and stops events of other pages, too.
    """
    own = _PAGE.get()._queue.event_ids_to_events
    named = [(task, *task.get_name().partition(_SEPARATOR)[::2]) for task in asyncio.all_tasks()]
    meant = {event_id: task for task, task_id, event_id in named if task_id in task_ids and event_id in own}
    for task in meant.values():
        task.cancel()
    await asyncio.gather(*meant.values(), return_exceptions=True)
    return list(meant)
