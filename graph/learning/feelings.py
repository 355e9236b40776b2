"""Find the feeling that a speaker names, and the kind of place or occasion of a sentence.

A word counts only if it says how somebody feels: "I was furious", not "a furious storm".
"""

from graph.language.patterns import listed, load, pattern

_TABLE = load("feelings.toml")
_MEANS = {word: emotion for emotion, words in _TABLE["feelings"].items() for word in listed(words)}
_WORD = rf"(?P<word>{'|'.join(_MEANS)})\b"
_FEELS = pattern(
    r"(?:\b(?:I|we)(?:'?m|'re| am| are| was| were| feel| felt| got| get| became|'?ve been| have been| had been| left)"
    r"(?: feeling)?|\A\W*(?:just )?feeling|\b(?:ca|could)n'?t stop|\b(?:makes|made|leaves|left) (?:me|us)(?: feel)?)"
    r"(?: (?:so|very|really|quite|pretty|too|just|still|extremely|incredibly|a bit|a little))*"
    rf" {_WORD}(?! to (?:say|report))"
)
_FIRST = pattern(
    r"\A\W*(?:(?:so|just|really|absolutely|totally|completely|pretty|quite|a bit|bit) )?"
    rf"(?P<word>{'|'.join(listed(_TABLE['in_sentences']['first']))})"
    r"(?=,|;| -| (?:about|that|cos|cause|because|for|of|after|i|we|my|it)\b)"
)
_COURTEOUS = pattern(
    rf"\b(?:I|we)(?:'?m|'re| am| are)(?: (?:so|very|really|always|just))? {_WORD} "
    r"(?:to|for you|that|you|your|we|my|it)\b"
)
"""Polite phrases ("I'm glad you like it", "I'm happy to help") are not feelings."""

LEAST_WORDS = 5
"""Fewest words of a sentence that tells a feeling and its cause; "I'm excited!" tells no cause."""

_SCENE = pattern(
    r"\b(?:at|in|on|to|from|by|near|during)"
    r"(?: (?:the|my|our|a|an|his|her|their|this|that|your|local|old|new|[A-Z]\w{1,20}(?:'s)?)){0,3}"
    rf" (?P<scene>{'|'.join(listed(_TABLE['in_sentences']['scenes']))})\b"
)


def emotion(sentence: str) -> str:
    """The emotion that the speaker feels or felt; empty if they name none."""
    plain = sentence.replace("’", "'")
    if len(plain.split()) < LEAST_WORDS or _COURTEOUS.search(plain):
        return ""
    match = _FEELS.search(plain) or _FIRST.match(plain)
    return _MEANS[match["word"].casefold()] if match else ""


def scene(sentence: str) -> str:
    """The kind of place or occasion of a sentence; empty if it names none."""
    match = _SCENE.search(sentence.replace("’", "'"))
    return match["scene"].casefold() if match else ""
