"""Compare what a chat model said of the user with the lines of its prompt and with the chat, after it was shown.

The chat model itself looks at its reply again, sentence by sentence. Its request begins as the one before, so that a
server computes only the reply and the question. Nothing of the reply changes but that a sentence gets the number of the
line that says the same; what nothing says is marked by whoever shows it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from graph.models.calls import Completion, ModelFailed
from graph.models.json_replies import StrictReply, UnusableReply, ask_for_json, quoted
from graph.readers.talk.prompt import Content, messages
from graph.replies.card import THE_USER
from graph.state import CITATION as NUMBER
from graph.state import Services, Stopped, until
from graph.understanding import markup, sentences
from memory.search.tokens import words

MOST_SENTENCES = 30
"""Sentences of a reply that are compared, from its beginning: what is longer is a story, or code."""

CHECK_TOKENS = 400
"""Most tokens of the comparison: thirty sentences take some 350."""

NOWHERE = -1
"""Instead of a line's number: nothing says it."""

_NUMBER = re.compile(r"(?:^|\s)\d{1,2}\.$")

TASK = """\
Now look at your reply again. Its sentences are:
{sentences}

Which of them state something about {user}, their people, pets, past, plans or belongings as a fact? Leave out advice, \
questions, sympathy, wishes, guesses, jokes, general knowledge, what you say of yourself, and all that belongs to a \
text, story or role-play that was asked for. For each that states a fact write the number of the line that says so, 0 \
if {user} said it in this chat, or -1 if no line and no message of theirs says so, or a newer one says otherwise.

Reply with JSON only: {{"facts": [{{"sentence": 1, "line": 2}}]}}"""


@dataclass(frozen=True, slots=True)
class Checked:
    """The sentences that nothing supports, and the number of the line that supports each of others; or what went
    wrong."""

    unsupported: tuple[str, ...] = ()
    sources: tuple[tuple[str, int], ...] = ()
    fault: str = ""


class Fact(StrictReply):
    """A sentence that states a fact, and the line that says so."""

    sentence: Annotated[int, Field(json_schema_extra={"minimum": 1, "maximum": MOST_SENTENCES})]
    line: Annotated[int, Field(json_schema_extra={"minimum": NOWHERE, "maximum": 200})]


class FactsReply(StrictReply):
    """The reply: the sentences that state facts."""

    facts: Annotated[list[Fact], Field(json_schema_extra={"maxItems": MOST_SENTENCES})]


def sentences_of(reply: str) -> Iterator[str]:
    """The sentences of a reply as they stand there, but blocks of code and headings; a row of a table is one.

    A number behind the end of a sentence ("So it is. [2]") is a part of it.
    """
    for line in markup.prose(reply):
        first, starts = 0, [_after_numbers(line, start) for start, _ in sentences.spans(markup.mask_code(line))]
        for end in (*starts[1:], len(line)):
            sentence = line[first:end].rstrip()
            if end == len(line) or not _NUMBER.search(sentence):  # "am 8. September"
                if len(words(markup.CITATION.sub("", sentence))) > 1:
                    yield sentence
                first = end


def _after_numbers(line: str, start: int) -> int:
    while mark := markup.CITATION.match(line, start):
        start = mark.end()
    return start + len(line[start:]) - len(line[start:].lstrip())


async def check(
    services: Services, content: Content, reply: str, cited: Sequence[int], size: int
) -> tuple[Checked, Completion]:
    """What of a reply is supported, and what it cost to ask, `size` tokens if it is stopped.

    The reply cites the lines of these numbers as 1, 2, ...
    """
    assert services.model is not None
    listed = list(dict.fromkeys(sentences_of(reply)))[:MOST_SENTENCES]
    replies: list[Completion] = []
    user = quoted(content.user) if content.user else THE_USER
    numbered = "\n".join(f"{n}. {quoted(markup.CITATION.sub('', sentence))}" for n, sentence in enumerate(listed, 1))
    said = [
        *messages(content),
        ("ai", _with_numbers(reply, cited)),
        ("human", TASK.format(sentences=numbered, user=user)),
    ]
    try:
        asked = ask_for_json(services.model, said, FactsReply, replies, max_tokens=CHECK_TOKENS)
        found = await until(services.stop, asked)
    except Stopped:
        return Checked(fault="stopped"), Completion("", size)
    except (ModelFailed, UnusableReply) as fault:
        return Checked(fault=str(fault)), sum(replies, Completion(""))
    unsupported, sources = [], []
    for fact in found.facts:
        if not 0 < fact.sentence <= len(listed):
            continue
        sentence = listed[fact.sentence - 1]
        if fact.line == NOWHERE:
            unsupported.append(sentence)
        elif 0 < fact.line <= len(content.lines) and not markup.CITATION.search(sentence):
            sources.append((sentence, fact.line))
    return Checked(tuple(unsupported), tuple(sources)), sum(replies, Completion(""))


def _with_numbers(reply: str, cited: Sequence[int]) -> str:
    """The reply with the numbers that the lines have in the prompt."""

    def numbered(mark: re.Match[str]) -> str:
        n = int(mark[1])
        return f"[{cited[n - 1]}]" if 0 < n <= len(cited) else mark[0]

    return markup.outside_code(reply, lambda words: NUMBER.sub(numbered, words))


def cite(reply: str, sources: Sequence[tuple[str, int]], cited: list[int]) -> str:
    """The reply with the number of its line after each of these sentences; new lines are added to `cited`."""
    for sentence, line in sources:
        if line not in cited:
            cited.append(line)
        reply = reply.replace(sentence, f"{sentence} [{cited.index(line) + 1}]", 1)
    return reply
