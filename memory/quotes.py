"""Words that are claimed to stand in a text, and whether they do."""

from __future__ import annotations

_UNEVEN = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "…": " "})
_AROUND = " .,;\"'"


def holds(text: str, words: str) -> bool:
    """Whether a text holds the words, whatever their case, spaces and kind of quotation marks."""
    return bool(plain(words)) and plain(words) in plain(text)


def quoted(words: str, text: str) -> str:
    """The words as they stand in the text; where only case, spaces or marks differ, as they were given; or nothing."""
    words = words.strip()
    at = text.find(words)
    if words and at >= 0:
        return text[at : at + len(words)]
    return words if holds(text, words) else ""


def plain(text: str) -> str:
    """The text without what may differ between a quote and what it quotes."""
    return " ".join(text.translate(_UNEVEN).casefold().split()).strip(_AROUND)
