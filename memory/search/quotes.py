"""Check whether a text contains a quotation, and find it as the text spells it."""

_PUNCTUATION = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "…": " "})
_AROUND = " .,;\"'"


def contains(text: str, words: str) -> bool:
    """Whether a text contains the words, whatever their case, spaces and kind of quotation marks."""
    return bool(normalize(words)) and normalize(words) in normalize(text)


def find_quote(words: str, text: str) -> str:
    """The words as the text spells them, which may differ in case, spaces and marks; "" if it lacks them."""
    words = words.strip()
    if words in text:
        return words
    sought, folded, places = normalize(words), "", list[int]()
    for place, character in enumerate(text):
        plain = character.translate(_PUNCTUATION).casefold()
        if plain.isspace():
            plain = "" if folded.endswith(" ") else " "
        folded += plain
        places += [place] * len(plain)
    start = folded.find(sought) if sought else -1
    return text[places[start] : places[start + len(sought) - 1] + 1] if start >= 0 else ""


def normalize(text: str) -> str:
    """The text in one case, with single spaces and plain quotation marks and dashes."""
    return " ".join(text.translate(_PUNCTUATION).casefold().split()).strip(_AROUND)
