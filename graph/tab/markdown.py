"""Markdown of the chat, in which no text, whoever wrote it, becomes markup."""

from __future__ import annotations

import re

from graph.state import Reading

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_CITATION = re.compile(r"\\\[(\d+)\\\]")


def to_markdown(text: str) -> str:
    """Escape every character that Markdown could read as markup."""
    lines = (_PUNCTUATION.sub(r"\\\1", line.strip()) for line in text.strip().splitlines())
    return "\n".join(lines)


def link_citations(reading: Reading, answer_number: int) -> str:
    """Escape an answer, and link its citations to their sources."""
    numbers = {c.number for c in reading.citations}

    def link(match: re.Match[str]) -> str:
        number = int(match[1])
        return f"[{number}](#source-{answer_number}-{number})" if number in numbers else match[0]

    return _CITATION.sub(link, to_markdown(reading.answer))
