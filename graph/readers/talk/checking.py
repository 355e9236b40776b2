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
from graph.readers.talk.prompt import TEXTS, Content, messages
from graph.replies.card import THE_USER
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


@dataclass(frozen=True, slots=True)
class Checked:
    """The sentences that nothing supports, and the number of the line that supports each of others; or what went
    wrong. `cost` are the tokens of asking."""

    cost: Completion
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


async def check(services: Services, content: Content, reply: str, written: str, size: int) -> Checked:
    """What of a reply is supported; to ask costs `size` tokens if it is stopped.

    The model is shown it as it was `written`, with the numbers that the lines have in the prompt.
    """
    assert services.model is not None
    listed = list(dict.fromkeys(sentences_of(reply)))[:MOST_SENTENCES]
    replies: list[Completion] = []
    user = quoted(content.user) if content.user else THE_USER
    numbered = "\n".join(f"{n}. {quoted(markup.CITATION.sub('', sentence))}" for n, sentence in enumerate(listed, 1))
    task = TEXTS["check"].format(sentences=numbered, user=user)
    said = [*messages(content), ("ai", written), ("human", task)]
    try:
        asked = ask_for_json(services.model, said, FactsReply, replies, max_tokens=CHECK_TOKENS)
        found = await until(services.stop, asked)
    except Stopped:
        return Checked(Completion("", size), fault="stopped")
    except (ModelFailed, UnusableReply) as fault:
        return Checked(sum(replies, Completion("")), fault=str(fault))
    unsupported, sources = [], []
    for fact in found.facts:
        if not 0 < fact.sentence <= len(listed):
            continue
        sentence = listed[fact.sentence - 1]
        if fact.line == NOWHERE:
            unsupported.append(sentence)
        elif 0 < fact.line <= len(content.lines) and not markup.CITATION.search(sentence):
            sources.append((sentence, fact.line))
    return Checked(sum(replies, Completion("")), tuple(unsupported), tuple(sources))


def cite(reply: str, sources: Sequence[tuple[str, int]], cited: list[int]) -> str:
    """The reply with the number of its line after each of these sentences; new lines are added to `cited`.

    Where the number follows already, after an emoji perhaps, it stays alone.
    """
    for sentence, line in sources:
        if line not in cited:
            cited.append(line)
        number = f"[{cited.index(line) + 1}]"
        before, found, after = reply.partition(sentence)
        if found and not re.match(rf"[^\w\[]*{re.escape(number)}", after):
            reply = f"{before}{sentence} {number}{after}"
    return reply
