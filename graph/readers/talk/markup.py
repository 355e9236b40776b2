"""Tell the code of a text in Markdown from its words."""

from __future__ import annotations

import re
from collections.abc import Callable

_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*(?:`|\Z|(?=\n)))", re.DOTALL)


def parts(text: str) -> list[str]:
    """The words and the code of a text in turn; code, fenced or between backticks, begins with a backtick."""
    return _CODE.split(text)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with its words changed and its code as it was."""
    return "".join(part if part.startswith("`") else change(part) for part in parts(text))
