"""Put a sentence into the plain words in which facts are sought: apostrophes, spelling, and phrases for one verb."""

from difflib import get_close_matches
from functools import lru_cache

from graph.language.patterns import load, pattern
from graph.language.people import words_for

_KNOWN_NAME = pattern(r"(?<![\w'-])<KNOWN_NAME>")
_REPLACED = [(pattern(source), plain) for source, plain in load("phrasings.toml")["plain_words"]["replaced"]]

_OTHER = ("bother", "fiend")
_KEYWORDS = [word for word in words_for("family", "around") if len(word) > 5]
_KEYWORDS += ["friend", "teacher", "birthday", "allergic", "favourite"]
"""Words that are spelled right, and words that are one letter away from one of them and are none."""
CLOSE = 0.83
"""Share of letters in the same order from which a word is a keyword spelled wrongly: "freind" has .83."""
_WORD = pattern(r"(?<=\bmy )[a-z]{5,}\b|\ba[a-z]{5,}(?= to\b)|(?<=\b(?:my|an|is) )[a-z]{5,}\b")


def plain_words(sentence: str) -> str:
    """The sentence with its apostrophes restored, known words spelled right, and plain verbs for liking."""
    text = sentence.replace("’", "'").replace("`", "'")
    if text.isupper():
        text = text.lower()
    text = _WORD.sub(lambda match: _spelled(match[0]), text)
    for each, plain in _REPLACED:
        text = each.sub(plain, text)
    return text


def capitalise_names(text: str) -> str:
    """The text with a capital on names of people that are typed in lower case: "my sister Ana", "Dr Whitfield"."""
    return _KNOWN_NAME.sub(lambda match: match[0].title(), text)


@lru_cache(maxsize=4096)
def _spelled(word: str) -> str:
    """The keyword that a word is close to, of about its length; else the word."""
    if word in _OTHER or word.endswith("s"):
        return word
    alike = [keyword for keyword in _KEYWORDS if word[0] == keyword[0] and abs(len(word) - len(keyword)) < 2]
    return next(iter(get_close_matches(word, alike, 1, CLOSE)), word)
