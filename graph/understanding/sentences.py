"""Split a text into sentences."""

import re

from graph.language.patterns import fill

# A sentence ends after its quotation marks and brackets. A look-behind has a fixed width: one each for 0 to 2 marks.
# After "!" or "?", and before a question, the next may begin in lower case. It also ends before a question joined to it
# ("and who's my boss?").
_END = re.compile(
    fill(
        r"(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)\]])|(?<=[.!?…][\"'”’)\]]{2}))\s+"
        r"(?=[\"'“‘(\[]*[^\s.!?…,;a-z]|(?:(?:and|but|so|or|also) )?<QUESTION_START>)"
        r"|(?<=[!?])\s+(?=[a-z])"
        r"|(?<!\s)\s+(?=(?:and|but|so|or|also) <QUESTION_START>[^.!?\n]{0,200}\?)"
        r"|(?<=[。！？])|\n+"
    )
)
LOWER_CASE_END = re.compile(r"(?<=[.!?])\s+|\n")
"""Where sentences may end of somebody who begins them in lower case."""
_ABBREVIATION = re.compile(fill(r"(?:\b(?:(?i:<TITLE>)|Jr|Sr|vs|etc|e\.g|i\.e|a\.m|p\.m|No|approx)|\b[A-Z])\.$"))

LONGEST_ABBREVIATION = 10
"""Characters of the longest abbreviation with its full stop and what is before it."""

MAX_TEXT = 20_000
"""Most characters that are split; a pasted book is not read to its end."""


def shorten(text: str, longest: int) -> str:
    """The text, or as many of its first words, marked as cut."""
    if len(text) <= longest:
        return text
    cut = text[: longest + 1].rsplit(maxsplit=1)[0]
    return (cut if len(cut) <= longest else text[:longest]).rstrip() + "…"


def capitalise(text: str) -> str:
    """The text with a capital letter, as it begins a line: "The morning of 8 May 2023"."""
    return text[:1].upper() + text[1:]


def as_sentence(text: str) -> str:
    """The text as a sentence; empty if it is."""
    text = text.strip(" ,;:-–")
    text = capitalise(text[1:-1] if text.startswith("(") and text.endswith(")") else text)
    return text if not text or text.endswith((".", "!", "?", "…")) else f"{text}."


def split(text: str, end: re.Pattern[str] = _END) -> list[str]:
    """The sentences of a text in order, stripped; list items and lines count as sentences."""
    sentences: list[str] = []
    for part in (p.strip() for p in end.split(text[:MAX_TEXT])):
        if not part:
            continue
        if sentences and _ABBREVIATION.search(sentences[-1][-LONGEST_ABBREVIATION:]):
            sentences[-1] += f" {part}"
        else:
            sentences.append(part)
    return sentences


def spans(text: str) -> list[tuple[int, int]]:
    """The places of the sentences of a text."""
    places: list[tuple[int, int]] = []
    for sentence in split(text):
        # Abbreviations are joined again with one space, where there may have been more.
        begin = text.find(sentence, places[-1][1] if places else 0)
        if begin >= 0:
            places.append((begin, begin + len(sentence)))
    return places
