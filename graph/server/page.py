"""Turn a built page into an ASGI app, and keep users' pages apart where Gradio holds one state for all of a process.

That state is the page under construction, the events that run, and the progress of uploads.
"""

import asyncio
import json
import secrets
import sys
import threading
from contextvars import ContextVar
from copy import copy
from html import escape
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import parse_qsl, urlencode

import gradio as gr
from fastapi import FastAPI, Request
from fastapi.dependencies import models
from gradio import processing_utils, routes
from gradio.block_function import BlockFunction
from gradio.blocks import Block
from gradio.context import Context
from gradio.data_classes import PredictBodyInternal
from gradio.queueing import Event, Queue
from gradio.server_messages import EventMessage, ProcessCompletedMessage
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from graph.server.api import return_json
from memory.errors import MemoirError
from memory.formatting import without_folders
from memory.tab.parts import LOGO, WEB

# Gradio looks for it on disk before and after each step of an event.
sys.modules.setdefault("matplotlib", None)  # type: ignore[arg-type]

MAX_THREADS = 16
"""Events of one page that may hold a thread at once; further ones wait, so that other users' do not."""

POLL = 0.05
"""Seconds between two looks into the queue of a page. Gradio looks a thousand times a second, for each page that is
open, in the one thread that all share."""

LINGER, CROSSING = 3.0, 0.5
"""Seconds that a stream outlives its last event, and for which the answer to an event is held back after its end.
Not longer: a browser has six connections to a server, of which each open page holds two meanwhile."""

_PAGE: ContextVar[gr.Blocks] = ContextVar("page")


