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

from graph.assistant import Assistant
from graph.classifier import Classifier
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

# A citation in an answer opens its source; an opened source shows the quoted line.
SCRIPT = """
<script>
window.showQuoted = (card) => {
  const list = card?.querySelector(".memoir-transcript ol"), line = list?.querySelector(".memoir-turn-cited");
  if (line) list.scrollTop = line.offsetTop - (list.clientHeight - line.clientHeight) / 2;
};
document.addEventListener("toggle", (event) => {
  if (event.target.matches?.(".memoir-source[open]")) window.showQuoted(event.target);
}, true);
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href*="#source-"]');
  if (!link) return;
  event.preventDefault();
  const card = document.getElementById(link.getAttribute("href").split("#")[1]);
  if (!card) return;
  for (let box = card; box; box = box.parentElement?.closest("details")) box.open = true;
  card.querySelector("summary").focus({ preventScroll: true });
  card.scrollIntoView({ block: "nearest" });
}, true);
</script>
"""


def services(settings: Settings) -> Services:
    """What a turn needs, over the bank that the settings name; opens no file but the classifier's."""
    bank, embedder = Bank(settings.bank_path), Embedder(settings.embedding_model)
    return Services(bank, Searcher(bank, embedder), Classifier.load(), settings.pipeline(), Indexer(bank, embedder))


def screen(held: Services) -> gr.Blocks:
    """The page with its tabs."""
    assert held.indexer is not None
    gr.set_static_paths([ASSETS / name for name in ("logo.svg", "avatar-user.svg", "avatar-persona.svg")])
    questions = [str(q["question"]) for q in json.loads((ASSETS / "sample_questions.json").read_text("utf-8"))]
    trimmings = Trimmings(tuple(questions[:EXAMPLES]), (ASSETS / "avatar-user.svg", ASSETS / "avatar-persona.svg"))
    page: gr.Blocks
    with gr.Blocks(title="Memoir", analytics_enabled=False, delete_cache=UPLOAD_AGE) as page:
        gr.HTML(HEADER.format(logo=(ASSETS / "logo.svg").as_posix()), padding=False)
        with gr.Tabs(elem_classes="memoir-tabs"):
            with gr.Tab("Chat", id="chat"):
                persona = chat_tab(page, Assistant(held), held.indexer, trimmings)
            with gr.Tab("Memory", id="memory") as tab:
                memory_tab(held.bank, held.searcher, tab, persona)
        page.queue(api_open=False)
    return page


def welcome(bank: Bank) -> None:
    """On the very first start, bring in the sample persona."""
    if not bank.personas():
        ingest(bank, ASSETS / "sample.jsonl")


def serve(settings: Settings) -> None:
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
    welcome(held.bank)
    page = screen(held)
    page.launch(
        server_name=settings.host,
        server_port=settings.port,
        theme=theme(),
        css_paths=[ASSETS / "theme.css", ASSETS / "screen.css"],
        head=SCRIPT,
        favicon_path=ASSETS / "logo.svg",
        footer_links=[],
        max_file_size=MAX_FILE_SIZE,
        ssr_mode=False,
        quiet=True,
        prevent_thread_lock=True,
    )
    print(f"Memoir is at http://{settings.host}:{settings.port} (its memory: {settings.bank_path})", flush=True)
    held.indexer.start()
    page.block_thread()


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
        serve(Settings())
    except ValidationError as fault:
        for error in fault.errors():
            print(f"memoir: MEMOIR_{str(error['loc'][0]).upper()}: {error['msg']}", file=sys.stderr)
        return 1
    except MemoirError as fault:
        print(f"memoir: {fault}", file=sys.stderr)
        return 1
    return 0


PAPER = gr.themes.Color(
    name="paper",
    c50="#fffdf8", c100="#f8f4ea", c200="#efe9db", c300="#dfd6c3", c400="#968a76", c500="#73695a",
    c600="#5f5749", c700="#453f36", c800="#2f2b25", c900="#24211c", c950="#1a1815",
)  # fmt: skip
INK = gr.themes.Color(
    name="ink",
    c50="#eef3f8", c100="#dbe6f0", c200="#bcd2e6", c300="#9cc0e2", c400="#6f9cc6", c500="#2f618f",
    c600="#1f4a6e", c700="#193c5a", c800="#152f46", c900="#122436", c950="#0c1824",
)  # fmt: skip


