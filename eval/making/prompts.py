"""Prompts as data: what a chat model is asked, and the form of its reply, from the prompts.toml beside a recipe.

    [Events]
    reply = { events = ["sentence", 10] }      a list of at most 10 sentences
    text = '''Write what an assistant remembers of this child...'''

A form is a name of `TYPES`, a range of integers ("0..10"), [form of the items, most items] or { field = form }.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import GenericAlias
from typing import Annotated, Any

from pydantic import AfterValidator, Field, create_model

from graph.models.json_replies import StrictReply, quoted
from memory import read_table


def _bound(**limits: int) -> Any:  # noqa: ANN401  # of what pydantic's functions return
    """Bounds in the schema alone: what a model without a grammar writes beyond them is not refused."""
    return Field(json_schema_extra=dict(limits))


def _text(most: int) -> Any:  # noqa: ANN401  # a type
    """A text without line breaks, and without spaces at its ends or twice."""
    return Annotated[str, AfterValidator(lambda text: " ".join(text.split())), _bound(maxLength=most)]


TYPES: Mapping[str, Any] = {
    "bool": bool,
    "int": int,
    "name": _text(40),
    "phrase": _text(120),
    "sentence": _text(400),
    "paragraph": _text(2500),
}


@dataclass(frozen=True, slots=True)
class Prompt:
    """An instruction, and the form of the reply to it."""

    text: str
    reply: type[StrictReply]

    def fill(self, data: Mapping[str, object]) -> str:
        """The data, a line each as JSON, then the instruction."""
        lines = (f"{name.replace('_', ' ').capitalize()}: {quoted(value)}" for name, value in data.items())
        return "\n".join(lines) + f"\n\n{self.text}"


def read_prompts(module: str) -> dict[str, Prompt]:
    """The prompts beside a module's file, by name. Its text `form`, if any, replaces {form} in others."""
    file = read_table(module, "prompts.toml")
    form = file.pop("form", "")
    return {
        name: Prompt(each["text"].replace("{form}", form), _shape(name, each["reply"])) for name, each in file.items()
    }


def _shape(name: str, form: Mapping[str, Any]) -> type[StrictReply]:
    fields: dict[str, Any] = {field: _field(field, each) for field, each in form.items()}
    return create_model(name, __base__=StrictReply, **fields)


def _field(name: str, form: Any) -> tuple[Any, Any]:  # noqa: ANN401  # as TOML has it
    """The type of a form, and its limits."""
    if isinstance(form, Mapping):
        return _shape(name, form), ...
    if isinstance(form, list):
        item, most = form
        return GenericAlias(list, (_field(name, item)[0],)), _bound(maxItems=most)
    least, is_range, most = form.partition("..")
    return (int, Field(ge=int(least), le=int(most))) if is_range else (TYPES[form], ...)
