"""Load the classifier's training questions, and vary each of them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graph.understanding.classifier import QUESTIONS, Kind
from graph.understanding.word_groups import GROUPED
from memory.types import Store

NAMES = tuple(
    "Akua/Brannigan/Chiyo/Dastan/Emeline/Farhad/Giuliano/Hanneke/Itzel/Jovan/Kaveh/Lavinia/Marek/Nyasha/Ondine/Prakash/"
    "Quillon/Ruxandra/Siobhan/Tuan/Ulla/Viktoria/Wanjiku/Xanthe/Yevgenia/Zubin/Wang Lei/Zhao Min/Chen Yu/Liu Fang/"
    "Kim Jisoo/Tanaka/Nguyen Hoa/Mrs. Garcia/Dr. Okafor/Professor Petrov/Mr. Haddad/Singh/Murphy/Olsen/Zhou Yan/"
    "Sun Qiang/Huang Li/Xu Jiaming/Ma Rui/Li Na/Gao Wenxuan/Lin Tao/Zhang Yi/Wang Fei/Li Jun/Zhao Lan".split("/")
)
"""Replace the names of a question: a name makes up half of an embedding and says nothing about the class."""

_NAME = re.compile(r"(?<=[a-z,] )(?:(?:Mr|Mrs|Ms|Dr)\. )?(?!I\b)[^\W\d_a-z][\w-]+(?: (?!I\b)[^\W\d_a-z][\w-]+)*")


@dataclass(frozen=True, slots=True)
class Question:
    """One row of the training file; `store` is None for a message that does not ask the memory anything.

    A question of general knowledge may have the dialogue store: the memory knows only what was said about it.
    """

    text: str
    store: Store | None
    kind: Kind
    many: bool
    recall: bool
    state: bool


def load_questions(path: Path = QUESTIONS) -> list[Question]:
    """Read the training file, one JSON object a line; rows of one theme or form are next to each other."""
    return [Question(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def in_haste(text: str) -> str:
    """The same message in lower case without punctuation."""
    return re.sub(r"[?!.,:;]", "", text).lower().strip()


def renamed(text: str, draw: random.Random) -> str:
    """The message with each name replaced throughout by a random one of `NAMES`."""
    names: dict[str, str] = {}

    def replacement(match: re.Match[str]) -> str:
        name = match.group()
        return name if name.lower() in GROUPED else names.setdefault(name, draw.choice(NAMES))

    return _NAME.sub(replacement, text)


def copies(questions: Sequence[Question]) -> list[str]:
    """All questions as written, then all in haste, then all renamed; 3n texts, the same each time."""
    draw = random.Random(0)
    written = [row.text for row in questions]
    return [*written, *map(in_haste, written), *(renamed(text, draw) for text in written)]
