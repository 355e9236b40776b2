"""Ask a chat model for a reply as JSON of a given shape, which is parsed strictly, or not at all."""

import json
import re
from typing import TypeVar

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict, ValidationError

from graph.models.calls import Completion, Messages, stream_reply

REASONING = re.compile(r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)

CONTROL = re.compile(r"[\x00-\x1f]+")
"""Line breaks and the like: space between the parts of JSON and not allowed within its strings, where the grammar of
llama-cpp-python lets models write them."""

PROBLEM = 80
"""Characters of a problem report and of the place that it names."""


class StrictReply(BaseModel):
    """A reply with exactly these fields, of exactly these types."""

    model_config = ConfigDict(extra="forbid", strict=True)


Shape = TypeVar("Shape", bound=StrictReply)


class UnusableReply(Exception):  # to be requested again, not an error of the program
    """A reply without the requested form; the message says in a line where it differs."""


async def ask_for_json(
    model: BaseChatModel,
    talk: Messages,
    shape: type[Shape],
    replies: list[Completion],
    *,
    max_tokens: int | None = None,
) -> Shape:
    """Return a reply of this shape; ask a second time if the first does not have it. Both are added to `replies`.

    Raises:
        UnusableReply: the second does not have it, either.
        ModelFailed: there is no reply.
    """
    schema = shape.model_json_schema()
    replies.append(await stream_reply(model, talk, schema=schema, max_tokens=max_tokens))
    try:
        return parse_json(replies[-1].text, shape)
    except UnusableReply as fault:  # its text is left out of the second prompt, as it is untrusted
        *before, (role, text) = talk
        problem = f"Your reply could not be used: {quoted(str(fault))}. Reply with the JSON object alone."
        talk = [*before, (role, f"{text}\n\n{problem}")]
        replies.append(await stream_reply(model, talk, schema=schema, max_tokens=max_tokens))
        return parse_json(replies[-1].text, shape)


def parse_json(reply: str, shape: type[Shape]) -> Shape:
    """Parse the one JSON object of a reply; text around it (reasoning, a code fence) is ignored.

    Raises:
        UnusableReply: there is no object, or it does not have this shape.
    """
    bare = CONTROL.sub(" ", REASONING.sub("", reply))
    begin, end = bare.find("{"), bare.rfind("}")
    if begin < 0 or end < begin:
        raise UnusableReply("it holds no JSON object")
    try:
        return shape.model_validate_json(bare[begin : end + 1])
    except ValidationError as fault:
        first = fault.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        # A field may be of the model's own making, and as long as it likes.
        raise UnusableReply((f"{where[:PROBLEM]}: " if where else "") + first["msg"][:PROBLEM]) from None


def quoted(data: object) -> str:
    """JSON without "<", so that no text in it can imitate the marks with which a chat template ends a turn."""
    return json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
