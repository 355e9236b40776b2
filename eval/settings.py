"""The settings of evaluation, added to those of the whole program."""

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import Field
from pydantic.fields import FieldInfo

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
    return [
        {
            "variable": f"{EvalSettings.model_config['env_prefix']}{name.upper()}",
            "default": _default(field),
            "values": _values(field),
            "meaning": field.description,
        }
        for name, field in EvalSettings.model_fields.items()
    ]


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None:
        return "depends on the platform"
    if isinstance(field.default, bool):
        return str(field.default).lower()
    return "" if field.default is None else str(field.default)


def _values(field: FieldInfo) -> str:
    if get_origin(field.annotation) is Literal:
        return ", ".join(map(str, get_args(field.annotation)))
    if field.annotation is bool:
        return "true, false"
    bounds = {name: getattr(part, name) for part in field.metadata for name in ("ge", "le") if hasattr(part, name)}
    return f"{bounds['ge']} to {bounds['le']}" if len(bounds) == 2 else ""
