"""Memoir in the browser: `python app.py` serves it on http://127.0.0.1:7860 (MEMOIR_HOST, MEMOIR_PORT).

With `--auth` users log in, each to a page and a bank of their own; `python -m memory user` makes them.
"""

from __future__ import annotations

import os

from memory.tab.memory_tab import memory_tab

# Before gradio is imported: nothing is asked of, or told to, any other machine.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import argparse
import json
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import gradio as gr
import uvicorn
from anyio import CancelScope, create_task_group, to_thread
from fastapi import FastAPI
from gradio import processing_utils
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from eval.evaluator import Evaluator
from eval.settings import EvalSettings
from eval.tab.evaluate_tab import evaluate_tab
from graph.assistant import Assistant
from graph.learning.learner import Learner
from graph.models import chat_model_or_none
from graph.server.api import answer_in_json, offer
from graph.server.login import LoginMiddleware
from graph.server.page_isolation import PageIsolation, isolate_pages
from graph.server.request_limits import LARGEST_UPLOAD, Files, RequestLimits
from graph.server.user_pages import UserPages
from graph.settings import Settings
from graph.state import Services
from graph.tab import Trimmings, chat_tab
from graph.understanding.classifier import Classifier
from memory.bank import journal
from memory.bank.bank import Bank
from memory.embedding.embedder import Embedder
from memory.errors import BankUnavailable, MemoirError
from memory.ingest import ingest
from memory.search.indexer import Indexer
from memory.search.searcher import Searcher
from memory.users import UnknownUser, Users

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

WEB = Path(__file__).parent / "assets" / "web"
SAMPLE = WEB.with_name("sample")
EXAMPLES = 6
SERVED = tuple(WEB / name for name in ("logo.svg", "avatar-user.svg", "avatar-persona.svg"))
LOOPBACK = ("127.0.0.1", "localhost", "::1")

UPLOAD_AGE = (600, 3600)
"""Every ten minutes, uploads that nobody imported for an hour are deleted; all are when the app ends."""

HEADER = """
<div class="memoir-header"><img class="memoir-logo" src="/gradio_api/file={logo}" alt="" width="44" height="44">
<div><h1>Memoir</h1><p>A conversation that remembers, and shows you the lines it remembers by.</p></div>{user}</div>
"""

LOG_OUT = """
<form class="memoir-user" method="post" action="/logout"><span>{name}</span><button id="logout">Log out</button></form>
"""


@dataclass(frozen=True, slots=True)
class Engines:
    """What holds nobody's memories, so that all users share it."""

    embedder: Embedder
    classifier: Classifier
    model: BaseChatModel | None


def engines(settings: Settings) -> Engines:
    """The models that the settings name; loads no weights but the classifier's."""
    embedder = Embedder(settings.embedding_model)
    model = chat_model_or_none(settings.model, settings.quantization)
    return Engines(embedder, Classifier.load(embedding_model=embedder.model), model)


def services(settings: Settings, shared: Engines, path: Path) -> Services:
    """What a turn needs, over the bank at `path`; opens no file."""
    bank = Bank(path)
    indexer = Indexer(bank, shared.embedder)
    return Services(
        bank,
        Searcher(bank, shared.embedder),
        shared.classifier,
        settings.pipeline(),
        indexer,
        Learner(bank, indexer, settings.learner, shared.model),
        shared.model,
    )


