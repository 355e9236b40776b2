"""Write a JSON schema as a grammar that allows one spelling of the spaces, and no list or text without an end.

OpenVINO takes JSON schemas, too, but allows any white space between the parts of an object: a small model then writes
line breaks until its tokens are used up. `{"place": string, "year": integer}` becomes

    root ::= "{\\"place\\": " text50 ", \\"year\\": " integer "}"
    text50 ::= "\\"" (word (" " word){0,49})? "\\""
    ...

A text is counted in words: with a bound in characters, a token takes up to 60 times as long (measured with xgrammar in
OpenVINO GenAI 2026.4.1: 1.2 s with 400 characters, .02 s with 50 words). For the same reason it has no escapes.
"""

import json
from collections.abc import Mapping
from typing import Any

from graph.models.limits import MAX_ITEMS, MAX_LENGTH
from memory import read_table

CHARACTERS_PER_WORD = 8
"""With the space after it; English has 5 to 6, so that `maxLength` is seldom exceeded."""

MAX_NUMBERS = 400
"""An integer between bounds is spelled out up to this many values."""

RULES: Mapping[str, str] = read_table(__file__)["rules"]

Schema = Mapping[str, Any]


def grammar(schema: Schema) -> str:
    """The grammar, in the EBNF of xgrammar, of the JSON values that a schema allows.

    All properties are required, in the order of the schema.

    Raises:
        ValueError: the schema uses what is not supported here.
    """
    writer = _Writer(schema)
    rules = {"root": writer.rule(schema), **writer.texts, **RULES}
    return "\n".join(f"{name} ::= {rule}" for name, rule in rules.items())


class _Writer:
    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.texts: dict[str, str] = {}

    def rule(self, schema: Schema) -> str:
        """The rule for one part of the schema, in brackets where it is a choice."""
        if "$ref" in schema:
            return self.rule(self.schema["$defs"][schema["$ref"].removeprefix("#/$defs/")])
        if "const" in schema:
            return _literal(schema["const"])
        if "enum" in schema:
            return _choice([_literal(value) for value in schema["enum"]])
        if "anyOf" in schema:
            return _choice([self.rule(part) for part in schema["anyOf"]])
        kind = schema.get("type")
        if kind == "object" and schema.get("properties"):
            return self._object(schema["properties"])
        if kind == "array" and "items" in schema:
            return self._array(schema)
        if kind == "string":
            words = max(1, schema.get("maxLength", MAX_LENGTH) // CHARACTERS_PER_WORD)
            return self._text(words, schema.get("minLength", 0))
        if kind == "integer" and 0 <= schema.get("maximum", -1) - schema.get("minimum", 0) < MAX_NUMBERS:
            return _choice([f'"{n}"' for n in range(schema.get("minimum", 0), schema["maximum"] + 1)])
        if kind in RULES:
            return str(kind)
        raise ValueError(f"a schema with {json.dumps(dict(schema))[:200]} cannot be made a grammar")

    def _object(self, properties: Mapping[str, Schema]) -> str:
        parts = []
        for number, (name, schema) in enumerate(properties.items()):
            before = ", " if number else "{"
            parts += [json.dumps(f"{before}{json.dumps(name)}: "), self.rule(schema)]
        return " ".join([*parts, '"}"'])

    def _array(self, schema: Schema) -> str:
        item, least, most = self.rule(schema["items"]), schema.get("minItems", 0), schema.get("maxItems", MAX_ITEMS)
        if most == 0:
            return '"[]"'
        more = f'("[" {item} (", " {item}){{{max(0, least - 1)},{most - 1}}} "]")'
        return more if least else _choice(['"[]"', more])

    def _text(self, words: int, least: int) -> str:
        name = f"text{words}" if not least else f"filled{words}"
        self.texts[name] = rf'"\"" (word (" " word){{0,{words - 1}}}){"" if least else "?"} "\""'
        return name


def _choice(rules: list[str]) -> str:
    return f"({' | '.join(rules)})"


def _literal(value: object) -> str:
    """The JSON of a value as a terminal of the grammar, which is quoted as in JSON, too."""
    return json.dumps(json.dumps(value, ensure_ascii=False))
