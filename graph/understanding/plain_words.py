"""Put a sentence into the plain words in which facts are sought: apostrophes, spelling, and phrases for one verb."""

from functools import lru_cache

from graph.language.patterns import load, pattern
from graph.language.people import words_for

_KNOWN_NAME = pattern(r"(?<![\w'-])<KNOWN_NAME>")
_REPLACED = [(pattern(source), plain) for source, plain in load("phrasings.toml")["plain_words"]["replaced"]]

_OTHER = ("bother", "fiend")
_KEYWORDS = [word for word in words_for("family", "around") if len(word) > 5]
_KEYWORDS += ["friend", "teacher", "birthday", "allergic", "favourite"]
"""Words that are spelled right, and words that are one letter away from one of them and are none."""
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
    """The keyword that differs from the word by one letter, or by two that changed places; else the word."""
    if word in _KEYWORDS or word in _OTHER or word.endswith("s"):
        return word
    return next((keyword for keyword in _KEYWORDS if word[0] == keyword[0] and _is_one_slip(word, keyword)), word)


def _is_one_slip(word: str, keyword: str) -> bool:
    """Whether one letter is missing, added or wrong, or two neighbours are swapped."""
    if abs(len(word) - len(keyword)) > 1:
        return False
    start = next(
        (n for n, (a, b) in enumerate(zip(word, keyword, strict=False)) if a != b), min(len(word), len(keyword))
    )
    ours, theirs = word[start:], keyword[start:]
    swapped = ours[1:2] + ours[:1] + ours[2:]
    return ours[1:] == theirs[1:] or ours[1:] == theirs or ours == theirs[1:] or swapped == theirs
