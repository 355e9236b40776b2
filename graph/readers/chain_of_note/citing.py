"""Check the citations of a chat model's answer, also while it streams: renumber the correct ones, drop the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from graph.readers.chain_of_note.prompts import INSTRUCTIONS, PromptContent
from graph.replies.recitation import RUN, recites
from graph.state import Citation
from graph.understanding.sentences import split
from memory.search.quotes import contains
from memory.search.tokens import terms
from memory.types import Memory

_MARK = re.compile(r"\s?\[(\d+(?:\s*,\s*\d+)*)\]")
_QUOTED = re.compile(r"[“\"]([^“”\"]{3,})[”\"][.,;]?\s*\[(\d+)\]")
_UNKNOWN, _REASONING, _REASONED = "UNKNOWN:", "<think>", "</think>"

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
    """Passes an answer on piece by piece; nothing of an abstention, and nothing once it repeats its prompt.

    `said` is what was passed on.
    """

    def __init__(self, content: PromptContent, say: Callable[[str], None]) -> None:
        self._content, self._say = content, say
        self.said = self._pending = ""
        self._started = self._silent = False
        self._places: dict[int, int] = {}

    def feed(self, piece: str) -> None:
        """Take the next piece."""
        self._pending += piece
        if not self._started and not self._start():
            return
        heard = self.said + self._pending
        self._silent = self._silent or recites(heard, INSTRUCTIONS) or contains(heard, self._content.question)
        if not self._silent:
            self._pass_on(self._ready())

    def end(self) -> None:
        """Pass on what is pending."""
        is_reasoning = not self._started and self._pending.lstrip().startswith(_REASONING)
        if not self._silent and not is_reasoning:
            self._pass_on(len(self._pending))

    def _start(self) -> bool:
        """Whether the answer itself has started; reasoning before it is dropped."""
        start = self._pending.lstrip().lstrip("*")
        if start.startswith(_REASONING):
            if _REASONED not in start:
                return False
            self._pending = start.partition(_REASONED)[2]
            start = self._pending.lstrip().lstrip("*")
        if _REASONING.startswith(start[: len(_REASONING)]) or _UNKNOWN.startswith(start[: len(_UNKNOWN)].upper()):
            if len(start) < len(_UNKNOWN):
                return False
            self._silent = True
        self._started = True
        self._pending = self._pending.lstrip()
        return True

    def _ready(self) -> int:
        """How many characters can be shown: all but an incomplete mark and what may begin a recitation."""
        opened = self._pending.rfind("[")
        is_open = opened >= 0 and "]" not in self._pending[opened:] and len(self._pending) - opened < _MARK_LENGTH
        upto = len(self._pending[:opened].rstrip()) if is_open else len(self._pending.rstrip())
        last = list(_WORD.finditer(self._pending, 0, upto))[-RUN:]
        return min(upto, len(self._pending[: last[0].start()].rstrip())) if last else 0

    def _pass_on(self, upto: int) -> None:
        ready, self._pending = self._pending[:upto], self._pending[upto:]
        if ready:
            passed = renumbered(ready, self._place)
            self.said += passed
            self._say(passed)

    def _place(self, number: int) -> int | None:
        """The number of a memory in the answer: the next one when it is cited for the first time."""
        if self._content.memory(number) is None:
            return None
        return self._places.setdefault(number, len(self._places) + 1)


class AnswerField:
    """Passes on the field "answer" of a reply in JSON while it streams."""

    def __init__(self, answer: AnswerStream) -> None:
        self._answer = answer
        self._reply, self._passed = "", 0

    def feed(self, piece: str) -> None:
        """Take the next piece of the reply."""
        self._reply += piece
        field = _ANSWER_FIELD.search(self._reply)
        if field is None:
            return
        # An escape that is not complete ("\\u00") is read with the next piece.
        whole = _OPEN_ESCAPE.sub(r"\1", field[1])
        try:
            text = json.loads(f'"{whole}"', strict=False)
        except json.JSONDecodeError:  # an escape that JSON does not have; the whole reply will be asked for again
            return
        # Half of a character that takes two cannot be sent to the page.
        self._answer.feed(text[self._passed :].encode("utf-8", "ignore").decode("utf-8"))
        self._passed = len(text)
