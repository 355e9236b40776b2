"""What a chat model is asked for, in Memoir's own wording; where the authors had people refine, it scores."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from eval.making.prompting import Asked, Name, Paragraph, Score, Sentence, bound


class Profile(Asked):
    """A child who talks with the assistant."""

    name: Name
    age: Annotated[int, Field(ge=4, le=14)]
    about: Paragraph
    instruction: ClassVar[str] = """\
Invent a child who talks with an assistant: a first name that is not taken, the age, and in five sentences the family,
friends, school, pets, and what the child likes to do.

Reply with JSON only: {"name": "...", "age": N, "about": "..."}"""


class Events(Asked):
    """Memories of one scene and emotion."""

    events: Annotated[list[Sentence], bound(maxItems=10)]
    instruction: ClassVar[str] = """\
Write what an assistant remembers of this child: as many events as asked for, each of the scene and with the emotion
named. Each is one or two sentences with the child's name, says what happened and with whom, and has no date. They are
different from one another and from those remembered already.

Reply with JSON only: {"events": ["..."]}"""


class EventScore(Score):
    """How good a memory is."""

    instruction: ClassVar[str] = """\
How well does this event fit the child, the scene and the emotion? Begin with 10 points and take off for each of these:
it contradicts the profile; it is of another scene or emotion; a child would not live through it; it says too little to
be recognised later. One serious fault leaves less than 6.

Reply with JSON only: {"score": N}"""


class Choice(Asked):
    """The memory that a dialogue is to bring up."""

    memory: int
    instruction: ClassVar[str] = """\
A dialogue of this situation is to be written, in which the assistant brings up a memory by the criterion. Give the
number of the memory that suits it best.

Reply with JSON only: {"memory": N}"""


class Dialogue(Asked):
    """What is said until the memory is brought up, and the reply that does."""

    turns: Annotated[list[Sentence], bound(maxItems=7)]
    reply: Sentence
    instruction: ClassVar[str] = """\
Write a dialogue between this child and the assistant. "turns" are what they say in turn: the child begins and has the
last word, so that their number is odd. The child speaks of today and does not tell what is remembered. In "reply" the
assistant then brings the memory up, briefly and warmly, as a friend would who was told of it: it names the feeling,
recalls the event, and turns it into encouragement. The assistant has no body and does not preach.

Reply with JSON only: {"turns": ["..."], "reply": "..."}"""


class Suitable(Asked):
    """The memories that suit a dialogue, the best first."""

    memories: Annotated[list[int], bound(maxItems=7)]
    instruction: ClassVar[str] = """\
Which of the memories would suit the assistant's next reply, by the criterion? Give the numbers of one to seven, the
most suitable first.

Reply with JSON only: {"memories": [N]}"""


class DialogueScore(Score):
    """How good a dialogue is."""

    instruction: ClassVar[str] = """\
How good is this dialogue? Begin with 10 points and take off for each of these: the child does not sound like a child;
the child tells what is remembered; the situation is another; the reply says something of the memory that is not so,
preaches, or gives no support; it is unnatural. One serious fault leaves less than 6.

Reply with JSON only: {"score": N}"""