class Page(gr.Blocks):
    """A page that shows the errors of its events in words that are meant for its user."""

    async def process_api(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401  # as Gradio's
        """Run an event; what it raises becomes a message on the screen."""
        try:
            return await super().process_api(*args, **kwargs)
        except gr.Error:
            raise
        except MemoirError as error:
            # Escaped: Gradio shows messages as HTML, and an error may quote a file.
            message = escape(without_folders(str(error)))
            raise gr.Error(message, title="Something went wrong", duration=12, print_exception=False) from error
        except Exception as error:
            # Not its text, which may name files of the server or quote another user.
            message = f"Memoir ran into a bug ({type(error).__name__}). See the terminal for details."
            raise gr.Error(message, duration=12) from error

    async def postprocess_data(self, block_fn: BlockFunction, predictions: Any, state: Any) -> list[Any]:  # noqa: ANN401
        """Convert what an event returned.

        Of what it left out, Gradio would build each component anew to change nothing: a sixth of a second an answer.
        """
        is_update = isinstance(predictions, dict) and all(isinstance(key, Block) for key in predictions)
        named = {block._id for block in predictions} if is_update else set()
        part = copy(block_fn)
        part.outputs = [block for block in block_fn.outputs if block._id in named]
        if not named or len(part.outputs) != len(named):
            data: list[Any] = await super().postprocess_data(block_fn, predictions, state)
            return data
        changed = iter(await super().postprocess_data(part, predictions, state))
        return [next(changed) if block._id in named else gr.skip() for block in block_fn.outputs]

    def handle_streaming_diffs(self, block_fn: BlockFunction, data: list[Any], *run: Any, **how: Any) -> list[Any]:  # noqa: ANN401
        """Say what changed since the event's last update; a change of properties is sent whole.

        From its parts, Gradio's page would make it in the place of the last one, which is lost if it still waits there
        to be shown: a composer went on saying that somebody is answering.
        """
        whole = list(data)
        sent = super().handle_streaming_diffs(block_fn, data, *run, **how)
        return [
            [["replace", [], value]] if isinstance(value, dict) and isinstance(part, list) and part else part
            for value, part in zip(whole, sent, strict=True)
        ]


def mount_page(page: gr.Blocks, uploads: Path, most_upload_bytes: int) -> FastAPI:
    """Make an app of one page, with its look and its MCP server; its uploads go to a folder of their own."""
    app = FastAPI(openapi_url=None)
    gr.mount_gradio_app(
        app,
        page,
        "/",
        theme=load_theme(),
        css_paths=[WEB / "theme.css", WEB / "screen.css"],
        head=f"<script>{(WEB / 'screen.js').read_text('utf-8')}</script>",
        favicon_path=str(LOGO),
        footer_links=[],
        run_history=False,  # it would keep in the browser what was said
        max_file_size=most_upload_bytes,
        ssr_mode=False,
        enable_monitoring=False,
        show_error=False,  # else Gradio shows the text of any error, which may name files of the server
        mcp_server=True,
    )
    # A request may name an address instead of a file, and Gradio would fetch it.
    processing_utils.async_ssrf_protected_get = _fetch_nothing
    # Gradio checks that a file named in a request was uploaded only if it believes that the page was launched.
    page.has_launched = True
    page.max_threads = MAX_THREADS  # else all pages share the forty of the process, first come, first served
    page._queue.sleep_when_free = page._queue.progress_update_sleep_when_free = POLL
    LingeringStreams(page._queue)
    return_json(page)
    (mount,) = (route for route in app.routes if isinstance(route, Mount))
    mount.app.uploaded_file_dir = str(uploads)  # type: ignore[attr-defined]  # Gradio's app
    return app


class LingeringStreams:
    """The streams that tell pages of their events; one that never runs, `held`, keeps each open after the last.

    Gradio ends it with that, and the page opens another with its next event. If the word of the end and an event cross
    on the way, the page opens none and never hears of it: a page that was just opened stayed empty.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue, self._push, self._send, self._held = queue, queue.push, queue.send_message, secrets.token_hex(16)
        self._pending, self._endings = queue.pending_event_ids_session, dict[str, asyncio.TimerHandle]()
        queue.push, queue.send_message = self.push, self.send_message  # type: ignore[method-assign, assignment]

    async def push(self, body: PredictBodyInternal, request: Request, username: str | None) -> Any:  # noqa: ANN401
        """Put an event into the queue; the page is told so once it knows whether its stream is open."""
        session = body.session_hash if request.url.path.endswith("/queue/join") else None
        if session is not None:
            self._pending.setdefault(session, set()).add(self._held)
        pushed = await self._push(body, request, username)
        if session is not None and (ending := self._endings.get(session)):
            ended = asyncio.get_running_loop().time() - ending.when()
            await asyncio.sleep(CROSSING - ended if ended >= 0 else 0)
        return pushed

    def send_message(self, event: Event, message: EventMessage) -> None:
        """Tell a page of an event; the last begins the end of the stream."""
        self._send(event, message)
        session = event.session_hash
        if isinstance(message, ProcessCompletedMessage) and self._held in self._pending.get(session, ()):
            if earlier := self._endings.get(session):
                earlier.cancel()
            self._endings[session] = asyncio.get_running_loop().call_later(LINGER, self._end, session)

    def _end(self, session: str) -> None:
        messages = self._queue.pending_messages_per_session.get(session)
        # What is done is pending until the page has heard of it, but is held by the queue no more.
        if messages is None or not self._queue.event_ids_to_events.keys().isdisjoint(self._pending.get(session, ())):
            del self._endings[session]
        else:
            messages.put_nowait(ProcessCompletedMessage(output={}, success=True, event_id=self._held))


def close_page(page: gr.Blocks) -> None:
    """Let go of a page: Gradio's queue would go on for ever, and FastAPI would remember its functions."""
    page._queue.close()  # type: ignore[no-untyped-call]
    for kind in ("gen", "async_gen", "coroutine"):
        getattr(models, f"_is_{kind}_callable_cached").cache_clear()


async def _fetch_nothing(url: str) -> NoReturn:
    raise gr.Error("Memoir does not fetch files from other machines. Upload the file itself.", print_exception=False)


def load_theme() -> gr.themes.Base:
    """Build the theme, light and dark, from the colours and sizes in assets/web/theme.json.

    Of the fonts that come with Gradio only Source Sans Pro 400 and 700 are used: several others (Lora, Source Sans 3,
    every SemiBold) lack Latin letters. Headings and quotes use the system's serif font, see assets/web/theme.css.
    """
    look = json.loads((WEB / "theme.json").read_text("utf-8"))
    paper, ink = (gr.themes.Color(name=name, **look["colours"][name]) for name in ("paper", "ink"))
    base = gr.themes.Base(
        primary_hue=ink,
        secondary_hue=ink,
        neutral_hue=paper,
        font=(gr.themes.LocalFont("Source Sans Pro", weights=(400, 700)), "ui-sans-serif", "system-ui", "sans-serif"),
        font_mono=(gr.themes.LocalFont("IBM Plex Mono", weights=(400, 700)), "ui-monospace", "monospace"),
    )
    return base.set(**look["variables"])


class _BuildContext(threading.local):
    """Gradio's `Context`, with the page under construction (`root_block`) and the parent of its next component apart.

    Gradio keeps them in class attributes, so a component that any thread makes meanwhile, such as a handler that
    answers another user, becomes a part of that page.
    """

    root_block, block, id, token = None, None, Context.id, Context.token


def isolate_pages() -> None:
    """Change Gradio for this process: pages are built apart, and a request cancels events of its own page only."""
    context = _BuildContext()
    for name, module in list(sys.modules.items()):
        if name.startswith("gradio.") and getattr(module, "Context", None) is Context:
            module.Context = context  # type: ignore[attr-defined]
    routes.cancel_tasks = _cancel_own  # type: ignore[attr-defined]


def isolated(app: ASGIApp, page: gr.Blocks) -> ASGIApp:
    """The app of one page, to which no request cancels an event or sees an upload of another page."""
    prefix = secrets.token_hex(16)  # of the ids of its uploads

    async def own(scope: Scope, receive: Receive, send: Send) -> None:
        _PAGE.set(page)
        # Decoded as the page does: "%75pload_id" is the same parameter.
        named = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        query = urlencode([(k, prefix + v if k == "upload_id" else v) for k, v in named]).encode()
        await app({**scope, "query_string": query}, receive, send)

    return own


async def _cancel_own(task_ids: set[str]) -> list[str]:
    """Cancel the page's events of these windows and functions; return their ids.

    Gradio's own function goes by what the request names alone, and cancels events of other pages, too.
    """
    own = _PAGE.get()._queue.event_ids_to_events
    named = [(task, *task.get_name().partition("<gradio-sep>")[::2]) for task in asyncio.all_tasks()]
    chosen = {event_id: task for task, task_id, event_id in named if task_id in task_ids and event_id in own}
    for task in chosen.values():
        task.cancel()
    await asyncio.gather(*chosen.values(), return_exceptions=True)
    return list(chosen)
