"""Repair mechanical faults of a chat model's reply, and nothing else: its words and their form stay as they are.

Removed are its reasoning and its notes, marks of a chat template and all that follows them, a line in which it recites
its instruction, its name before its words, and numbers of lines that are not in the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from graph.models.json_replies import REASONING
from graph.models.limits import recites, without_loop
from graph.readers.talk.prompt import INSTRUCTION, TEMPLATE_MARK
from graph.understanding import markup

_NOTES = re.compile(r"\A\s*<notes>(.*?)(?:</notes>|\Z)", re.DOTALL)
_CITATION = re.compile(r"(?P<space>[ \t]?)\[(?P<numbers>\d{1,3}(?:, ?\d{1,3})*)\](?!\(|: ?\w+://)")
_UNFINISHED = re.compile(r"(?:\s*\[[\d, ]*|\s*\[/?I?N?S?T?|<[|/\w ]{0,30})\Z")
"""The beginning of a mark, which the next piece may complete."""


@dataclass(slots=True)
class StreamedReply:
    """A reply as it streams: `say(text, restart)` is called with each repaired piece; a restart replaces all before.

    `text` is what was said so far. `cited` are the numbers of the lines that it cites, in the order in which they
    appear: they are numbered anew, from 1. With `has_lists`, the user wrote numbers in brackets, and several in one
    bracket are a list. `notes` are what it noted before it replied.
    """

    lines: int
    name: str
    say: Callable[[str, bool], None]
    has_lists: bool = False
    raw: str = ""
    text: str = ""
    cited: list[int] = field(default_factory=list)
    notes: str = ""

    def feed(self, piece: str) -> None:
        """Take the next piece; what may be the beginning of a mark waits for the next one."""
        self.raw += piece
        self._show(_UNFINISHED.sub("", self._repaired(self.raw)).rstrip())

    def end(self, whole: str) -> None:
        """Take the whole reply, at its end."""
        self.raw = whole
        self._show(self._repaired(without_loop(whole) or whole).strip())

    def _show(self, text: str) -> None:
        if text.startswith(self.text):
            if text != self.text:
                self.say(text[len(self.text) :], False)
        else:
            self.say(text, True)
        self.text = text

    def _repaired(self, raw: str) -> str:
        text = REASONING.sub("", raw).lstrip()
        if noted := _NOTES.match(text):
            self.notes, text = noted[1].strip(), text[noted.end() :].lstrip()
        text = _before_template_mark(text) if TEMPLATE_MARK.search(text) else text
        text = re.sub(rf"\A{re.escape(self.name)}:\s+", "", text)
        text = _without_recited_lines(text)
        self.cited.clear()
        return markup.outside_code(text, lambda words: _CITATION.sub(self._renumbered, words))

    def _renumbered(self, mark: re.Match[str]) -> str:
        """The mark with the numbers of the citations; empty if it names no line of the prompt.

        A list of numbers, and an index ("items[0]"), stay as they are unless all their numbers are those of lines.
        """
        named = [int(number) for number in mark["numbers"].split(",")]
        known = [number for number in named if 0 < number <= self.lines]
        is_index = not mark["space"] and mark.string[: mark.start()][-1:].isalnum()
        if (len(known) < len(named) and (is_index or len(named) > 1)) or (self.has_lists and len(named) > 1):
            return mark[0]
        for number in known:
            if number not in self.cited:
                self.cited.append(number)
        return "".join(f"{mark['space']}[{self.cited.index(number) + 1}]" for number in known)


def _before_template_mark(text: str) -> str:
    """The text before the first mark that ends a turn; marks before any word are left out, and those in code stay."""
    kept = ""
    for part, is_code in markup.parts(text):
        head, *rest = [part] if is_code else TEMPLATE_MARK.split(part)
        while rest and not (kept + head).strip():
            head, *rest = rest
        kept += head
        if rest:
            break
    return kept.lstrip()


def _without_recited_lines(text: str) -> str:
    lines = text.split("\n")
    kept = [line for line in lines if not _is_recited(line)]
    return text if len(kept) == len(lines) else "\n".join(kept).lstrip()


@lru_cache(maxsize=256)  # with each piece of a reply, all its lines are looked at again
def _is_recited(line: str) -> bool:
    return recites(line, INSTRUCTION)
