"""Make the two files of MADial-Bench, as the adapter reads them.

OUT/MADial-Bench-generated-memory.json      the memories of all users
OUT/MADial-Bench-generated-dialogue.json    the dialogues, each with its kind of recall
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.benchmarks.madial.adapter import ASSISTANT, BANK, DIALOGUE
from eval.benchmarks.madial.generation.user import MadeDialogue, Plan, User, make_user
from eval.making.parts import Generated, make_parts
from eval.making.writer import Writer
from eval.runs.run import write_atomically
from eval.types import Watch

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

NAME = "MADial-Bench-generated"


def generate(folder: Path, users: int, plan: Plan, model: BaseChatModel, watch: Watch) -> Generated:
    """Make the users that the folder lacks, then the files.

    Raises:
        GenerationStopped: the folder was made by another plan, the model does not reply, or no dialogue was made.
    """

    def make(number: int, before: Sequence[User], writer: Writer) -> User:
        return make_user(plan, number, [user.name for user in before], writer)

    made = make_parts(folder, "user", users, plan, User, make, model, watch)
    dialogues = [dialogue for user in made.parts for dialogue in user.dialogues]
    if not dialogues:
        raise made.nothing("dialogue")
    memories, lines = list[dict[str, Any]](), list[dict[str, Any]]()
    for number, user in enumerate(made.parts, start=1):
        first = len(memories) + 1
        memories += [
            {str(first + n): memory.model_dump() | {"user-id": number, "id": str(first + n)}}
            for n, memory in enumerate(user.memories)
        ]
        lines += [_line(dialogue, user.name, number, first) for dialogue in user.dialogues]
    _write_lines(folder / f"{NAME}{BANK}", memories)
    _write_lines(folder / f"{NAME}{DIALOGUE}.json", lines)
    recall = Counter(dialogue.recall for dialogue in dialogues)
    counts = {"users": len(made.parts), "memories": len(memories)}
    return made.generated(counts | {f"{kind} dialogues": recall[kind] for kind in ("proactive", "passive")})


def _line(dialogue: MadeDialogue, name: str, user: int, first: int) -> dict[str, Any]:
    """A dialogue as a line of the file; `first` is the id of the user's first memory."""
    # The file puts quotation marks around each turn.
    spoken = [text.replace('"', "'") for text in (*dialogue.turns, dialogue.reply)]
    said = [f'<{ASSISTANT if n % 2 else name}>: "{text}"\n' for n, text in enumerate(spoken)]
    return {
        "dialogue": ["<BOD>\n", *said, "<EOD>\n"],
        "test-turn": [len(spoken)],
        "relevant-id": [first + n for n in dialogue.suitable],
        "user-id": user,
        "recall": dialogue.recall,
        "kind": dialogue.kind,
    }


def _write_lines(file: Path, values: Sequence[dict[str, Any]]) -> None:
    text = "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
    write_atomically(file, text.encode())
