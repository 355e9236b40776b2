"""Split PerLTQA's questions into those to train on, to validate with and to test with (section 4.1).

The paper prints the sizes, 5,155, 1,719 and 1,719; which question is where is not published. This split is our own, so
its test questions are not the authors'. Questions are ordered by a digest of their text, so that the split is the same
on every machine and in every order of the file, and equal texts are in one part. A file with another number of
questions is split by the same shares.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Literal

Part = Literal["training", "validation", "test"]

SIZES: Mapping[Part, int] = {"training": 5_155, "validation": 1_719, "test": 1_719}

SEED = "PerLTQA, 1"


def split(questions: Iterable[str]) -> dict[str, Part]:
    """The part of each question's text; the test and the validation part get at least one question each."""
    alike: dict[str, list[str]] = defaultdict(list)
    for question in questions:
        alike[" ".join(question.split()).casefold()].append(question)
    total = sum(map(len, alike.values()))
    held_out = max(1, round(total * SIZES["test"] / sum(SIZES.values())))
    room: dict[Part, int] = {"test": held_out, "validation": held_out, "training": total}
    parts: dict[str, Part] = {}
    for text in sorted(alike, key=lambda text: sha256(f"{SEED}/{text}".encode()).digest()):
        part = next(part for part, left in room.items() if left >= len(alike[text]))
        room[part] -= len(alike[text])
        parts |= dict.fromkeys(alike[text], part)
    return parts
