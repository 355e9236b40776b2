"""Memoir in the browser: `python app.py` serves it on http://127.0.0.1:7860 (MEMOIR_HOST, MEMOIR_PORT)."""

from __future__ import annotations

import os

# Before gradio is imported: nothing is asked of, or told to, any other machine.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import json
import shutil
import socket
import sys
from pathlib import Path

import gradio as gr
from pydantic import ValidationError

from eval.bench import Bench
from eval.settings import EvalSettings
from eval.tab.evaluate import evaluate_tab
from graph.assistant import Assistant
from graph.classifier import Classifier
from graph.learning.learner import Learner
from graph.models import chat_model_or_none
from graph.settings import Settings
from graph.state import Services
from graph.tab import Trimmings, chat_tab
from memory.bank import Bank
from memory.embedder import Embedder
from memory.errors import MemoirError
from memory.indexer import Indexer
from memory.ingest import ingest
from memory.search import Searcher
from memory.tab import memory_tab

ASSETS = Path(__file__).parent / "assets"
EXAMPLES = 6
MAX_FILE_SIZE = "512mb"

UPLOAD_AGE = (600, 3600)
"""Every ten minutes, uploads that nobody imported for an hour are deleted; all are when the app ends."""

HEADER = """
<div class="memoir-header"><img class="memoir-logo" src="/gradio_api/file={logo}" alt="" width="44" height="44">
<div><h1>Memoir</h1><p>A conversation that remembers, and shows you the lines it remembers by.</p></div></div>
"""


def services(settings: Settings) -> Services:
    """What a turn needs, over the bank that the settings name; opens no file but the classifier's."""
    bank, embedder = Bank(settings.bank_path), Embedder(settings.embedding_model)
    indexer, model = Indexer(bank, embedder), chat_model_or_none(settings.model, settings.quantization)
    return Services(
        bank,
        Searcher(bank, embedder),
        Classifier.load(embedding_model=embedder.model),
        settings.pipeline(),
        indexer,
        Learner(bank, indexer, settings.learner, model),
        model,
    )


def screen(held: Services, bench: Bench) -> gr.Blocks:
    """The page with its tabs."""
    assert held.indexer is not None
    assert held.learner is not None
    gr.set_static_paths([ASSETS / name for name in ("logo.svg", "avatar-user.svg", "avatar-persona.svg")])
    questions = [str(q["question"]) for q in json.loads((ASSETS / "sample_questions.json").read_text("utf-8"))]
    trimmings = Trimmings(tuple(questions[:EXAMPLES]), (ASSETS / "avatar-user.svg", ASSETS / "avatar-persona.svg"))
    page: gr.Blocks
    with gr.Blocks(title="Memoir", analytics_enabled=False, delete_cache=UPLOAD_AGE) as page:
        gr.HTML(HEADER.format(logo=(ASSETS / "logo.svg").as_posix()), padding=False)
        with gr.Tabs(elem_classes="memoir-tabs"):
            with gr.Tab("Chat", id="chat"):
                persona = chat_tab(page, Assistant(held), held.indexer, held.learner, trimmings)
            with gr.Tab("Memory", id="memory") as tab:
                memory_tab(held.bank, held.searcher, tab, persona)
            with gr.Tab("Evaluate", id="evaluate") as tab:
                evaluate_tab(tab, bench, held.searcher.embedder)
        page.queue(api_open=False)
    return page


def welcome(bank: Bank) -> None:
    """On the very first start, bring in the sample persona."""
    if not bank.personas():
        ingest(bank, ASSETS / "sample.jsonl")


def serve(settings: EvalSettings) -> None:
    """Serve the page until interrupted; the encoder loads behind it.

    Raises:
        MemoirError: the port is taken, or the bank cannot be used.
    """
    _require_free(settings.host, settings.port)
    uploads = settings.home / "uploads"
    shutil.rmtree(uploads, ignore_errors=True)  # left over if the last run was killed
    os.environ.setdefault("GRADIO_TEMP_DIR", str(uploads))
    held = services(settings)
    assert held.indexer is not None
    assert held.learner is not None
    welcome(held.bank)
    page = screen(held, Bench(settings))
    page.launch(
        server_name=settings.host,
        server_port=settings.port,
        theme=theme(),
        css_paths=[ASSETS / "theme.css", ASSETS / "screen.css"],
        head=f"<script>{(ASSETS / 'screen.js').read_text('utf-8')}</script>",
        favicon_path=ASSETS / "logo.svg",
        footer_links=[],
        max_file_size=MAX_FILE_SIZE,
        ssr_mode=False,
        quiet=True,
        prevent_thread_lock=True,
    )
    print(f"Memoir is at http://{settings.host}:{settings.port} (its memory: {settings.bank_path})", flush=True)
    held.indexer.start()
    held.learner.start()
    try:
        page.block_thread()
    finally:
        held.learner.stop()


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


def main() -> int:
    """Serve until interrupted; 1 if that is not possible."""
    try:
        serve(EvalSettings())
    except ValidationError as fault:
        for error in fault.errors():
            print(f"memoir: MEMOIR_{str(error['loc'][0]).upper()}: {error['msg']}", file=sys.stderr)
        return 1
    except MemoirError as fault:
        print(f"memoir: {fault}", file=sys.stderr)
        return 1
    return 0


def theme() -> gr.themes.Base:
    """Warm paper, one ink; light and dark; the colours and sizes stand in assets/theme.json.

    Of the fonts that Gradio brings only Source Sans Pro 400 and 700 are used: several others (Lora, Source Sans 3,
    every SemiBold) are subsets without Latin letters. Headings and quotes take the system's book face in
    assets/theme.css.
    """
    look = json.loads((ASSETS / "theme.json").read_text("utf-8"))
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

demo = screen(services(EvalSettings()), Bench(EvalSettings()))
