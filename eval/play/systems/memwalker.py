"""MemWalker (Chen et al. 2023, arXiv:2310.05029): a tree of summaries, which a chat model walks to find the answer.

As in the paper: segments of the text are summarised, groups of summaries again, up to a root. Asked a question, the
model is shown the summaries below where it stands and says into which to go, or back; at a segment it answers from it
and what it saw on its way, or goes back. What it read is found, the segment that it answers from first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

import numpy as np

from eval.play.systems.built_in import Scores, Transcript
from eval.play.systems.contract import TEXTS, Turn

CHARACTERS = 4_000
"""Of a segment, about 1,000 tokens as in the paper, and of a text that is summarised."""

FAN_OUT = 8
"""Summaries that are summarised together, the most in the paper."""

ASKED = TEXTS["memwalker"]

_ACTION = re.compile(r"Action:\s*(-?\d+)", re.IGNORECASE)
_ANSWER = re.compile(r"Action:\s*-2.*?Answer:\s*(.+)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Node:
    """A summary of a text: that of the turns at some places, or the summaries of the nodes below."""

    text: str
    summary: str
    turns: Sequence[int] = ()
    below: Sequence[Node] = ()


class MemWalker(Transcript):
    """A tree over the known turns, which is made anew when others are known; equal parts are not summarised again."""

    def index(self, turns: Sequence[Turn]) -> None:
        """Summarise segments, and their summaries, up to the root."""
        segment_of = np.cumsum([len(turn.line) for turn in turns]) // CHARACTERS
        segments = [list(places) for _, places in groupby(range(len(turns)), key=lambda n: int(segment_of[n]))]
        layer = [self._node([turns[n].line for n in places], places) for places in segments]
        while len(layer) > 1:
            parts = [layer[n : n + FAN_OUT] for n in range(0, len(layer), FAN_OUT)]
            layer = [self._node([node.summary for node in part], below=part) for part in parts]
        self._root = layer[0]

    def _node(self, texts: Sequence[str], turns: Sequence[int] = (), below: Sequence[Node] = ()) -> Node:
        text = "\n".join(texts)[:CHARACTERS]
        return Node(text, self.chat.ask(ASKED["summarise"].format(text)), turns, below)

    def scores(self, question: str) -> Scores:
        """How late on the walk each turn was read."""
        read: list[Node] = []
        self._walk(self._root, question, read)
        step_of = {place: step for step, node in enumerate(read) for place in node.turns}
        return np.array([step_of.get(place, -math.inf) for place in range(len(self.known))])

    def answer(self, question: str, as_of: datetime) -> str | None:
        """What the model answers at the end of its walk."""
        return self._walk(self._root, question, []) if self.know(as_of) else ""

    def _walk(self, node: Node, question: str, read: list[Node], memory: str = "") -> str:
        """The answer that is found below a node; empty if there is none. Adds the segments that are read."""
        if node.turns:
            read.append(node)
            prompt = ASKED["read"].format(memory=memory, text=node.text, question=question)
            answer = _ANSWER.search(self.chat.ask(prompt))
            return answer[1].strip() if answer else ""
        below, answer_below = list(node.below), ""
        while below and not answer_below:
            passages = "\n".join(f"Summary {n}: {each.summary}" for n, each in enumerate(below))
            action = _ACTION.search(self.chat.ask(ASKED["choose"].format(passages=passages, question=question)))
            if action is None or not 0 <= int(action[1]) < len(below):
                break
            answer_below = self._walk(below.pop(int(action[1])), question, read, f"{memory}{node.summary}\n")
        return answer_below
