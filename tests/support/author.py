"""A chat model that makes a benchmark's files: it replies by what is asked for."""

import json
from typing import ClassVar

from support.chat_server import Broken


class Author:
    """Replies to a prompt by the method of its name; `prompts` are the benchmark's, `asked` those asked, with the data.

    `replies` maps a prompt's name to another reply, or to a function of the prompt's data.
    """

    prompts: ClassVar = {}

    def __init__(self, **replies):
        self.replies, self.asked = replies, []

    def __call__(self, request):
        text = request["messages"][-1]["content"]
        (name,) = (name for name, prompt in self.prompts.items() if prompt.text in text)
        lines = text.partition("\n\n")[0].split("\n")
        data = {name: json.loads(value) for name, value in (line.split(": ", 1) for line in lines)}
        self.asked.append((name, data))
        reply = self.replies.get(name, getattr(self, name, None))
        reply = reply(data) if callable(reply) else reply
        return reply if isinstance(reply, str | Broken) else json.dumps(reply)

    def count(self, prompt):
        """How often a prompt was asked."""
        return sum(name == prompt for name, _ in self.asked)
