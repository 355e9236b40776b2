"""Parts of the tab that look as screen.toml says, and buttons that save a text as a file."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from memory.tab.parts import PRIVATE, build_table

_SCREEN: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("screen.toml").read_text("utf-8"))
CONTROLS: Mapping[str, Mapping[str, Any]] = _SCREEN["controls"]
"""The settings with a field of their own, by name, and how it looks."""
PLOTS: Mapping[str, Mapping[str, Any]] = _SCREEN["plots"]
TRACES: Mapping[str, dict[str, Any]] = _SCREEN["traces"]
"""The layouts of plots, and how their bars and lines look."""

Download = dict[str, str]
"""A file for the browser: its `name`, its `type` (MIME) and its `text`."""

SAVE = "(file) => window.saveFile(file)"
"""A function of assets/web/screen.js."""


def look(name: str) -> dict[str, Any]:
    """The id of a component and how it looks, by the end of the id."""
    return {"elem_id": f"eval-{name}", **_SCREEN["components"][name]}


def table(name: str) -> gr.Dataframe:
    """Build a table, by the end of its id."""
    return build_table(f"eval-{name}", **_SCREEN["tables"][name])


def connect_download(
    button: gr.Button, make: Callable[..., Download], inputs: Sequence[gr.components.Component]
) -> None:
    """Let a button make a file from the values of some components and save it in the browser, not on the server."""
    file = gr.JSON(visible=False)
    button.click(make, inputs, file, **PRIVATE).then(None, file, None, js=SAVE)
