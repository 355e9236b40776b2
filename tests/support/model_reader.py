"""A question put to a persona whose reader is a scripted chat model, and what that model was asked."""

import json
from dataclasses import replace

from graph.assistant import Assistant
from graph.models.registry import chat_model

QUESTION = "When did I adopt Biscuit?"
ADOPTED = "I adopted a greyhound called Biscuit yesterday."


def reading_with(chat, server, **settings):
    """The services of a chat, read by the server's model: with notes and memories as JSON, if not told otherwise."""
    name = server.model()
    chosen = replace(chat.services.settings, model=name, **{"format": "json", "method": "con"} | settings)
    return replace(chat.services, settings=chosen, model=chat_model(name))


def answered(chat, server, text=QUESTION, *, remember=False, **settings):
    """What comes of asking."""
    asked = chat.asks(text, remember=remember)
    return Assistant(reading_with(chat, server, **settings)).ask(asked)


def shown(request):
    """The system message and the data of a request, without the task; the data parsed where they are a JSON object."""
    system, human = (message["content"] for message in request["messages"])
    if "\n\n{" in system:  # where the reply is in words, the user's message is the question alone
        return system, json.JSONDecoder().raw_decode(system, system.index("\n\n{") + 2)[0]
    return system, json.JSONDecoder().raw_decode(human)[0] if human.startswith("{") else human


def number_of(request, text):
    """The number of a memory in a prompt."""
    (number,) = [m["number"] for m in shown(request)[1]["memories"] if m["text"] == text]
    return number


def adopted(request):
    """The reply of a model that has read well, whatever the number of the memory."""
    number = number_of(request, ADOPTED)
    note = {"memory": number, "quote": "adopted a greyhound called Biscuit", "note": "on 3 March 2024"}
    cited = {"memory": number, "quote": "greyhound called Biscuit yesterday"}
    said = {"notes": [note], "answer": f"On 3 March 2024 [{number}].", "citations": [cited], "reason": None}
    return json.dumps(said)
