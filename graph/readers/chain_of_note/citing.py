"""Check the citations of a chat model's answer, also while it streams: renumber the correct ones, drop the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from graph.models.json_replies import REASONING
from graph.readers.chain_of_note.prompts import INSTRUCTIONS, PromptContent
from graph.readers.interface import Say
from graph.replies.recitation import RUN, recites
from graph.state import Citation
from graph.understanding.sentences import split
from memory.search.quotes import contains
from memory.search.tokens import terms
from memory.types import Memory

_MARK = re.compile(r"\s?\[(\d+(?:\s*,\s*\d+)*)\]")
_QUOTED = re.compile(r"[“\"]([^“”\"]{3,})[”\"][.,;]?\s*\[(\d+)\]")
_NOT_SHOWN = "UNKNOWN:", "<THINK>"
"""Begin an abstention, and reasoning."""

_ANSWER_FIELD = re.compile(r'(?<!\\)"answer"\s*:\s*"((?:[^"\\]|\\.)*\\?)', re.DOTALL)
_OPEN_ESCAPE = re.compile(
    r"(?<!\\)((?:\\\\)*)\\(?:u(?:[0-9a-f]{0,3}|d[89ab][0-9a-f]{2}(?:\\(?:u[0-9a-f]{0,3})?)?))?\Z", re.IGNORECASE
)
"""The beginning of an escape, or the first half of one for a character that takes two, at the end of a text."""
_WORD = re.compile(r"\[[\d,\s]*\]|\w+")

_MARK_LENGTH = 24
"""Characters after a "[" from which it is not taken for a citation mark any more."""


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """An answer whose marks refer to `citations`, and how many citations were dropped."""

    answer: str
    citations: tuple[Citation, ...]
    dropped: int


def cite(
    answer: str, quotes: Iterable[tuple[int, str]], shown: PromptContent, noted: Mapping[int, str] | None = None
) -> CheckedAnswer:
    """Check what an answer cites, in marks such as [2] and in `quotes`, the list of an answer in JSON.

    Numbers are those of the prompt (`shown`). `noted` are the quotes of the notes, for marks without a listed quote.
    """
    listed = dict(quotes)
    inline = {int(number): words for words, number in _QUOTED.findall(answer)}
    marked = [int(n) for group in _MARK.findall(answer) for n in group.split(",")]
    cited = list(dict.fromkeys([*marked, *listed]))
    kept: dict[int, Memory] = {}
    for number in cited:
        memory = shown.memory(number)
        claims = [words for words in (listed.get(number), inline.get(number)) if words]
        if memory is not None and all(contains(memory.text, words) for words in claims):
            kept[number] = memory
    places = {number: place for place, number in enumerate(kept, 1)}
    written = renumbered(answer, places.get)
    written += "".join(f" [{places[n]}]" for n in kept if n not in marked)
    scores = {hit.memory.id: hit.scores for hit in shown.hits}
    citations = tuple(
        Citation(
            places[n],
            memory,
            listed.get(n) or inline.get(n) or (noted or {}).get(n) or _best_sentence(memory, answer),
            scores[memory.id],
        )
        for n, memory in kept.items()
    )
    return CheckedAnswer(written.strip(), citations, len(cited) - len(kept))


def renumbered(answer: str, place: Callable[[int], int | None]) -> str:
    """The answer with each mark replaced by its place; marks without one are removed."""

    def put(match: re.Match[str]) -> str:
        places = [place(int(n)) for n in match[1].split(",")]
        marks = "".join(f"[{n}]" for n in places if n is not None)
        return " " + marks if marks and match[0][0].isspace() else marks

    return _MARK.sub(put, answer)


def _best_sentence(memory: Memory, answer: str) -> str:
    """The sentence of a memory that shares most terms with the answer."""
    answered = frozenset(terms(answer))
    return max(split(memory.text) or [memory.text], key=lambda s: len(answered & frozenset(terms(s))))


class AnswerStream:
    """Passes an answer on as it streams; nothing of an abstention, and nothing more once it repeats its prompt.

    `said` is what was passed on. Of a reply `in_json`, the field "answer" is the answer.
    """

    def __init__(self, content: PromptContent, say: Say, *, in_json: bool = False) -> None:
        self._content, self._say, self._in_json = content, say, in_json
        self._reply = self.said = ""
        self._places: dict[int, int] = {}

    def feed(self, piece: str) -> None:
        """Take the next piece of the reply."""
        self._reply += piece
        answer = (_answer_field(self._reply) if self._in_json else REASONING.sub("", self._reply)).lstrip()
        start = answer.lstrip("*").upper()
        if any(mark.startswith(start[: len(mark)]) for mark in _NOT_SHOWN):
            return
        if recites(answer, INSTRUCTIONS) or contains(answer, self._content.question):
            return
        passed = renumbered(answer[: _ready(answer)], self._place)
        if len(passed) > len(self.said):
            self._say(passed[len(self.said) :])
            self.said = passed

    def finish(self, answer: str) -> None:
        """Go on to the checked answer, or put it in the place of what was passed on."""
        if not answer.startswith(self.said):
            self._say(answer, restart=bool(self.said))
        elif answer != self.said:
            self._say(answer[len(self.said) :])

    def _place(self, number: int) -> int | None:
        """The number of a memory in the answer: the next one when it is cited for the first time."""
        if self._content.memory(number) is None:
            return None
        return self._places.setdefault(number, len(self._places) + 1)


def _ready(answer: str) -> int:
    """How many characters can be shown: all but an incomplete mark and what may begin a recitation."""
    opened = answer.rfind("[")
    is_open = opened >= 0 and "]" not in answer[opened:] and len(answer) - opened < _MARK_LENGTH
    upto = len(answer[:opened].rstrip()) if is_open else len(answer.rstrip())
    last = list(_WORD.finditer(answer, 0, upto))[-RUN:]
    return len(answer[: last[0].start()].rstrip()) if last else 0


def _answer_field(reply: str) -> str:
    """The field "answer" of a reply in JSON, as far as it came."""
    field = _ANSWER_FIELD.search(reply)
    if field is None:
        return ""
    whole = _OPEN_ESCAPE.sub(r"\1", field[1])
    try:
        text: str = json.loads(f'"{whole}"', strict=False)
    except json.JSONDecodeError:  # an escape that JSON does not have; the whole reply will be asked for again
        return ""
    # Half of a character that takes two cannot be sent to the page.
    return text.encode("utf-8", "ignore").decode("utf-8")
