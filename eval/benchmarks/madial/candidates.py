"""The memories that MADial-Bench's settings give the model with a dialogue, as the authors' scripts choose them.

- setting 1: the first relevant memory alone.
- setting 2: that one, and the first four that retrieval found and that are not relevant.
- setting 3: the first five that retrieval (text-embedding-3-large) found: none to four of them are relevant.

For English they are made from what retrieval found, in en_openai_top_20_bottom.json, as make_setting_candidates.py of
https://github.com/hejunqing/MADial-Bench does it:

    {"test-turn": [2], "relevant-id": [1, 78], "user-id": 1, "top-20-ids": [105, 1, ...], "bottom-10-ids": [99, ...]}

For Chinese they are published with the dialogues again:

    {"dialogue": [...], "test-turn": [2], "relevant-id": [1, 78], "user-id": 1, "memory_ids": [105, 169, 1, 130, 51]}

The names of those two files are the wrong way round: "-setting2" has what retrieval found, and "-setting3" the first
relevant memory among four others. So a file is known by its content, not by its name.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from memory.importers.reading.fields import Fields, read_objects
from memory.importers.reading.json_stream import outline
from memory.importers.reading.source import read_head

SETTING_1, SETTING_2, SETTING_3 = "setting-1", "setting-2", "setting-3"

RETRIEVED = "top-20-ids"
"""What retrieval found for a dialogue, best first."""

GIVEN = 5
"""Memories that settings 2 and 3 give."""

CandidatesOf = Callable[[Fields, Sequence[str]], Mapping[str, tuple[str, ...]]]
"""Gives the candidates by setting for the line of a dialogue and its relevant memories."""

DialogueKey = tuple[str, ...]


def read_candidates(dialogues: Path, part: str) -> CandidatesOf:
    """Read the files of candidates beside the dialogues, whose name has `part` in it; settings without one are missing.

    Raises `UnreadableFile` if one of them ends in the middle of a line.
    """
    retrieved: dict[DialogueKey, tuple[str, ...]] = {}
    mixed: dict[DialogueKey, tuple[str, ...]] = {}
    for file in sorted(dialogues.parent.glob("*top_20*.json")):
        if (RETRIEVED,) in outline(read_head(file)):
            retrieved |= {_key(line, "user-id"): _ids(line, RETRIEVED) for line in read_objects(file, [])}
    for file in sorted(dialogues.parent.glob(f"{dialogues.name.split(part)[0]}{part}-setting*.json")):
        lines = list(read_objects(file, []))
        found = {_key(line, "dialogue"): _ids(line, "memory_ids") for line in lines}
        (mixed if all(map(_has_only_the_first, lines)) else retrieved).update(found)

    def candidates(line: Fields, relevant: Sequence[str]) -> dict[str, tuple[str, ...]]:
        first = tuple(relevant[:1])
        by_setting = {SETTING_1: first} if first else {}
        for key in (_key(line, "user-id"), _key(line, "dialogue")):
            if key in retrieved:
                others = [name for name in retrieved[key] if name not in relevant]
                if first and len(retrieved[key]) > GIVEN:
                    by_setting[SETTING_2] = (*first, *others[: GIVEN - 1])
                by_setting[SETTING_3] = retrieved[key][:GIVEN]
            if key in mixed:
                by_setting[SETTING_2] = mixed[key]
        return by_setting

    return candidates


def _key(line: Fields, name: str) -> DialogueKey:
    """What a line shares with the line of its dialogue: its test-turns, its relevant memories, and a field."""
    return (name, *(repr(line.values.get(field)) for field in ("test-turn", "relevant-id", name)))


def _ids(line: Fields, name: str) -> tuple[str, ...]:
    return tuple(str(value) for value, _ in line.items(name))


def _has_only_the_first(line: Fields) -> bool:
    """Whether the first relevant memory is the only relevant one among the candidates."""
    relevant = _ids(line, "relevant-id")
    return [name for name in _ids(line, "memory_ids") if name in relevant] == list(relevant[:1])
