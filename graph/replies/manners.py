"""How a persona speaks where no language model speaks for it: a few phrases for each manner."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Manner:
    """The phrases of one manner. `noted` and `noted_on` take what was told and its date, `corrected` what holds now,
    `retracted` what does no more, `reminded` a quoted memory."""

    noted: str
    noted_on: str
    corrected: str
    retracted: str
    unrecorded: str
    greeting: str
    unknown: str
    reminded: str


MANNERS: dict[str, Manner] = {
    "plain": Manner(
        noted="Noted: “{told}”",
        noted_on="Noted for {date}: “{told}”",
        corrected="Corrected: “{told}”",
        retracted="I no longer go by this: “{told}”",
        unrecorded="Understood. I am not remembering this chat.",
        greeting="Hello. Ask me about anything you have told me, or tell me something to remember.",
        unknown="I don't know: {why}",
        reminded="That reminds me: {told}",
    ),
    "warm": Manner(
        noted="Thank you for telling me. I'll remember: “{told}”",
        noted_on="Thank you for telling me. I'll remember it for {date}: “{told}”",
        corrected="Thank you for putting me right. It is now: “{told}”",
        retracted="All right, I've let go of this: “{told}”",
        unrecorded="Thank you for telling me. I'll keep it between us: this chat is not being remembered.",
        greeting="Hello! It's good to hear from you. Ask me about anything we've talked about, or tell me how you are.",
        unknown="I'm sorry, I don't know: {why}",
        reminded="That makes me think of something: {told}",
    ),
    "playful": Manner(
        noted="Ooh, that one goes in the book: “{told}”",
        noted_on="Ooh, that goes in the book under {date}: “{told}”",
        corrected="Eraser out, pencil in! It now says: “{told}”",
        retracted="Crossed out, with a flourish: “{told}”",
        unrecorded="My pen is down! This chat is not being remembered.",
        greeting="Hey you! Quiz me on what you've told me, or give me something new to remember.",
        unknown="You've got me there, I don't know: {why}",
        reminded="Ooh, that rings a bell: {told}",
    ),
    "formal": Manner(
        noted="Thank you. I have made a note of it: “{told}”",
        noted_on="Thank you. I have made a note of it under {date}: “{told}”",
        corrected="Thank you. I have corrected my note to: “{told}”",
        retracted="As you wish. I have withdrawn this note: “{told}”",
        unrecorded="Thank you. In accordance with your wish, this conversation is not being recorded.",
        greeting="Good day. You may ask me about anything you have told me, or tell me what I should remember.",
        unknown="I regret that I don't know: {why}",
        reminded="If I may remind you: {told}",
    ),
}


def manner(name: str) -> Manner:
    """The phrases of a manner; a description that is no manner's name is spoken plainly."""
    return MANNERS.get(name.strip().casefold(), MANNERS["plain"])
