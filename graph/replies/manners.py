"""The phrases of each manner of speaking, for replies without a chat model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Manner:
    """The phrases of one manner.

    `noted` and `noted_on` are used in turn; they may take the statement, and the latter takes its date. `corrected`
    takes the corrected statement, `retracted` the retracted one, `unknown` the reason for an abstention, and `reminded`
    a quoted memory. `unsure` comes before the lines that are closest to an answer.
    """

    noted: tuple[str, ...]
    noted_on: tuple[str, ...]
    corrected: str
    retracted: str
    unrecorded: str
    greeting: str
    unknown: str
    unsure: str
    reminded: str


MANNERS: dict[str, Manner] = {
    "plain": Manner(
        noted=("Noted: “{text}”",),
        noted_on=("Noted for {date}: “{text}”",),
        corrected="Corrected: “{text}”",
        retracted="I won't use this any more: “{text}”",
        unrecorded="Understood. I'm not remembering this chat.",
        greeting="Hello. Ask me about anything you have told me, or tell me something to remember.",
        unknown="I don't know. {why}",
        unsure="I'm not sure. The closest I remember:",
        reminded="That reminds me: {text}",
    ),
    "warm": Manner(
        noted=(
            "Thank you for telling me. I'll remember that.",
            "I see. I'll keep it in mind.",
            "I'm glad you told me. I won't forget it.",
        ),
        noted_on=(
            "Thank you for telling me. I've put it down under {date}.",
            "I see. I'll remember the date: {date}.",
            "I'm glad you told me. It's in my diary under {date}.",
        ),
        corrected="Thank you for putting me right. It is now: “{text}”",
        retracted="All right, I've set this aside: “{text}”",
        unrecorded="Thank you for telling me. I won't remember this chat.",
        greeting="Hello! It's good to hear from you. Ask me about anything we've talked about, or tell me how you are.",
        unknown="I'm sorry, I don't know. {why}",
        unsure="I'm not quite sure, I'm afraid. This is the closest I remember:",
        reminded="That makes me think of something: {text}",
    ),
    "playful": Manner(
        noted=("Got it!", "In the notebook it goes!", "Filed under “you”."),
        noted_on=("Got it: {date}!", "Down it goes, under {date}!", "Filed under {date}."),
        corrected="Eraser out, pencil in! It now says: “{text}”",
        retracted="Crossed out, with a flourish: “{text}”",
        unrecorded="My pen is down! I won't remember this chat.",
        greeting="Hey you! Quiz me on what you've told me, or give me something new to remember.",
        unknown="You've got me there, I don't know. {why}",
        unsure="Hmm, not sure. The closest in my notes:",
        reminded="Ooh, that rings a bell: {text}",
    ),
    "formal": Manner(
        noted=("Thank you. I have made a note of it.", "Very well. It is recorded.", "I shall remember that."),
        noted_on=(
            "Thank you. I have made a note of it under {date}.",
            "Very well. It is recorded under {date}.",
            "I shall remember that, with its date: {date}.",
        ),
        corrected="Thank you. I have corrected my note to: “{text}”",
        retracted="As you wish. I have withdrawn this note: “{text}”",
        unrecorded="Thank you. As you asked, I shall not remember this chat.",
        greeting="Good day. You may ask me about anything you have told me, or tell me what I should remember.",
        unknown="I am afraid I do not know. {why}",
        unsure="I am not certain. The closest I remember:",
        reminded="If I may remind you: {text}",
    ),
}


def manner(name: str) -> Manner:
    """The phrases of a manner; any other description gets the plain phrases."""
    return MANNERS.get(name.strip().casefold(), MANNERS["plain"])
