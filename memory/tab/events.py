"""What the event handlers of all tabs share: types and options."""

from typing import Any

import gradio as gr

PRIVATE: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
"""Options of an event that only the page may trigger."""

Update = dict[Any, Any]
"""New values by component."""

UNCHANGED: Update = gr.skip()
"""An update that changes nothing."""
