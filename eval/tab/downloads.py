"""Hand a text to the browser as a file; nothing is written on the server."""

from collections.abc import Callable, Sequence

import gradio as gr

from memory.tab.parts import PRIVATE

Download = dict[str, str]
"""A file for the browser: its `name`, its `type` (MIME) and its `text`."""

SAVE = """(file) => {
  if (!file) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([file.text], { type: file.type }));
  link.download = file.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}"""


def connect_download(
    button: gr.Button, make: Callable[..., Download], inputs: Sequence[gr.components.Component]
) -> None:
    """Let a button make a file from the values of some components and save it in the browser."""
    file = gr.JSON(visible=False)
    button.click(make, inputs, file, **PRIVATE).then(None, file, None, js=SAVE)
