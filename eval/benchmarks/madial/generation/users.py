"""Make users with memories, and dialogues that bring them up, as the adapter reads them.

OUT/MADial-Bench-generated-memory.json      the memories of all users
OUT/MADial-Bench-generated-dialogue.json    the dialogues, each with its kind of recall

A user is a child with a profile, memories of five scenes and four emotions (section 3.2), and dialogues: proactive
recall is by emotion, passive recall of facts (section 3.1). Our copy of the paper does not print the definitions of
scenes (table 9) nor the criteria for choosing a memory (table 10), so the words are Memoir's own.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from random import Random
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from eval.benchmarks.madial.adapter import ASSISTANT, BANK, DIALOGUE
from eval.making.generation import Generated, Generation, GenerationPlan, Part, Writer, leave_out_if
from eval.making.replies import Name, Paragraph, Sentence, bound
from eval.runs.run import write_atomically
from graph.models.json_replies import StrictReply

NAME = "MADial-Bench-generated"

EMOTIONS = ("Happy", "Sad", "Anxious", "Disappointed")

SCENES = {
    "Preferences": "something that the child likes or dislikes",
    "Activity": "something that the child did or took part in",
    "Disease": "an illness or an injury of the child, and how the body felt",
    "Emotions": "a strong feeling of the child, and what brought it about",
    "Others": "anything else of the child's life: a person, an animal, a place, a thing",
}

FIRST_DAY, LAST_DAY = date(2022, 1, 1), date(2024, 6, 14)
"""When remembered events happened (section 3); the dialogues are of the day after."""

MOST_SUITABLE = 7
"""Most memories that suit a dialogue (section 3.3.1)."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of dialogue: what the child says in it, and which memory the assistant should bring up."""

    name: str
    recall: Literal["proactive", "passive"]
    situation: str
    criterion: str


_COMFORT = "a memory that helps with this feeling: a time when it passed, or when the child was brave, loved or happy"

KINDS = (
    Kind("happy", "proactive", "The child is happy about something new.", "a memory of a joy of the same sort"),
    Kind("sad", "proactive", "The child is sad.", _COMFORT),
    Kind("anxious", "proactive", "The child is worried about something that is to come.", _COMFORT),
    Kind("disappointed", "proactive", "Something did not go as the child had hoped.", _COMFORT),
    Kind("activity", "passive", "The child speaks of something to do.", "a memory of the same activity"),
    Kind("object", "passive", "The child speaks of a thing.", "a memory of the same thing"),
    Kind("good relationship", "passive", "The child speaks of somebody dear.", "a good memory of the same person"),
    Kind("bad relationship", "passive", "The child speaks of trouble with somebody.", "a memory of the same person"),
)


@dataclass(frozen=True, slots=True)
class Plan(GenerationPlan):
    """Events for each scene and emotion, and dialogues of each kind."""

    events: int = 2
    dialogues: int = 2


class Profile(StrictReply):
    """A child who talks with the assistant."""

    name: Name
    age: Annotated[int, Field(ge=4, le=14)]
    about: Paragraph


class Events(StrictReply):
    """Memories of one scene and emotion."""

    events: Annotated[list[Sentence], bound(maxItems=10)]


class Choice(StrictReply):
    """The memory that a dialogue is to bring up."""

    memory: int


class Dialogue(StrictReply):
    """What is said until the memory is brought up, and the reply that does."""

    turns: Annotated[list[Sentence], bound(maxItems=7)]
    reply: Sentence


class Suitable(StrictReply):
    """The memories that suit a dialogue, the best first."""

    memories: Annotated[list[int], bound(maxItems=7)]


class MadeMemory(BaseModel):
    """An event that is remembered, on its day."""

    time: str
    scene: str
    emotion: str
    event: str


class MadeDialogue(BaseModel):
    """A dialogue: what was said, the child first, the reply, and the places of suitable memories, the best first."""

    kind: str
    recall: str
    turns: list[str]
    reply: str
    suitable: list[int]


class User(Part):
    """A child with memories and dialogues."""

    name: str
    memories: list[MadeMemory]
    dialogues: list[MadeDialogue]


