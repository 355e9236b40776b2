"""A chat model that makes a benchmark's files: it replies by what is asked for."""

import json

from eval.making.prompting import Asked
from support.chat_server import Broken


class Author:
    """Replies to a shape by the method of its name; `modules` have the shapes, `asked` those asked for, with the data.

    `replies` maps a shape to another reply, or to a function of the prompt's data.
    """

    modules = ()

    def __init__(self, **replies):
        self.replies, self.asked = replies, []

    def __call__(self, request):
        text = request["messages"][-1]["content"]
        (shape,) = {
            each
            for module in self.modules
            for each in vars(module).values()
            if isinstance(each, type) and issubclass(each, Asked) and vars(each).get("instruction", "\0") in text
        }
        lines = text.partition("\n\n")[0].split("\n")
        data = {name: json.loads(value) for name, value in (line.split(": ", 1) for line in lines)}
        self.asked.append((shape.__name__, data))
        reply = self.replies.get(shape.__name__, getattr(self, shape.__name__))
        reply = reply(data) if callable(reply) else reply
        return reply if isinstance(reply, str | Broken) else json.dumps(reply)

    def count(self, shape):
        """How often a shape was asked for."""
        return sum(name == shape for name, _ in self.asked)
