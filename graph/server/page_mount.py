"""Turn a built page into an ASGI app: theme, style sheets, script, upload folder and MCP server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

import gradio as gr
from fastapi import FastAPI
from gradio import processing_utils, queueing, utils
from starlette.routing import Mount

from graph.server.api import return_json
from graph.server.request_limits import MAX_UPLOAD_BYTES
from memory.tab.events import to_gradio_error

WEB = Path(__file__).parents[2] / "assets" / "web"

LOGO, USER_AVATAR, PERSONA_AVATAR = PICTURES = tuple(
    WEB / name for name in ("logo.svg", "avatar-user.svg", "avatar-persona.svg")
)
"""The files that every page serves; all others that it serves are downloads of its user."""

_gradio_error_payload = utils.error_payload


def mount_page(page: gr.Blocks, uploads: Path) -> FastAPI:
    """Make an app of one page, whose uploads go to a folder of their own."""
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
        max_file_size=MAX_UPLOAD_BYTES,
        ssr_mode=False,
        enable_monitoring=False,
        mcp_server=True,
    )
    # A request may name an address instead of a file, and Gradio would fetch it.
    processing_utils.async_ssrf_protected_get = _fetch_nothing
    utils.error_payload = queueing.error_payload = _describe_error  # type: ignore[attr-defined]
    # Gradio checks that a file named in a request was uploaded only if it believes that the page was launched.
    page.has_launched = True
    return_json(page)
    (mount,) = (route for route in app.routes if isinstance(route, Mount))
    mount.app.uploaded_file_dir = str(uploads)  # type: ignore[attr-defined]  # Gradio's app
    return app


async def _fetch_nothing(url: str) -> NoReturn:
    raise gr.Error("Memoir does not fetch files from other machines. Upload the file itself.", print_exception=False)


def _describe_error(error: BaseException | None, show_error: bool) -> dict[str, Any]:
    """Describe an error to a client. Gradio would show any text, which may name files and users of the server."""
    if error is not None and not isinstance(error, gr.Error):
        error = to_gradio_error(error)
    return _gradio_error_payload(error, show_error)


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
