"""What Memoir knows: a bank of personas, sessions, turns and memories, and the ways into and through it.

Here are the readers of the tables (TOML) and the SQL statements that lie beside modules.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read_table(module: str, name: str = "") -> dict[str, Any]:
    """The table in the file of a name beside a module, given as its `__file__`; without a name, in that of its own."""
    path = Path(module)
    return tomllib.loads((path.with_name(name) if name else path.with_suffix(".toml")).read_text("utf-8"))


def fill(pattern: str, parts: Mapping[str, str]) -> str:
    """A pattern of such a table with the parts filled in that it names in braces, and those that they name."""
    return re.sub(r"\{([a-z_]+)\}", lambda name: fill(parts[name[1]], parts), pattern)


def named_queries(module: str, name: str = "") -> dict[str, str]:
    """The statements of such a file by the names in the comments before them: `-- name: NAME`."""
    path = Path(module)
    text = (path.with_name(name) if name else path.with_suffix(".sql")).read_text("utf-8")
    parts = re.split(r"^-- name: (\w+)\n(?:--.*\n)*", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))
