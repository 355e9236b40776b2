"""The messages of a chat, as data and as the chat box shows them, and the states of the composer."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import dropwhile, zip_longest
from typing import Any, Literal

import gradio as gr

from graph.understanding.markup import outside_code
from memory.formatting import clip
from memory.tab.parts import TEXTS

ASK = "Ask a question, or share something to remember"
SEND, STOP = "Send", "Stop"

NO_REPLY = ("No reply", "Your message is kept.")
AS_BEFORE = "For the same reason as before."
WITHOUT_MODEL, NOTE = "Answered without the chat model", "Note"
OTHER_SCRIPT = TEXTS["notices"]["other_script"]
"""Said once in a chat in whose letters the encoder knows no words."""

GO_ON = "Go on"
"""Offered under a reply that was cut; a click sends it."""

STATUS = TEXTS["status"]
"""What is being done after some nodes, as the chat shows it."""

STILL_ANSWERING = "An answer is still being written. Your message is kept; send it once the answer is there."
CHAT_CHANGED = "This chat has changed meanwhile. Your message is kept; look at the chat, and send it again."
LOADING_MODEL = "Loading the chat model…"
CHECKING = "Comparing the reply with your memories…"

SHOWN = 200
"""Messages of a chat that the page shows: all are sent to it with each word of an answer."""

CHIP_CHARACTERS = 200
"""Characters of a memory that the tooltip of a chip shows."""

CUT = ("Earlier messages", "Earlier messages are not shown here. You can find what was remembered in the Memory tab.")


_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_UNSAFE = re.compile(r"<(?=[a-zA-Z/!?])|!(?=\[)|\](?=[(:])")
"""What begins HTML or a picture, and what would hide the address of a link."""

_CITED = re.compile(r"\[(\d{1,3})\\?\]")
"""A citation, which before a colon was escaped."""

_ITEM = re.compile(r"^( *\d+)([.)])(?=\s)", re.MULTILINE)

UNSUPPORTED = "#unsupported"
"""The target of the links that mark what no memory supports; screen.css gives them a dotted line."""

FORGOTTEN = 0
"""No memory has this id: it stands for one that an answer cited and that is no more."""


@dataclass(frozen=True, slots=True)
class PastAnswer:
    """A question, what its answer cited (the number of each citation, the memory's id, the quote), and its number."""

    question: str
    cited: tuple[tuple[int, int, str], ...]
    number: int = 1


@dataclass(frozen=True, slots=True)
class Bubble:
    """One message of the chat: what was said, and its Markdown. With a title it is a notice of the page.

    `remembered` are the texts of the memories that were made of it; a chip under the message says so. `turn` is the
    source id of its turn in the bank, if it has one; `answer` says what it cites, if it is an answer, and `unsupported`
    are its sentences that nothing supports.
    """

    role: Literal["user", "assistant"]
    text: str
    markdown: str
    title: str = ""
    pending: bool = False
    remembered: tuple[str, ...] = ()
    turn: str = ""
    answer: PastAnswer | None = None
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chat:
    """One chat in one browser window: whom it is with, and what was said.

    What is sent next takes the place of the bubbles from `edited` on.
    """

    id: str = ""
    persona_id: int | None = None
    bubbles: tuple[Bubble, ...] = ()
    edited: int | None = None

    @property
    def answers(self) -> tuple[PastAnswer, ...]:
        """What each answer relied on."""
        return tuple(bubble.answer for bubble in self.bubbles if bubble.answer)


def to_markdown(text: str) -> str:
    """Escape every character that Markdown could read as markup."""
    return "\n".join(_PUNCTUATION.sub(r"\\\1", line.strip()) for line in text.strip().splitlines())


def _escape(words: str) -> str:
    return _UNSAFE.sub(r"\\\g<0>", words)


def _keep_number(text: str) -> str:
    """Escape what begins a list of one item: it is the end of a sentence, as in "5528. You told me today."."""
    return _ITEM.sub(r"\1\\\2", text) if len(_ITEM.findall(text)) == 1 else text


def _mark(sentence: str) -> str:
    """The sentence as a link that says that it is not in the memory; its citations stay links of their own, and of a
    row of a table each cell is one."""
    parts = re.split(r"( ?\[\d+\\?\]| *\| *)", sentence)
    return "".join(
        part if n % 2 else f'[{part}]({UNSUPPORTED} "Not in my memory")' for n, part in enumerate(parts) if part
    )


def user_bubble(text: str, turn: str = "") -> Bubble:
    """Make the bubble of what the user said; `turn` is the source id of its turn, if it is remembered."""
    return Bubble("user", text, to_markdown(text), turn=turn)


def draft_bubble(text: str) -> Bubble:
    """Make the bubble of an answer that is still being written; HTML, pictures and hidden addresses are escaped."""
    return Bubble("assistant", text, outside_code(text.strip(), lambda words: _keep_number(_escape(words))))


def answer_bubble(text: str, answer: PastAnswer, unsupported: Iterable[str] = ()) -> Bubble:
    """Make the bubble of an answer: its citations lead to their sources, and `unsupported` sentences are marked."""
    numbers = {number for number, memory_id, _ in answer.cited if memory_id != FORGOTTEN}

    def link(match: re.Match[str]) -> str:
        number = int(match[1])
        return f"[{number}](#source-{answer.number}-{number})" if number in numbers else match[0]

    markdown = outside_code(text.strip(), lambda words: _keep_number(_escape(words)))
    for sentence in unsupported:
        escaped = outside_code(sentence, _escape)
        markdown = markdown.replace(escaped, _mark(escaped), 1)
    markdown = outside_code(markdown, lambda words: _CITED.sub(link, words))
    return Bubble("assistant", text, markdown, answer=answer, unsupported=tuple(unsupported))


def status(text: str) -> Bubble:
    """Make the bubble that says what is being done for an answer."""
    return Bubble("assistant", "", "\u200b", title=text, pending=True)


def notice(title: str, text: str) -> list[Bubble]:
    """Make a notice in the chat; none, if there is no text."""
    return [Bubble("assistant", text, to_markdown(text), title)] if text else []


def shown(bubbles: Sequence[Bubble]) -> list[dict[str, Any]]:
    """Convert bubbles to what the chat box takes, with a notice after each message that got no reply.

    Without it, the chat box would show the message and the next as one.
    """
    messages: list[dict[str, Any]] = []
    for bubble, following in zip_longest(bubbles, bubbles[1:]):
        metadata = {"title": bubble.title, **({"status": "pending"} if bubble.pending else {})}
        message = {"role": bubble.role, "content": bubble.markdown}
        messages.append({**message, "metadata": metadata} if bubble.title else message)
        if bubble.remembered:
            messages.append({"role": bubble.role, "content": _chip(bubble)})
        if bubble.role == "user" and (following is None or following.role == "user"):
            messages += shown(notice(*NO_REPLY))
    return messages


def _chip(bubble: Bubble) -> str:
    """Write the chip as a link, which screen.js shows the memories by; its tooltip is what was remembered."""
    told = bubble.remembered
    label = "Remembered" if len(told) == 1 else f"Remembered · {len(told)} memories"
    tooltip = "\n".join(to_markdown(clip(" ".join(text.split()), CHIP_CHARACTERS)) for text in told)
    return f'[{label}](#remembered-{bubble.turn} "{tooltip}")'


def latest(bubbles: Sequence[Bubble]) -> list[Bubble]:
    """Return the end of a long chat, from a message of the user on, under a notice that earlier ones are not shown."""
    if len(bubbles) <= SHOWN:
        return list(bubbles)
    return [*notice(*CUT), *dropwhile(lambda bubble: bubble.role != "user", bubbles[-SHOWN + 1 :])]


def busy(name: str) -> dict[str, Any]:
    """Update the composer for the time of answering: the user can write the next message, but not send it."""
    writing = f"{name} is answering. You can write your next message, or press Stop."
    return gr.update(submit_btn=False, stop_btn=STOP, placeholder=writing)


def stopping() -> dict[str, Any]:
    """Update the composer once a stop was heard."""
    return gr.update(submit_btn=False, stop_btn=False, placeholder="Stopping…")


def ready(text: str | None = None) -> dict[str, Any]:
    """Update the composer once a message can be sent; a text is put back into it."""
    look: dict[str, Any] = {"submit_btn": SEND, "stop_btn": False, "placeholder": ASK}
    return gr.update(**look) if text is None else gr.update(value=text, **look)
