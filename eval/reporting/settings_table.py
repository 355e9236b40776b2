"""List every setting with its environment variable, default, values and meaning."""

from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from eval.reporting.render import markdown_table
from eval.settings import EvalSettings

PREFIX = str(EvalSettings.model_config["env_prefix"])


def settings_rows() -> list[dict[str, Any]]:
    """Describe each setting of the program: its variable, default, values and meaning."""
    return [
        {
            "variable": f"{PREFIX}{name.upper()}",
            "default": _default(field),
            "values": _values(field),
            "meaning": field.description,
        }
        for name, field in EvalSettings.model_fields.items()
    ]


def settings_table() -> str:
    """The settings as a Markdown table."""
    rows = [row | {"variable": f"`{row['variable']}`"} for row in settings_rows()]
    return markdown_table(rows, "keys")


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
