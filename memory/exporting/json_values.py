"""Convert domain objects to JSON values, for `--json` and the API."""

from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any


def to_json_values(value: object) -> Any:  # noqa: ANN401  # JSON values are of any type
    """Convert dataclasses to objects of their fields, times to ISO 8601, paths to text; keep other values."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json_values(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(k): to_json_values(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json_values(v) for v in value]
    return str(value) if isinstance(value, Path) else value
