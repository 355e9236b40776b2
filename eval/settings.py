"""The settings of evaluation, added to those of the whole program."""

from pathlib import Path
from typing import Any

from pydantic import Field

from graph.settings import Settings


class EvalSettings(Settings):
    """All settings of the program, read from the environment (`MEMOIR_...`) or a `.env` file."""

    data: Path | None = Field(None, description="folder with benchmark files, one folder for each benchmark")
    judge: str = Field("", description="chat model that judges answers in evaluation, named like MEMOIR_MODEL")

    @property
    def cache_path(self) -> Path:
        """The file of embeddings that runs share."""
        return self.home / "cache" / "embeddings.db"

    @property
    def judgements_path(self) -> Path:
        """The file of a judge's cached replies."""
        return self.home / "cache" / "judgements.db"


def settings_rows() -> list[dict[str, Any]]:
    """Describe each setting of the program: its variable, default, values and meaning."""
    rows = []
    for name, field in EvalSettings.model_json_schema()["properties"].items():
        variable = f"{EvalSettings.model_config['env_prefix']}{name.upper()}"
        default = field.get("default", "depends on the platform")
        default = str(default).lower() if isinstance(default, bool) else "" if default is None else str(default)
        bounds = f"{field['minimum']} to {field['maximum']}" if {"minimum", "maximum"} <= field.keys() else ""
        values = "true, false" if field.get("type") == "boolean" else ", ".join(map(str, field.get("enum", [bounds])))
        rows.append({"variable": variable, "default": default, "values": values, "meaning": field["description"]})
    return rows
