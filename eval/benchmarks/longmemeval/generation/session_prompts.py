"""What a chat model is asked for to write a chat of a user with an assistant, in Memoir's own wording.

Their purposes are those of LongMemEval, section 3.2 and appendix A.1: chats about a task, in which a statement comes up
by the way.
"""

from __future__ import annotations

from typing import ClassVar

from eval.making.prompting import Asked, Paragraph, Sentence


class Task(Asked):
    """What a user wants from the assistant."""

    task: Sentence


class UserTask(Task):
    """What a user wants while having something to mention."""

    instruction: ClassVar[str] = """\
For what task could the user come to an AI assistant on this day, so that the fact comes up by the way? It is something
to plan, buy, write, learn, choose or repair, with several steps to talk about. The assistant is not asked about the
fact, and the task does not give it away. Describe the task in one sentence that begins with "The user wants to".

Reply with JSON only: {"task": "..."}"""


class AssistantTask(Task):
    """What a user wants when the assistant has something to tell."""

    instruction: ClassVar[str] = """\
For what task could the user come to an AI assistant on this day, so that the assistant tells the fact as a part of its
help? It has several steps to talk about. Do not give the fact away. Describe the task in one sentence that begins with
"The user wants to".

Reply with JSON only: {"task": "..."}"""


class Message(Asked):
    """The next message of a chat."""

    message: Paragraph


class UserMessage(Message):
    """What the user writes next."""

    instruction: ClassVar[str] = """\
You are the user in this chat with an AI assistant. Write your next message about your task: one to three sentences, as
people write to an assistant. Ask for something, or go on from the last reply. Tell nothing about your life or what you
own, did or like. If there are no messages left after this one, bring the chat to an end.

Reply with JSON only: {"message": "..."}"""


class Mention(Message):
    """What the user writes next, with the fact."""

    instruction: ClassVar[str] = """\
You are the user in this chat with an AI assistant. Write your next message about your task: one to three sentences, as
people write to an assistant. It asks for something, and mentions this fact about you as a reason or circumstance, not
as the point of the message. Keep its names and numbers exactly. Name days as seen from today ("yesterday").

Reply with JSON only: {"message": "..."}"""


class Inquiry(Message):
    """What the user writes next, to be told the fact."""

    instruction: ClassVar[str] = """\
You are the user in this chat with an AI assistant. Write your next message about your task: one or two sentences, as
people write to an assistant. It asks for what the assistant will reply to with this fact, and does not say the fact.

Reply with JSON only: {"message": "..."}"""


class AssistantMessage(Message):
    """What the assistant replies."""

    instruction: ClassVar[str] = """\
You are the AI assistant in this chat. Reply to the last message: helpful and concrete, in at most 120 words. Say about
the user only what they have said.

Reply with JSON only: {"message": "..."}"""


class Telling(Message):
    """What the assistant replies, with the fact."""

    instruction: ClassVar[str] = """\
You are the AI assistant in this chat. Reply to the last message: helpful and concrete, in at most 120 words. Say what
the fact says you told the user, with its names and numbers exactly as they are, among other advice.

Reply with JSON only: {"message": "..."}"""
