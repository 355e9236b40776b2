"""What memories are about, and when a dialogue should bring one up.

Four emotions and five scenes for memories (section 3.2); proactive recall by emotion, passive recall of facts (section
3.1). Our copy of the paper does not print the definitions of scenes (table 9) nor the criteria for choosing a memory
(table 10), so the words are Memoir's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EMOTIONS = ("Happy", "Sad", "Anxious", "Disappointed")

SCENES = {
    "Preferences": "something that the child likes or dislikes",
    "Activity": "something that the child did or took part in",
    "Disease": "an illness or an injury of the child, and how the body felt",
    "Emotions": "a strong feeling of the child, and what brought it about",
    "Others": "anything else of the child's life: a person, an animal, a place, a thing",
}


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
