"""What the chat shows: messages, what the screen itself has to say between them, and the box to write in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr

from graph.tab.markdown import to_markdown

ASK = "Ask, or tell something to remember"
SEND, STOP = "Send", "Stop"

STOPPED = ("Stopped", "What you said is kept, nothing of the reply is.")
FALLEN_BACK = "The chat model did not answer"

SHOWN = 200
"""Messages of a chat that the page keeps: it sends them all with each word of an answer, so thousands make it crawl."""

CUT = ("Earlier messages", "What was said before is no longer shown here. What was remembered of it stands in Memory.")

Message = dict[str, Any]
"""One message as the chat shows it."""


def message(role: str, content: str) -> Message:
    """Something that was said."""
    return {"role": role, "content": content}


def status(text: str) -> Message:
    """What goes on while an answer is on its way."""
    return {"role": "assistant", "content": "\u200b", "metadata": {"title": text, "status": "pending"}}


def aside(title: str, text: str) -> list[Message]:
    """What the screen itself has to say in the chat; nothing, if there is no text."""
    if not text:
        return []
    return [{"role": "assistant", "content": to_markdown(text), "metadata": {"title": title}}]


def busy() -> gr.Textbox:
    """The composer while an answer is on its way: what is written meanwhile stays, and waits to be sent."""
    writing = "An answer is on its way. Write on, and send it then; or press Stop."
    return gr.Textbox("", submit_btn=False, stop_btn=STOP, placeholder=writing)


def ready(text: str | None = None) -> gr.Textbox:
    """The composer once a message may be sent; with a text only where that is given back."""
    look: dict[str, Any] = {"submit_btn": SEND, "stop_btn": False, "placeholder": ASK}
    return gr.Textbox(**look) if text is None else gr.Textbox(text, **look)


def text_of(shown: Message) -> str:
    """The Markdown of a message, however the screen hands it back."""
    content = shown["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def latest(messages: Sequence[Message]) -> list[Message]:
    """The end of a long chat, from something the user said on, under a line that says what went."""
    if len(messages) <= SHOWN:
        return list(messages)
    rest = list(messages[-SHOWN + 1 :])
    while rest and rest[0]["role"] != "user":
        rest.pop(0)
    return [*aside(*CUT), *rest]


def is_aside(shown: Message) -> bool:
    """Whether the screen says it, and nobody in the chat."""
    return bool((shown.get("metadata") or {}).get("title"))
