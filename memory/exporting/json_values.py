"""Things of the domain as plain JSON values, for `--json` and for export."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any


def to_json_values(thing: object) -> Any:  # noqa: ANN401  # JSON values are of any type
    """Dataclasses as objects by field name, times as ISO 8601, anything else as JSON has it."""
    if is_dataclass(thing) and not isinstance(thing, type):
        return {f.name: to_json_values(getattr(thing, f.name)) for f in fields(thing)}
    if isinstance(thing, datetime):
        return thing.isoformat()
    if isinstance(thing, dict):
        return {str(k): to_json_values(v) for k, v in thing.items()}
    if isinstance(thing, (list, tuple, set, frozenset)):
        return [to_json_values(v) for v in thing]
    return str(thing) if isinstance(thing, Path) else thing
