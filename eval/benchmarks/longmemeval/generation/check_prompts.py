"""What a chat model is asked for to check questions and chats, in Memoir's own wording.

The authors had people do this (LongMemEval, section 3.2 and appendix A.1).
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from eval.making.prompting import Asked, Score, Sentence, bound


class QuestionScore(Score):
    """How good a question is, before there are chats."""

    instruction: ClassVar[str] = """\
How well does this question test whether an assistant remembers a user? Begin with 10 points and take off for each of
these: the answer is wrong by the background (what the assistant told need not be in it); it does not follow from the
statements together; one statement says nothing to it; it can be guessed without them; the question is unclear, or
nobody would ask it. One serious fault leaves less than 6.

Reply with JSON only: {"score": N}"""


class Places(Asked):
    """The numbers of the messages that say something."""

    messages: Annotated[list[int], bound(maxItems=10)]
    instruction: ClassVar[str] = """\
Which messages of this chat say what the fact says, in whatever words? Give the numbers of all of them; none, if only
a part of it is said.

Reply with JSON only: {"messages": [N]}"""


class SessionScore(Score):
    """How good a chat is."""

    instruction: ClassVar[str] = """\
How much is this like a chat that a real user has with an AI assistant? Begin with 10 points and take off for each of
these: the fact is the point of the chat instead of coming up by the way; something contradicts the fact, the task or
another message; messages repeat each other or do not reply to the one before; the roles are mixed up; it breaks off.
One serious fault leaves less than 6.

Reply with JSON only: {"score": N}"""


class Reading(Asked):
    """An answer from chats, if they have it."""

    known: bool
    answer: Sentence
    instruction: ClassVar[str] = """\
These are all the chats that you had with this user, with their dates; there may be none. Answer the user's question of
today by what was said in them, and by nothing else. If they do not say all that it takes, or the question takes for
granted what they do not say, "known" is false and the answer is empty. For a request for advice, "known" tells whether
they say anything about the user that the advice should consider.

Reply with JSON only: {"known": true, "answer": "..."}"""


class Agreement(Asked):
    """Whether an answer is right."""

    right: bool
    instruction: ClassVar[str] = """\
Is this reply to the question right? It is if it says what the right answer says, in whatever words and with whatever
more that does not contradict it. If the right answer says what the user would like, the reply is right if it goes by
that.

Reply with JSON only: {"right": true}"""


class PremiseScore(Score):
    """How good a question with a false premise is."""

    instruction: ClassVar[str] = """\
The question was made so that what was said does not answer it. How good is it? Begin with 10 points and take off for
each of these: what was said answers it after all; what it takes for granted is not clearly something else than what
was said; it has nothing to do with that, so that nobody would be misled; its answer is wrong about what was said. One
serious fault leaves less than 6.

Reply with JSON only: {"score": N}"""
