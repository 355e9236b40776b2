"""Turn a built page into an ASGI app: theme, style sheets, script, upload folder and MCP server."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any, NoReturn

import gradio as gr
from fastapi import FastAPI
from gradio import processing_utils
from starlette.routing import Mount

from graph.server.api import return_json
from graph.server.request_limits import MAX_UPLOAD_BYTES
from memory.errors import MemoirError
from memory.tab.templates import LOGO, WEB


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
            message = escape(str(error))
            raise gr.Error(message, title="Something went wrong", duration=12, print_exception=False) from error
        except Exception as error:
            # Not its text, which may name files of the server or quote another user.
            message = f"Memoir ran into a bug ({type(error).__name__}). See the terminal for details."
            raise gr.Error(message, duration=12) from error


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
        show_error=False,  # else Gradio shows the text of any error, which may name files of the server
        mcp_server=True,
    )
    # A request may name an address instead of a file, and Gradio would fetch it.
    processing_utils.async_ssrf_protected_get = _fetch_nothing
    # Gradio checks that a file named in a request was uploaded only if it believes that the page was launched.
    page.has_launched = True
    return_json(page)
    (mount,) = (route for route in app.routes if isinstance(route, Mount))
    mount.app.uploaded_file_dir = str(uploads)  # type: ignore[attr-defined]  # Gradio's app
    return app


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