def screen(held: Services, evaluator: Evaluator | None, user: str = "") -> gr.Blocks:
    """The page with its tabs; for a user who logged in, it says who, and nothing that is the server's is set there."""
    assert held.indexer is not None
    assert held.learner is not None
    gr.set_static_paths(list(SERVED))
    logo, avatars = SERVED[0].as_posix(), (SERVED[1], SERVED[2])
    questions = [str(q["question"]) for q in json.loads((SAMPLE / "questions.json").read_text("utf-8"))]
    trimmings = Trimmings(tuple(questions[:EXAMPLES]), avatars, models=not user)
    assistant = Assistant(held)
    page: gr.Blocks
    with gr.Blocks(title="Memoir", analytics_enabled=False, delete_cache=UPLOAD_AGE) as page:
        leave = LOG_OUT.format(name=escape(user)) if user else ""
        gr.HTML(HEADER.format(logo=logo, user=leave), padding=False)
        with gr.Tabs(elem_classes="memoir-tabs"):
            with gr.Tab("Chat", id="chat"):
                persona = chat_tab(page, assistant, held.indexer, held.learner, trimmings)
            with gr.Tab("Memory", id="memory") as tab:
                memory_tab(held.bank, held.searcher, tab, persona)
            if evaluator is not None:
                with gr.Tab("Evaluate", id="evaluate") as tab:
                    evaluate_tab(tab, evaluator, held.searcher.embedder)
        offer(assistant, held.indexer, held.learner)
        page.queue(api_open=False)
    return page


def mounted(page: gr.Blocks, uploads: Path) -> FastAPI:
    """The page as an app of its own, which keeps what is uploaded to it in a folder of its own."""
    app = FastAPI(openapi_url=None)
    gr.mount_gradio_app(
        app,
        page,
        "/",
        theme=theme(),
        css_paths=[WEB / "theme.css", WEB / "screen.css"],
        head=f"<script>{(WEB / 'screen.js').read_text('utf-8')}</script>",
        favicon_path=str(WEB / "logo.svg"),
        footer_links=[],
        run_history=False,  # it would keep in the browser what was said
        max_file_size=LARGEST_UPLOAD,
        ssr_mode=False,
        enable_monitoring=False,
        mcp_server=True,
    )
    # A request may give an address instead of a file, and Gradio would fetch it.
    processing_utils.async_ssrf_protected_get = _fetch_nothing
    # Gradio looks whether a file that a request names was uploaded only if it takes the page for launched.
    page.has_launched = True
    answer_in_json(page)
    (mount,) = (route for route in app.routes if isinstance(route, Mount))
    mount.app.uploaded_file_dir = str(uploads)  # type: ignore[attr-defined]  # Gradio's app
    return app


async def _fetch_nothing(url: str) -> NoReturn:
    raise gr.Error("Memoir fetches nothing from other machines. Upload the file itself.", print_exception=False)


def welcome(bank: Bank) -> None:
    """On the very first start, bring in the sample persona; not again where all was forgotten."""
    if not bank.personas() and not journal.count(bank):
        ingest(bank, SAMPLE / "ida.jsonl")


def whole(settings: EvalSettings) -> Starlette:
    """The whole app: the gate, with `auth` the door, and behind it the pages.

    Raises:
        MemoirError: the bank cannot be used.
    """
    isolate_pages()
    shared, users = engines(settings), Users(settings.home)
    folders: dict[Path, gr.Blocks] = {}

    def opened(user_id: str, uploads: Path) -> tuple[Services, FastAPI, gr.Blocks]:
        user = users.get(user_id) if user_id else None
        if user_id and user is None:
            raise UnknownUser("this account was removed")
        held = services(settings, shared, users.folder_of(user) / "bank.db" if user else settings.bank_path)
        welcome(held.bank)
        page = screen(held, None if user else Evaluator(settings), user.name if user else "")
        app = mounted(page, uploads)
        # To Gradio, what anybody uploaded was uploaded: a page must be told which of it is not for its user.
        page.blocked_paths = [str(folder) for folder in folders]
        for other in folders.values():
            other.blocked_paths.append(str(uploads))
        folders[uploads] = page
        return held, app, page

    @asynccontextmanager
    async def opening(user_id: str) -> AsyncIterator[ASGIApp]:
        uploads = settings.home / "uploads" / (user_id or "all")
        held, app, page = await to_thread.run_sync(opened, user_id, uploads)
        assert held.indexer is not None
        assert held.learner is not None
        held.indexer.start()
        held.learner.start()
        try:
            async with app.router.lifespan_context(app):
                yield Files(PageIsolation(app, page), uploads, SERVED)
        finally:
            held.indexer.end()
            del folders[uploads]
            with CancelScope(shield=True):
                await to_thread.run_sync(closed, held.learner, uploads)

    def closed(learner: Learner, uploads: Path) -> None:
        with suppress(BankUnavailable):  # its user was removed with it
            learner.stop()
        shutil.rmtree(uploads, ignore_errors=True)

    pages = UserPages(opening)

    async def only_page(scope: Scope, receive: Receive, send: Send) -> None:
        await (await pages.of(""))(scope, receive, send)

    door = LoginMiddleware(users, pages, WEB / "templates" / "login.html") if settings.auth else None

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:
        async with pages.running(), create_task_group() as tasks:
            if door is None:
                await pages.of("")
            else:
                tasks.start_soon(door.close_pages_of_removed)
            where = f"{len(users.all())} users" if settings.auth else f"its memory: {settings.bank_path}"
            print(f"Memoir is at http://{settings.host}:{settings.port} ({where})", flush=True)
            yield
            tasks.cancel_scope.cancel()

    hosts = LOOPBACK if settings.host in LOOPBACK and not settings.auth else None
    gate = Middleware(RequestLimits, hosts=hosts)
    return Starlette(routes=[Mount("/", door or only_page)], middleware=[gate], lifespan=running)


