"""Plain words to the chat's Markdown and back: nothing in a text, whoever wrote it, may become markup."""

from __future__ import annotations

import re

from graph.state import Reading

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_CITATION = re.compile(r"\\\[(\d+)\\\]")
_LINKED = re.compile(r"\[(\d+)\]\(#source-\d+-\d+\)")


def to_markdown(text: str) -> str:
    """A text that shows as it is: every mark that Markdown might read is escaped."""
    lines = (_PUNCTUATION.sub(r"\\\1", line.strip()) for line in text.strip().splitlines())
    return "\n".join(lines)


def from_markdown(text: str) -> str:
    """The text that `to_markdown` or `answered` was given."""
    return _ESCAPED.sub(r"\1", _LINKED.sub(r"[\1]", text))


def answered(reading: Reading, answer_number: int) -> str:
    """A reply whose citations lead to their sources."""
    known = {c.number for c in reading.citations}

    def link(found: re.Match[str]) -> str:
        number = int(found[1])
        return f"[{number}](#source-{answer_number}-{number})" if number in known else found[0]

    return _CITATION.sub(link, to_markdown(reading.answer))
