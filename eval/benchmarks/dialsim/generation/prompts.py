"""What a chat model is asked for, in Memoir's own wording; where the authors had people check, it scores."""

from __future__ import annotations

from typing import Annotated, ClassVar

from eval.making.prompting import Asked, Name, Phrase, Score, Sentence, bound
from graph.models.json_replies import StrictReply


class Triple(StrictReply):
    """Somebody's relation to somebody or something."""

    head: Name
    relation: Name
    tail: Phrase


class Triples(Asked):
    """The relations that a scene states (section 3.1.3)."""

    triples: Annotated[list[Triple], bound(maxItems=12)]
    instruction: ClassVar[str] = """\
Which of these relations does the scene state as true on its day? A triple says of the head what the tail is to it: the
tail is the head's roommate, boss or job. Take the names as they stand in the scene. Leave out what is only joked about,
wished for or denied. There may be none.

Reply with JSON only: {"triples": [{"head": "...", "relation": "...", "tail": "..."}]}"""


class TripleScore(Score):
    """How certain a triple is."""

    instruction: ClassVar[str] = """\
How certain is it from this scene that the tail is in this relation to the head, and not the other way round? 10 means
that it is said in so many words, 0 that nothing in the scene says it.

Reply with JSON only: {"score": N}"""


class Evidence(Asked):
    """Where an episode answers a quiz question (appendix C)."""

    answerable: bool
    scenes: Annotated[list[int], bound(maxItems=20)]
    needs_all: bool
    instruction: ClassVar[str] = """\
Can the question be answered from what is said and done in these scenes alone, and is the answer right by them?
"scenes" are the numbers of those that say it. "needs_all" is true if the answer takes all of them together, and false
if any one of them is enough.

Reply with JSON only: {"answerable": true, "scenes": [N], "needs_all": false}"""


class Styled(Asked):
    """A question in somebody's style (section 3.1.5)."""

    question: Sentence
    instruction: ClassVar[str] = """\
Let this character ask the question in their own way of speaking, as the lines show it. It asks for the same thing, and
keeps every name and every date as written.

Reply with JSON only: {"question": "..."}"""


class StyleScore(Score):
    """How well a question in somebody's style keeps what it asks."""

    instruction: ClassVar[str] = """\
Do the two questions ask for exactly the same thing, so that every answer to one is the answer to the other? 10 means
yes, 0 that they ask for different things.

Reply with JSON only: {"score": N}"""