def serve(settings: EvalSettings) -> None:
    """Serve the page until interrupted; the encoder loads behind it.

    Raises:
        MemoirError: the port is taken, the bank cannot be used, or nobody could log in.
    """
    _require_free(settings.host, settings.port)
    if settings.auth and not Users(settings.home).all():
        raise MemoirError("nobody could log in: make a user first, with `python -m memory user add NAME`")
    if not settings.auth:
        welcome(Bank(settings.bank_path))
        if settings.host not in LOOPBACK:
            print(f"memoir: whoever reaches {settings.host} reads this memory; --auth has them log in", file=sys.stderr)
    uploads = settings.home / "uploads"
    shutil.rmtree(uploads, ignore_errors=True)  # left over if the last run was killed
    os.environ["GRADIO_TEMP_DIR"] = str(uploads)
    uvicorn.run(
        whole(settings),
        host=settings.host,
        port=settings.port,
        log_level="warning",
        proxy_headers="FORWARDED_ALLOW_IPS" in os.environ,  # else anyone here could give any address as theirs
        server_header=False,
        timeout_graceful_shutdown=2,  # a window that is open never stops listening
    )


def _require_free(host: str, port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as fault:
            raise MemoirError(
                f"http://{host}:{port} cannot be served ({fault.strerror}): another program, or another "
                "Memoir, is there. Stop it, or set MEMOIR_PORT to another number"
            ) from fault


def main(argv: list[str] | None = None) -> int:
    """Serve until interrupted; 1 if that is not possible, 2 for wrong arguments."""
    parser = argparse.ArgumentParser(prog="app.py", description="Memoir in the browser.")
    parser.add_argument("--auth", action="store_true", help="let users log in, each to a bank of their own")
    arguments = parser.parse_args(argv)
    try:
        settings = EvalSettings()
        serve(settings.model_copy(update={"auth": True}) if arguments.auth else settings)
    except ValidationError as fault:
        for error in fault.errors():
            print(f"memoir: MEMOIR_{str(error['loc'][0]).upper()}: {error['msg']}", file=sys.stderr)
        return 1
    except MemoirError as fault:
        print(f"memoir: {fault}", file=sys.stderr)
        return 1
    return 0


def theme() -> gr.themes.Base:
    """Warm paper, one ink; light and dark; the colours and sizes stand in assets/web/theme.json.

    Of the fonts that Gradio brings only Source Sans Pro 400 and 700 are used: several others (Lora, Source Sans 3,
    every SemiBold) are subsets without Latin letters. Headings and quotes take the system's book face in
    assets/web/theme.css.
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


if __name__ == "__main__":
    sys.exit(main())

demo = screen(services(EvalSettings(), engines(EvalSettings()), EvalSettings().bank_path), Evaluator(EvalSettings()))
