"""The SQL of what works on the rows from outside: search, forgetting, exports and plots.

Longer statements of a module stand in the SQL file of its name.
"""

import re
from pathlib import Path


def named_queries(file: Path) -> dict[str, str]:
    """The statements of a file by the names in the comments before them: `-- name: NAME`."""
    parts = re.split(r"^-- name: (\w+)\n(?:--.*\n)*", file.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))
