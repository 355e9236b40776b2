"""Memoir in the browser: `python app.py` serves it on http://127.0.0.1:7860 (MEMOIR_HOST, MEMOIR_PORT).

With `--auth` users log in, each to a page and a bank of their own; `python -m memory user` manages them. With `--demo`
each visitor has a page and a bank until an hour after they leave.
"""

import os

# Before gradio is imported: nothing is sent to or fetched from any other machine.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import argparse
import sys
from functools import partial
from typing import Any

import gradio as gr
from starlette.applications import Starlette

from eval.runs.evaluator import Evaluator
from eval.settings import EvalSettings
from eval.tab.evaluate_tab import EvaluateTab
from graph.assistant import Assistant
from graph.learning.learner import Learner
from graph.server.api import PublicApi
from graph.server.demo import VisitorAssistant
from graph.server.page import Page
from graph.server.request_limits import MAX_QUEUED
from graph.server.site import build_site, serve
from graph.state import Services
from graph.tab.chat_tab import ChatTab
from memory.cli.program import run_command
from memory.tab.memory_tab import MemoryTab
from memory.tab.parts import LOGO, render


def build_page(settings: EvalSettings, services: Services, learner: Learner, user: str = "") -> gr.Blocks:
    """Build the page with its tabs.

    Users who logged in and visitors of a demo can neither choose the chat model nor evaluate: both reach files and
    addresses of the server.
    """
    assistant = VisitorAssistant(services, settings.demo_tokens) if settings.demo else Assistant(services)
    is_owner = not (user or settings.demo)
    page: gr.Blocks
    with Page(title="Memoir", analytics_enabled=False) as page:
        # First: Gradio numbers later events of the same name ("forget_1").
        PublicApi(assistant, learner).add_to_page()
        gr.HTML(render("page_header.html", logo=LOGO.as_posix(), user=user, demo=settings.demo), padding=False)
        with gr.Tabs(elem_classes="memoir-tabs"):
            with gr.Tab("Chat", id="chat") as tab:
                chat = ChatTab(page, tab, assistant, learner, choose_model=is_owner)
            with gr.Tab("Memory", id="memory") as tab:
                MemoryTab(
                    services.bank, lambda: assistant.services.searcher, tab, chat.persona, chat.new_persona.created
                )
            if is_owner:
                with gr.Tab("Evaluate", id="evaluate") as tab:
                    EvaluateTab(tab, Evaluator(settings), services.searcher.embedder)
        page.queue(api_open=False, max_size=MAX_QUEUED)
    return page


def build_app() -> Starlette:
    """Build the app for another ASGI server: `uvicorn --factory app:build_app`."""
    settings = EvalSettings()
    return build_site(settings, partial(build_page, settings))


def main(argv: list[str] | None = None) -> int:
    """Serve until interrupted; return 1 if that is not possible, 2 for wrong arguments."""
    where = "Address: MEMOIR_HOST and MEMOIR_PORT, else http://127.0.0.1:7860. All settings: graph/SETTINGS.md."
    parser = argparse.ArgumentParser(prog="app.py", description="Memoir in the browser.", epilog=where)
    parser.add_argument("--auth", action="store_true", help="let several users log in, each with a bank of their own")
    parser.add_argument("--demo", action="store_true", help="let anyone in, each with a bank that is deleted later")
    chosen: dict[str, Any] = {name: True for name, is_chosen in vars(parser.parse_args(argv)).items() if is_chosen}

    def run() -> None:
        settings = EvalSettings(**chosen)
        serve(settings, partial(build_page, settings))

    return run_command(run)


if __name__ == "__main__":
    sys.exit(main())
