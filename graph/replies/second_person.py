"""Say to users what they said of themselves, "I sold my boat" as "You sold your boat"; and the other way round."""

import re

from graph.language.patterns import by_word, load, pattern
from graph.language.people import ADDRESSEE
from graph.understanding.sentences import as_sentence, capitalise

_TABLE = load("second_person.toml")
_TO_YOU, _BESIDE_I, _TO_ME = by_word(_TABLE["to_you"]), by_word(_TABLE["beside_i"]), by_word(_TABLE["to_me"])
_OF_I, _SPELLED = by_word(_TABLE["verbs_of_i"]), by_word(_TABLE["spelled"])
_YOU_ARE = pattern(
    r"\byou(?P<verb>(?:['’]re| are| were)\b)|\b(?P<asks>are|were) (?:you|u)\b"
    r"|\b(?:you['’](?:ve|d|ll)|you|u|your|yours|yourself)\b"
)
_AFTERTHOUGHT = pattern(r"[\s,]+(?:btw|by the way|lol|lmao|haha+|hehe+|ugh|tbh|fyi|omg)\Z")
"""What people write after a message, and nobody says back to them."""
_AFTERTHOUGHT_LENGTH = 20
_CLOSING = " \t\n.!?…"
_WORD = re.compile(r"(?<![^\W_])[^\W\d_]+(?:['’][^\W\d_]+)*")
_HOUR = re.compile(r"\d ?\Z")


def second_person(text: str) -> str:
    """The user's words turned to the second person; empty if they speak to somebody ("you") already.

    Missing apostrophes are added, and afterthoughts such as "lol" are left out.
    """
    if ADDRESSEE.search(text):
        return ""
    text = _without_afterthoughts(text)
    words = [(match.start(), match.end(), match[0]) for match in _WORD.finditer(text)]
    said = [word.lower().replace("’", "'") for *_, word in words]
    result, place = "", 0
    for n, (start, end, word) in enumerate(words):
        new = _TO_YOU.get(said[n]) or _SPELLED.get(word, word)
        if word == "US" or (said[n] == "am" and _HOUR.search(text, 0, start)):
            new = word
        elif said[n] in _BESIDE_I and "i" in (said[max(n - 1, 0)], *said[n + 1 : n + 2]):
            new = _BESIDE_I[said[n]]
        result += text[place:start] + new
        place = end
    return result + text[place:]


def _without_afterthoughts(text: str) -> str:
    end = said = len(text.rstrip(_CLOSING))
    while found := _AFTERTHOUGHT.search(text, max(0, end - _AFTERTHOUGHT_LENGTH), end):
        end = found.start()
    return text[:end] + text[said:]


def said_to_user(text: str) -> str:
    """What a user said, as a sentence in the second person; empty where it speaks to somebody ("you")."""
    return as_sentence(second_person(" ".join(text.split())))


def first_person(text: str) -> str:
    """What is said to "you", as the one who is meant says it: "You were born in Trieste" as "I was born in Trieste"."""

    def turned(found: re.Match[str]) -> str:
        if verb := found["verb"]:
            return f"I{verb[: -len(verb.strip())]}{_OF_I[verb.strip().lower()]}"
        if verb := found["asks"]:
            return f"{_OF_I[verb.lower()]} I"
        own = _TO_ME.get(found[0].lower().replace("’", "'"), "I")
        return capitalise(own) if found[0][0].isupper() else own

    return _YOU_ARE.sub(turned, text)
