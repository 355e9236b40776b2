"""Train the small models in assets/models."""

import json
from typing import Any

from graph.understanding.classifier import MODELS


def read_rows(file: str) -> list[dict[str, Any]]:
    """Read a file of assets/models, one JSON object a line."""
    return [json.loads(line) for line in (MODELS / file).read_text("utf-8").splitlines()]
