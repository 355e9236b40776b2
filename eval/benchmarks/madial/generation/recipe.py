"""Make users with memories, and dialogues that bring them up, as the adapter reads them.

OUT/MADial-Bench-generated-memory.json      the memories of all users
OUT/MADial-Bench-generated-dialogue.json    the dialogues, each with its kind of recall

A user is a child with a profile, memories of five scenes and four emotions (section 3.2), and dialogues: proactive
recall is by emotion, passive recall of facts (section 3.1). Their words are in `kinds.toml`.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from random import Random
from typing import Any

from eval.benchmarks.madial.adapter import ASSISTANT, BANK, DIALOGUE
from eval.making.generation import Generation, Part, Writer, leave_out_if
from memory import read_table

NAME = "MADial-Bench-generated"

KINDS = read_table(__file__, "kinds.toml")

FIRST_DAY, LAST_DAY = date(2022, 1, 1), date(2024, 6, 14)
"""When remembered events happened (section 3); the dialogues are of the day after."""

MOST_SUITABLE = 7
"""Most memories that suit a dialogue (section 3.3.1)."""


def generate(generation: Generation, users: int) -> dict[str, int]:
    """Make the users that the folder lacks, then the files; return what these hold, by kind.

    Raises `MemoirError` if the folder was made by another plan, the model does not reply, or no dialogue was made.
    """
    made = generation.make("user", range(1, users + 1), _make_user)
    recall = Counter(dialogue["recall"] for user in made for dialogue in user["dialogues"])
    generation.require(recall, "dialogue")
    memories, dialogues = list[dict[str, Any]](), list[dict[str, Any]]()
    for number, user in enumerate(made, start=1):
        first = len(memories) + 1
        for place, memory in enumerate(user["memories"], first):
            memories.append({str(place): memory | {"user-id": number, "id": str(place)}})
        dialogues += [_line(dialogue, user["name"], number, first) for dialogue in user["dialogues"]]
    for name, lines in ((f"{NAME}{BANK}", memories), (f"{NAME}{DIALOGUE}.json", dialogues)):
        generation.write_text(name, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    counts = {"users": len(made), "memories": len(memories)}
    return counts | {f"{kind} dialogues": recall[kind] for kind in KINDS["dialogues"]}


def _make_user(number: int, writer: Writer) -> Part:
    """Make a user; what cannot be used or scores low is left out and counted.

    Raises `LeftOut` if there is no usable profile, or no memory.
    """
    writer.begin("profile")
    taken = [user["name"] for user in writer.finished]
    child = writer.require("Profile", "", names_taken=taken).model_dump()
    name = child["name"]
    is_taken = name.casefold() in {each.casefold() for each in taken}
    leave_out_if(is_taken or not name, f"the name {name!r} is taken or empty")
    memories = list(_memories(number, child, writer))
    leave_out_if(not memories, "no memory was made")
    return {"name": name, "memories": memories, "dialogues": list(_dialogues(child, memories, writer))}


def _memories(number: int, child: dict[str, Any], writer: Writer) -> Iterator[dict[str, str]]:
    """Yield events that are remembered, each on its day."""
    plan, remembered = writer.generation, list[str]()
    draw, most = Random(f"{plan.seed} {number}"), plan.options["events"]
    pairs = [(scene, emotion) for scene in KINDS["scenes"] for emotion in KINDS["emotions"]]
    for scene, emotion in writer.each("memories", pairs):
        about = {"child": child, "scene": f"{scene}: {KINDS['scenes'][scene]}", "emotion": emotion}
        with writer.leave_out():
            events = writer.ask("Events", **about, number=most, remembered=remembered).events[:most]
            for event in events:
                day = FIRST_DAY + timedelta(days=draw.randrange((LAST_DAY - FIRST_DAY).days + 1))
                with writer.leave_out():
                    leave_out_if(not event or event in remembered, "empty, or the same twice")
                    writer.score("EventScore", "scored too low", **about, event=event)
                    remembered.append(event)
                    yield {"time": day.isoformat(), "scene": scene, "emotion": emotion, "event": event}


def _dialogues(child: dict[str, Any], memories: Sequence[dict[str, str]], writer: Writer) -> Iterator[dict[str, Any]]:
    events = {place: memory["event"] for place, memory in enumerate(memories)}
    left = dict(events)
    planned = [
        ({"kind": kind, "recall": recall}, {"child": child} | words)
        for recall, kinds in KINDS["dialogues"].items()
        for kind, words in kinds.items()
        for _ in range(writer.generation.options["dialogues"])
    ]
    for names, about in writer.each("dialogues", planned):
        with writer.leave_out():
            chosen = writer.ask("Choice", **about, memories=left).memory if left else -1
            leave_out_if(chosen not in left, "no memory for it")
            yield names | _dialogue(about, events, chosen, writer)
            del left[chosen]


def _dialogue(about: dict[str, Any], events: dict[int, str], chosen: int, writer: Writer) -> dict[str, Any]:
    """What was said, the child first, the reply, and the places of suitable memories, the best first."""
    made = writer.ask("Dialogue", **about, memory=events[chosen])
    said = [*made.turns, made.reply]
    leave_out_if(len(said) % 2 == 1 or not all(said), "not in turns")
    writer.score("DialogueScore", "scored too low", **about, memory=events[chosen], dialogue=said)
    told = {"criterion": about["criterion"], "dialogue": made.turns, "memories": events}
    suitable = dict.fromkeys(writer.ask("Suitable", **told).memories)
    ranked = [place for place in suitable if place in events][:MOST_SUITABLE]
    leave_out_if(chosen not in ranked, "its memory is not among the most suitable")
    return {**made.model_dump(), "suitable": ranked}


def _line(dialogue: dict[str, Any], name: str, user: int, first: int) -> dict[str, Any]:
    """A dialogue as a line of the file; `first` is the id of the user's first memory."""
    # The file puts quotation marks around each turn.
    spoken = [text.replace('"', "'") for text in (*dialogue["turns"], dialogue["reply"])]
    said = [f'<{ASSISTANT if n % 2 else name}>: "{text}"\n' for n, text in enumerate(spoken)]
    return {
        "dialogue": ["<BOD>\n", *said, "<EOD>\n"],
        "test-turn": [len(spoken)],
        "relevant-id": [first + n for n in dialogue["suitable"]],
        "user-id": user,
        "recall": dialogue["recall"],
        "kind": dialogue["kind"],
    }
