"""Find the feeling that a speaker names, and the kind of place or occasion of a sentence.

A word counts only if it says how somebody feels: "I was furious", not "a furious storm".
"""

from graph.language.patterns import listed, load, phrasings

_MEANS = {word: emotion for emotion, words in load("feelings.toml")["feelings"].items() for word in listed(words)}
_FORMS = phrasings("feelings")

LEAST_WORDS = 5
"""Fewest words of a sentence that tells a feeling and its cause; "I'm excited!" tells no cause."""


def emotion(sentence: str) -> str:
    """The emotion that the speaker feels or felt; empty if they name none."""
    plain = sentence.replace("’", "'")
    if len(plain.split()) < LEAST_WORDS or _FORMS["courteous"].search(plain):
        return ""
    match = _FORMS["feels"].search(plain) or _FORMS["feels_first"].match(plain)
    return _MEANS[match["word"].casefold()] if match else ""


def scene(sentence: str) -> str:
    """The kind of place or occasion of a sentence; empty if it names none."""
    match = _FORMS["scene"].search(sentence.replace("’", "'"))
    return match["scene"].casefold() if match else ""
