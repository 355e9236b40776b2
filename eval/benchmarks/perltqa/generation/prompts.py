"""What a chat model is asked for: the shape of each reply and its instruction, in Memoir's own wording.

Their purposes are those of PerLTQA's figures 6 and 7 (appendix A.1 and A.2); the two that score are Memoir's, since the
paper prints none.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from eval.making.prompting import Asked, Name, Paragraph, Phrase, Score, Sentence, bound
from graph.models.json_replies import StrictReply


class FullName(StrictReply):
    """A name for a persona."""

    first_name: Name
    family_name: Name


class Names(Asked):
    """Names for a persona."""

    names: Annotated[list[FullName], bound(maxItems=6)]
    instruction: ClassVar[str] = """\
Invent six full names that a person with this occupation and these initials could have, from several countries. Use no
name of a well-known person, and none of the names in use.

Reply with JSON only: {"names": [{"first_name": "...", "family_name": "..."}]}"""


class Profile(Asked):
    """The fields of a profile that the seed does not give."""

    gender: Phrase
    nickname: Phrase
    title: Phrase
    age: Annotated[int, Field(ge=16, le=99)]
    nationality: Phrase
    physical_characteristics: Phrase
    achievements: Sentence
    ethnic_background: Phrase
    employer: Phrase
    awards_and_role_models: Sentence
    instruction: ClassVar[str] = """\
Invent the rest of this person's profile. It must be plausible, agree with what is given, and contain no slur or cliché
about a group. A nickname is what friends call the person; a title is the position at work. Employers and awards have
names; a role model is a well-known person. Leave a field empty ("") rather than writing that it is unknown.

Reply with JSON only: {"gender": "...", "nickname": "...", "title": "...", "age": 0, "nationality": "...",
"physical_characteristics": "...", "achievements": "...", "ethnic_background": "...", "employer": "...",
"awards_and_role_models": "..."}"""


class Relationship(StrictReply):
    """A person in a persona's life."""

    relationship: Phrase
    name: Name
    description: Sentence


class Relationships(Asked):
    """The people in a persona's life."""

    relationships: Annotated[list[Relationship], bound(maxItems=10)]
    instruction: ClassVar[str] = """\
Invent the people in this person's life: for each of the kinds one person who is that to them, with a full name and one
sentence on who they are and how the two get on. Copy the kind as it is written. Each has a different name. Leave out a
kind that does not fit the profile.

Reply with JSON only: {"relationships": [{"relationship": "...", "name": "...", "description": "..."}]}"""


class Event(Asked):
    """One event as it is remembered, and the situation that it grew from."""

    background: Sentence
    summary: Phrase
    content: Paragraph
    instruction: ClassVar[str] = """\
First describe in two sentences a situation on this topic, shortly before this date, that brought the two people
together. Then tell one event that grew out of it, as the person will remember it: 200 to 300 words in the third person,
with the full names of both, the date, places, numbers, what each of them did and said, and how it ended. It must agree
with the profile, the relationship and the earlier events of the two, and repeat none of them. Nobody is insulted for
what they are. The summary is one short sentence. Use nothing of this example:

{"background": "A storm tore tiles off the roof of the rowing club in Hobart. Ines Prado and her aunt Vera row there.",
"summary": "Ines and Vera mended the roof of the club", "content": "On June 4, 2022, Ines Prado and her aunt Vera Prado
spent the whole Saturday on the roof of the rowing club. Vera had borrowed two ladders from the fire brigade; Ines, who
had never laid a tile, broke eleven of them before noon. ..."}

Reply with JSON only: {"background": "...", "summary": "...", "content": "..."}"""


class Exchange(StrictReply):
    """What the persona says in a dialogue, and the assistant's reply."""

    person: Sentence
    assistant: Sentence


class Dialogue(Asked):
    """A dialogue of the persona with the assistant."""

    exchanges: Annotated[list[Exchange], bound(maxItems=6)]
    instruction: ClassVar[str] = """\
Write a dialogue of this person with their AI assistant on the date of the dialogue. The person talks about the event;
the assistant asks and comments. Write four exchanges, each of what the person says and what the assistant replies. Name
people, places, times and details as the event has them, and add nothing that contradicts it.

Reply with JSON only: {"exchanges": [{"person": "...", "assistant": "..."}]}"""


class Pair(StrictReply):
    """A question about a memory, and its answer."""

    question: Sentence
    answer: Sentence


class Pairs(Asked):
    """Questions about one memory."""

    pairs: Annotated[list[Pair], bound(maxItems=6)]
    instruction: ClassVar[str] = """\
Write as many questions about this memory of the person as stated, each with its answer. A question is understood
without the memory: it names people in full instead of "he" or "they", and does not speak of a memory, a text or a
dialogue. Its answer is in the memory, is short, uses the memory's own words, and does not repeat the question. No two
ask the same.

Reply with JSON only: {"pairs": [{"question": "...", "answer": "..."}]}"""


class Anchors(Asked):
    """The words that carry an answer."""

    anchors: Annotated[list[Phrase], bound(maxItems=6)]
    instruction: ClassVar[str] = """\
Which words of the answer does a right answer have to contain? Copy one to five short phrases (names, numbers, dates,
things) that are in the answer and in the memory, without articles and prepositions around them. To "Where did they
meet?", "They met at the harbour", the phrase is "harbour".

Reply with JSON only: {"anchors": ["..."]}"""


class MemoryScore(Score):
    """How good an event and its dialogue are."""

    instruction: ClassVar[str] = """\
How good is this event, with its dialogue, as a memory of the person? Begin with 10 points and take off for each of
these: it contradicts the profile or the relationship; the dialogue contradicts the event; it has few concrete details;
it is unclear who is meant; it disparages a group of people. A memory with one serious fault has less than 6.

Reply with JSON only: {"score": N}"""


class PairScore(Score):
    """How good a question is."""

    instruction: ClassVar[str] = """\
How well do this question and its answer test whether somebody remembers the memory? Begin with 10 points and take off
for each of these: the memory does not say the answer; the question cannot be understood alone, or it is unclear whom it
means; the answer has more than what is asked; the key phrases are not what matters in it. One serious fault leaves less
than 6.

Reply with JSON only: {"score": N}"""