def theme() -> gr.themes.Base:
    """Warm paper, one ink; light and dark.

    Of the fonts that Gradio brings only Source Sans Pro 400 and 700 are used: several others (Lora, Source Sans 3,
    every SemiBold) are subsets without Latin letters. Headings and quotes take the system's book face in
    assets/theme.css.
    """
    base = gr.themes.Base(
        primary_hue=INK,
        secondary_hue=INK,
        neutral_hue=PAPER,
        text_size=gr.themes.sizes.text_md,
        spacing_size=gr.themes.sizes.spacing_md,
        radius_size=gr.themes.sizes.radius_md,
        font=(
            gr.themes.LocalFont("Source Sans Pro", weights=(400, 700)),
            "ui-sans-serif",
            "system-ui",
            "sans-serif",
        ),
        font_mono=(
            gr.themes.LocalFont("IBM Plex Mono", weights=(400, 700)),
            "ui-monospace",
            "Consolas",
            "monospace",
        ),
    )
    return base.set(
        body_background_fill="*neutral_100",
        body_background_fill_dark="*neutral_950",
        body_text_color="*neutral_900",
        body_text_color_dark="#ece5d8",
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="#b5ab9a",
        body_text_size="16px",
        background_fill_primary="*neutral_50",
        background_fill_primary_dark="*neutral_900",
        background_fill_secondary="*neutral_100",
        background_fill_secondary_dark="*neutral_950",
        border_color_primary="*neutral_300",
        border_color_primary_dark="#3d382f",
        border_color_accent="*primary_500",
        border_color_accent_dark="*primary_300",
        color_accent="*primary_600",
        color_accent_soft="*primary_50",
        color_accent_soft_dark="#232c35",
        link_text_color="*primary_600",
        link_text_color_dark="*primary_300",
        link_text_color_hover="*primary_700",
        link_text_color_hover_dark="*primary_200",
        link_text_color_active="*primary_700",
        link_text_color_active_dark="*primary_200",
        link_text_color_visited="*primary_600",
        link_text_color_visited_dark="*primary_300",
        prose_text_size="16px",
        prose_header_text_weight="700",
        code_background_fill="*neutral_200",
        code_background_fill_dark="*neutral_800",
        shadow_drop="0 1px 2px rgba(60, 45, 20, 0.06)",
        shadow_drop_lg="0 2px 10px rgba(60, 45, 20, 0.10)",
        block_background_fill="*neutral_50",
        block_background_fill_dark="*neutral_900",
        block_border_color="*neutral_300",
        block_border_color_dark="#3d382f",
        block_border_width="1px",
        block_radius="10px",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="#b5ab9a",
        block_info_text_size="14px",
        block_label_background_fill="transparent",
        block_label_background_fill_dark="transparent",
        block_label_border_width="0px",
        block_label_text_color="*neutral_600",
        block_label_text_color_dark="#b5ab9a",
        block_label_text_size="14px",
        block_title_text_color="*neutral_700",
        block_title_text_color_dark="#d3c9b8",
        block_title_text_size="14px",
        block_title_text_weight="700",
        container_radius="10px",
        layout_gap="20px",
        panel_background_fill="transparent",
        panel_background_fill_dark="transparent",
        accordion_text_color="*neutral_900",
        accordion_text_color_dark="#ece5d8",
        chatbot_text_size="16px",
        input_background_fill="#ffffff",
        input_background_fill_dark="#1f1c18",
        input_border_color="#978b76",
        input_border_color_dark="#7d7464",
        input_border_color_focus="*primary_600",
        input_border_color_focus_dark="*primary_300",
        input_border_color_hover="*neutral_500",
        input_border_color_hover_dark="#8f8574",
        input_border_width="1px",
        input_border_width_dark="1px",
        input_padding="10px 12px",
        input_placeholder_color="*neutral_500",
        input_placeholder_color_dark="#9c9281",
        input_radius="8px",
        input_text_size="16px",
        checkbox_background_color="#ffffff",
        checkbox_background_color_dark="#1f1c18",
        checkbox_background_color_selected="*primary_600",
        checkbox_background_color_selected_dark="*primary_400",
        checkbox_border_color="#8a7f6c",
        checkbox_border_color_dark="#8f8574",
        checkbox_border_color_selected="*primary_600",
        checkbox_border_color_selected_dark="*primary_400",
        checkbox_border_width="1px",
        checkbox_border_width_dark="1px",
        checkbox_label_background_fill="transparent",
        checkbox_label_background_fill_dark="transparent",
        checkbox_label_background_fill_hover="*neutral_200",
        checkbox_label_background_fill_hover_dark="*neutral_800",
        checkbox_label_border_width="0px",
        checkbox_label_border_width_dark="0px",
        error_background_fill="#fdf0ec",
        error_background_fill_dark="#33201b",
        error_border_color="#a23b22",
        error_border_color_dark="#e08b74",
        error_text_color="#8c2f19",
        error_text_color_dark="#f2b8a8",
        error_icon_color="#a23b22",
        error_icon_color_dark="#e08b74",
        loader_color="*primary_600",
        loader_color_dark="*primary_300",
        slider_color="*primary_600",
        slider_color_dark="*primary_300",
        stat_background_fill="*primary_500",
        stat_background_fill_dark="*primary_400",
        table_text_color="*neutral_900",
        table_text_color_dark="#ece5d8",
        table_border_color="*neutral_300",
        table_border_color_dark="#3d382f",
        table_even_background_fill="*neutral_50",
        table_even_background_fill_dark="*neutral_900",
        table_odd_background_fill="*neutral_50",
        table_odd_background_fill_dark="*neutral_900",
        table_row_focus="*primary_50",
        table_row_focus_dark="#232c35",
        button_border_width="1px",
        button_border_width_dark="1px",
        button_transition="background-color 0.15s ease, border-color 0.15s ease, color 0.15s ease",
        button_large_radius="8px",
        button_large_text_size="16px",
        button_medium_radius="8px",
        button_medium_text_size="15px",
        button_small_radius="8px",
        button_small_text_size="14px",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_dark="*primary_300",
        button_primary_background_fill_hover="*primary_700",
        button_primary_background_fill_hover_dark="*primary_200",
        button_primary_border_color="*primary_600",
        button_primary_border_color_dark="*primary_300",
        button_primary_text_color="#fffdf8",
        button_primary_text_color_dark="*primary_950",
        button_secondary_background_fill="*neutral_50",
        button_secondary_background_fill_dark="*neutral_800",
        button_secondary_background_fill_hover="*neutral_200",
        button_secondary_background_fill_hover_dark="*neutral_700",
        button_secondary_border_color="#978b76",
        button_secondary_border_color_dark="#7d7464",
        button_secondary_text_color="*neutral_900",
        button_secondary_text_color_dark="#ece5d8",
        button_cancel_background_fill="*neutral_50",
        button_cancel_background_fill_dark="*neutral_900",
        button_cancel_background_fill_hover="#fdf0ec",
        button_cancel_background_fill_hover_dark="#33201b",
        button_cancel_border_color="#a23b22",
        button_cancel_border_color_dark="#e08b74",
        button_cancel_text_color="#8c2f19",
        button_cancel_text_color_dark="#f2b8a8",
        button_cancel_text_color_hover="#8c2f19",
        button_cancel_text_color_hover_dark="#f2b8a8",
    )


# Gradio's page has a <base>, so a plain "#source-1" link would load the page anew when the address has a query.
HEAD = """
<script>
document.addEventListener("click", (event) => {
  const link = event.target.closest && event.target.closest('a[href^="#source-"]');
  if (!link) return;
  event.preventDefault();
  const card = document.getElementById(link.getAttribute("href").slice(1));
  if (!card) return;
  card.open = true;
  card.scrollIntoView({ block: "nearest", behavior: "smooth" });
  (card.querySelector("summary") || card).focus({ preventScroll: true });
});
</script>
"""


if __name__ == "__main__":
    sys.exit(main())

demo = screen(services(Settings()))
