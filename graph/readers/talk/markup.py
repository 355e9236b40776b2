"""Tell the code of a text in Markdown from its words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_CODE = re.compile(r"(^ {0,3}```.*?(?:^ {0,3}```[^\n]*$|\Z)|(?<![\\`])`[^`\n]+`(?!`))", re.DOTALL | re.MULTILINE)


def parts(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of a text in turn, and whether each is code: a fenced block, open or not, or between backticks."""
    return ((part, bool(n % 2)) for n, part in enumerate(_CODE.split(text)) if part)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with its words changed and its code as it was."""
    return "".join(part if is_code else change(part) for part, is_code in parts(text))
