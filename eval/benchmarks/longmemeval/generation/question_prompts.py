"""What a chat model is asked for about backgrounds, questions and evidence statements, in Memoir's own wording.

Their purposes are those of LongMemEval, section 3.2, appendix A.1 and figure 7.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from eval.making.prompting import Asked, Paragraph, Phrase, Sentence, bound
from graph.models.json_replies import StrictReply


class Background(Asked):
    """What is known about a user in one respect."""

    background: Paragraph
    instruction: ClassVar[str] = """\
Invent a user of an AI assistant, and tell in one paragraph of 150 to 200 words what happened to them in this respect
during the last six months before today. Give concrete facts with names, places, numbers and days: three or more of one
kind, which can be counted or compared; one that changed meanwhile, with what it was before and what it is now; events
some days or weeks apart; and one liking or dislike with its reason. Write "the user" instead of a name, and nothing
that does not belong to this attribute.

Reply with JSON only: {"background": "..."}"""


class Question(StrictReply):
    """A question of the user to the assistant, and the right answer."""

    question: Sentence
    answer: Sentence


class Questions(Asked):
    """Questions of one type about a user."""

    questions: Annotated[list[Question], bound(maxItems=6)]


_FORM = """\
The question is the user's own ("I", "my"), is put today to an assistant that has heard all of it in earlier chats, and
is understood without the background. It does not contain its answer. No two ask the same. Write as many as stated.

Reply with JSON only: {"questions": [{"question": "...", "answer": "..."}]}"""


class UserQuestions(Questions):
    """Questions about one thing that the user said."""

    instruction: ClassVar[str] = f"""\
Write questions about a single detail of this background, one that the user could have mentioned in passing. The answer
is a few words, copied from the background.
{_FORM}"""


class AssistantQuestions(Questions):
    """Questions about one thing that the assistant said."""

    instruction: ClassVar[str] = f"""\
Write questions about a detail of advice that the assistant gave this user earlier: a name, a number, an ingredient, a
step. Invent the advice; it must fit the background. The question recalls the chat in which it was given. The answer is
that detail, in a few words.
{_FORM}"""


class PreferenceQuestions(Questions):
    """Requests for advice that are answered well by who knows what the user likes."""

    instruction: ClassVar[str] = f"""\
Write requests for advice or ideas for which it matters what this user likes, owns or has tried; the request does not
say it. The answer is no advice: it is one sentence on what the user would like in a reply, and what not, because of the
background.
{_FORM}"""


class MultiSessionQuestions(Questions):
    """Questions that take several chats."""

    instruction: ClassVar[str] = f"""\
Write questions for which two to six separate facts of this background have to be put together: counted, added up,
compared. No single sentence of the background has the answer. The answer is short: a number with its unit, or a name.
{_FORM}"""


class UpdateQuestions(Questions):
    """Questions about what has changed."""

    instruction: ClassVar[str] = f"""\
Write questions about something in this background that was one way first and is another way now. The question asks for
it without saying that it changed. The answer is how it is now, in a few words.
{_FORM}"""


class TemporalQuestions(Questions):
    """Questions about times."""

    instruction: ClassVar[str] = f"""\
Write questions about times: how long ago something was as of today, how much time lay between two events, or which of
two to four events came first. The days are in the background; the question has none of them. Count exactly. The answer
is short: a number of days, weeks or months, or the event.
{_FORM}"""


class Statements(Asked):
    """What must have been said for an answer to follow."""

    statements: Annotated[list[Sentence], bound(maxItems=6)]
    instruction: ClassVar[str] = """\
Take this answer apart into what must have been said in earlier chats for it to follow: statements of one sentence each,
as few as possible, at least and at most as many as given here. Each is understood by itself, begins with "The user", or
with "The assistant told the user" if the assistant told it, and keeps names and numbers as they are. The answer follows
from all of them together and not if one is missing.

Reply with JSON only: {"statements": ["..."]}"""


class DatedStatement(StrictReply):
    """A statement, and the day on which it was said, as 2023-05-24."""

    day: Phrase
    statement: Sentence


class DatedStatements(Asked):
    """What must have been said for an answer to follow, and when."""

    statements: Annotated[list[DatedStatement], bound(maxItems=6)]
    instruction: ClassVar[str] = """\
Take this answer apart into what the user must have said in earlier chats for it to follow: statements of one sentence
each, as few as possible, at least and at most as many as given here. Each begins with "The user", is understood by
itself, and keeps names and numbers as they are. Give each the day on which it was said: before today, a different one
for each, and the day itself of an event of that day. Write times in a statement as seen from its day ("today", "last
Sunday"). Of something that changed, there are two statements: how it was, said while it was so, and later how it is.

Reply with JSON only: {"statements": [{"day": "YYYY-MM-DD", "statement": "..."}]}"""


class FalsePremise(Question, Asked):
    """A question that takes for granted what was never said, and what is to be replied to it."""

    instruction: ClassVar[str] = """\
Change this question so that it cannot be answered: ask for something similar that the user never mentioned (another
person, thing, place or event of the kind), as if it had been mentioned. Change as little as possible. The answer says
in one sentence that this was not mentioned, and what was mentioned instead.

Reply with JSON only: {"question": "...", "answer": "..."}"""
