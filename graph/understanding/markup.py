"""Tell the words of a text in Markdown from its code, its headings and the marks that begin its lines."""

import re
from collections.abc import Callable, Iterable, Iterator

_FENCED = re.compile(r"^ {0,3}```.*?(?:^ {0,3}```[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_CODE = re.compile(rf"({_FENCED.pattern}|(?<![\\`])`[^`\n]+`(?!`))", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(
    r"^ {0,3}#{1,6} .*$|^[^\n|]*\|.*\n *\|?(?: *:?-+:? *\|)* *:?-+:? *\|? *$|^ *(?:[-*_] *){3,}$", re.MULTILINE
)
"""A heading, the head of a table, or a rule."""
_BEGIN = re.compile(r"\A\s*(?:>\s*|(?:[-*+]|\d{1,2}[.)])\s+(?:\[[ xX]\]\s+)?|\|\s*)*")
"""What marks a quotation, an item of a list or a row of a table."""
_WORD = re.compile(r"\w")

CITATION = re.compile(r"[ \t]\[\d{1,3}\]|(?<!\w)\[\d{1,3}\]")
"""A number in brackets, but no index ("items[0]")."""


def prose(text: str) -> Iterator[str]:
    """The lines of words of a text as they stand in it: without its blocks of code and its headings, and without what
    marks a line as an item, a quotation or a row."""
    for line in _HEADING.sub("", _FENCED.sub("", text)).splitlines():
        words = _BEGIN.sub("", line, count=1)
        is_row = "|" in line[: len(line) - len(words)]
        if words := words.rstrip(" |" if is_row else None):
            yield words


def without(text: str, sentences: Iterable[str]) -> str:
    """The text without these sentences of it, and without the lines that they leave without a word."""
    for sentence in sentences:
        before, found, after = text.partition(sentence)
        if not found:
            continue
        start, rest = before.rfind("\n") + 1, after.partition("\n")
        line = f"{before[start:].rstrip()} {rest[0].lstrip()}".rstrip() if before[start:].strip() else rest[0].lstrip()
        text = before[:start] + (f"{line}{rest[1]}" if _WORD.search(_BEGIN.sub("", f"{line} ")) else "") + rest[2]
    return text.strip()


def mask_code(text: str) -> str:
    """The text with an "X" for each character of its code."""
    return _CODE.sub(lambda code: "X" * len(code[0]), text)


def parts(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of a text in turn, and whether each is code: a fenced block, open or not, or between backticks."""
    return ((part, bool(n % 2)) for n, part in enumerate(_CODE.split(text)) if part)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with its words changed and its code as it was."""
    return "".join(part if is_code else change(part) for part, is_code in parts(text))


def without_citations(reply: str) -> str:
    """A reply without the numbers of the lines that it relied on."""
    return outside_code(reply, lambda text: CITATION.sub("", text))
