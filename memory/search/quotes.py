"""Check whether a text contains a quotation."""

_PUNCTUATION = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "…": " "})
_AROUND = " .,;\"'"


def contains(text: str, words: str) -> bool:
    """Whether a text contains the words, whatever their case, spaces and kind of quotation marks."""
    return bool(normalize(words)) and normalize(words) in normalize(text)


def find_quote(words: str, text: str) -> str:
    """The words as the text spells them; as given where only case, spaces or marks differ; "" if it lacks them."""
    words = words.strip()
    at = text.find(words)
    if words and at >= 0:
        return text[at : at + len(words)]
    return words if contains(text, words) else ""


def normalize(text: str) -> str:
    """The text in one case, with single spaces and plain quotation marks and dashes."""
    return " ".join(text.translate(_PUNCTUATION).casefold().split()).strip(_AROUND)
