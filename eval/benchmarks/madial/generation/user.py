"""Make one user: the profile, the memories by scene and emotion, and the dialogues that bring them up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

from pydantic import BaseModel

from eval.benchmarks.madial.generation.kinds import EMOTIONS, KINDS, SCENES, Kind
from eval.benchmarks.madial.generation.prompts import (
    Choice,
    Dialogue,
    DialogueScore,
    Events,
    EventScore,
    Profile,
    Suitable,
)
from eval.making import parts
from eval.making.parts import NotMade, Part
from eval.making.prompting import one_line
from eval.making.writer import Writer

FIRST_DAY, LAST_DAY = date(2022, 1, 1), date(2024, 6, 14)
"""When remembered events happened (section 3); the dialogues are of the day after."""

MOST_SUITABLE = 7
"""Most memories that suit a dialogue (section 3.3.1)."""


@dataclass(frozen=True, slots=True)
class Plan(parts.Plan):
    """Events for each scene and emotion, and dialogues of each kind."""

    events: int = 2
    dialogues: int = 2


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


def make_user(plan: Plan, number: int, taken: Sequence[str], writer: Writer) -> User:
    """Make a user; what cannot be used or scores low is left out and counted.

    Raises:
        NotMade: there is no usable profile, or no memory.
    """
    writer.begin("profile")
    profile = writer.ask(Profile, names_taken=list(taken))
    if profile is None:
        raise NotMade(writer.last_fault)
    name = one_line(profile.name)
    if not name or name.casefold() in {each.casefold() for each in taken}:
        raise NotMade(f"the name {name!r} is taken or empty")
    child = {"name": name, "age": profile.age, "about": one_line(profile.about)}
    memories = _memories(plan, number, child, writer)
    if not memories:
        reasons = "; ".join(f"{times} × {reason}" for reason, times in writer.left_out.items())
        raise NotMade(f"no memory was made ({reasons or 'the model wrote none'})")
    return User(name=name, memories=memories, dialogues=_dialogues(plan, child, memories, writer))


def _memories(plan: Plan, number: int, child: dict[str, object], writer: Writer) -> list[MadeMemory]:
    rng, made = Random(f"{plan.seed} {number}"), list[MadeMemory]()
    for scene, emotion in writer.each("memories", [(scene, emotion) for scene in SCENES for emotion in EMOTIONS]):
        about = {"child": child, "scene": f"{scene}: {SCENES[scene]}", "emotion": emotion}
        reply = writer.ask(Events, **about, number=plan.events, remembered=[memory.event for memory in made])
        for event in map(one_line, reply.events[: plan.events] if reply else ()):
            day = FIRST_DAY + timedelta(days=rng.randrange((LAST_DAY - FIRST_DAY).days + 1))
            if not event or event in [memory.event for memory in made]:
                writer.drop("empty, or the same twice")
                continue
            score = writer.ask(EventScore, **about, event=event)
            if score and score.score >= plan.threshold:
                made.append(MadeMemory(time=day.isoformat(), scene=scene, emotion=emotion, event=event))
            else:
                writer.drop("scored too low")
    return made


def _dialogues(
    plan: Plan, child: dict[str, object], memories: Sequence[MadeMemory], writer: Writer
) -> list[MadeDialogue]:
    made, left = list[MadeDialogue](), set(range(len(memories)))
    for kind in writer.each("dialogues", [kind for kind in KINDS for _ in range(plan.dialogues)]):
        numbered = {n: memories[n].event for n in sorted(left)}
        about: dict[str, object] = {"child": child, "situation": kind.situation, "criterion": kind.criterion}
        choice = writer.ask(Choice, **about, memories=numbered) if numbered else None
        if choice is None or choice.memory not in left:
            writer.drop("no memory for it")
            continue
        dialogue = _dialogue(plan, kind, about, memories, choice.memory, writer)
        if dialogue:
            made.append(dialogue)
            left.discard(choice.memory)
    return made


def _dialogue(
    plan: Plan,
    kind: Kind,
    about: dict[str, object],
    memories: Sequence[MadeMemory],
    chosen: int,
    writer: Writer,
) -> MadeDialogue | None:
    memory = memories[chosen].event
    reply = writer.ask(Dialogue, **about, memory=memory)
    if reply is None:
        return None
    turns, answer = [one_line(turn) for turn in reply.turns], one_line(reply.reply)
    if len(turns) % 2 == 0 or not all(turns) or not answer:
        writer.drop("not in turns")
        return None
    score = writer.ask(DialogueScore, **about, memory=memory, dialogue=[*turns, answer])
    if not score or score.score < plan.threshold:
        writer.drop("scored too low")
        return None
    suitable = writer.ask(
        Suitable, criterion=about["criterion"], dialogue=turns, memories=dict(enumerate(m.event for m in memories))
    )
    ranked = [n for n in dict.fromkeys(suitable.memories if suitable else ()) if 0 <= n < len(memories)]
    if chosen not in ranked[:MOST_SUITABLE]:
        writer.drop("its memory is not among the most suitable")
        return None
    return MadeDialogue(kind=kind.name, recall=kind.recall, turns=turns, reply=answer, suitable=ranked[:MOST_SUITABLE])