def generate(generation: Generation[Plan], users: int) -> Generated:
    """Make the users that the folder lacks, then the files.

    Raises:
        GenerationStopped: the folder was made by another plan, the model does not reply, or no dialogue was made.
    """
    made = generation.make("user", range(1, users + 1), User, partial(_make_user, generation.plan))
    recall = Counter(dialogue.recall for user in made for dialogue in user.dialogues)
    if not recall:
        raise generation.nothing("dialogue")
    memories, dialogues = list[dict[str, Any]](), list[dict[str, Any]]()
    for number, user in enumerate(made, start=1):
        first = len(memories) + 1
        for place, memory in enumerate(user.memories, first):
            memories.append({str(place): memory.model_dump() | {"user-id": number, "id": str(place)}})
        dialogues += [_line(dialogue, user.name, number, first) for dialogue in user.dialogues]
    for name, lines in ((f"{NAME}{BANK}", memories), (f"{NAME}{DIALOGUE}.json", dialogues)):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        write_atomically(generation.folder / name, text.encode())
    counts = {"users": len(made), "memories": len(memories)}
    return generation.account(counts | {f"{kind} dialogues": recall[kind] for kind in ("proactive", "passive")})


def _make_user(plan: Plan, number: int, writer: Writer) -> User:
    """Make a user; what cannot be used or scores low is left out and counted.

    Raises:
        LeftOut: there is no usable profile, or no memory.
    """
    writer.begin("profile")
    taken = [user.name for user in writer.finished]
    child = writer.require("", Profile, names_taken=taken)
    is_taken = child.name.casefold() in {each.casefold() for each in taken}
    leave_out_if(is_taken or not child.name, f"the name {child.name!r} is taken or empty")
    about = {"child": child.model_dump()}
    memories = _memories(plan, number, about, writer)
    leave_out_if(not memories, "no memory was made")
    return User(name=child.name, memories=memories, dialogues=list(_dialogues(plan, about, memories, writer)))


def _memories(plan: Plan, number: int, child: dict[str, Any], writer: Writer) -> list[MadeMemory]:
    draw, made = Random(f"{plan.seed} {number}"), list[MadeMemory]()
    for scene, emotion in writer.each("memories", [(scene, emotion) for scene in SCENES for emotion in EMOTIONS]):
        about = child | {"scene": f"{scene}: {SCENES[scene]}", "emotion": emotion}
        with writer.leave_out():
            remembered = [memory.event for memory in made]
            reply = writer.ask(Events, **about, number=plan.events, remembered=remembered)
            for event in reply.events[: plan.events]:
                day = FIRST_DAY + timedelta(days=draw.randrange((LAST_DAY - FIRST_DAY).days + 1))
                with writer.leave_out():
                    leave_out_if(not event or event in remembered, "empty, or the same twice")
                    writer.score("EventScore", "scored too low", **about, event=event)
                    made.append(MadeMemory(time=day.isoformat(), scene=scene, emotion=emotion, event=event))
                    remembered.append(event)
    return made


def _dialogues(
    plan: Plan, child: dict[str, Any], memories: Sequence[MadeMemory], writer: Writer
) -> Iterator[MadeDialogue]:
    events = {place: memory.event for place, memory in enumerate(memories)}
    left = dict(events)
    for kind in writer.each("dialogues", [kind for kind in KINDS for _ in range(plan.dialogues)]):
        about = child | {"situation": kind.situation, "criterion": kind.criterion}
        with writer.leave_out():
            chosen = writer.ask(Choice, **about, memories=left).memory if left else -1
            leave_out_if(chosen not in left, "no memory for it")
            yield _dialogue(kind, about, events, chosen, writer)
            del left[chosen]


def _dialogue(kind: Kind, about: dict[str, Any], events: dict[int, str], chosen: int, writer: Writer) -> MadeDialogue:
    made = writer.ask(Dialogue, **about, memory=events[chosen])
    said = [*made.turns, made.reply]
    leave_out_if(len(said) % 2 == 1 or not all(said), "not in turns")
    writer.score("DialogueScore", "scored too low", **about, memory=events[chosen], dialogue=said)
    suitable = writer.ask(Suitable, criterion=kind.criterion, dialogue=made.turns, memories=events).memories
    ranked = [place for place in dict.fromkeys(suitable) if place in events][:MOST_SUITABLE]
    leave_out_if(chosen not in ranked, "its memory is not among the most suitable")
    return MadeDialogue(kind=kind.name, recall=kind.recall, turns=made.turns, reply=made.reply, suitable=ranked)


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
