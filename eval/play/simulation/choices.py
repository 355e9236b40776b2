"""Multiple choice: show the choices, and match an answer in words to one of them."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from memory.search.tokens import FUNCTION_WORDS, terms, words

Answers = Literal["multiple-choice", "unstructured", "open"]

LETTERS = "ABCDEFGHIJ"

_DONT_KNOW = (
    r"(?:(?:do(?:n't| not)|can(?:not|'t)|could(?:n't| not)) (?:know|tell|say|answer|be (?:known|answered|determined))"
    r"|no (?:idea|information)|not (?:known|mentioned|specified|enough information)|unknown|unanswerable"
    r"|none of the (?:above|options|choices))"
)
_SAYS = re.compile(rf"\b{_DONT_KNOW}\b", re.IGNORECASE)
_IS = re.compile(rf"(?:(?:i|you|we|they|it|it's|it is|i have|there is) )*{_DONT_KNOW}(?: \w+)?\W*", re.IGNORECASE)


def dont_know(choices: Sequence[str]) -> int | None:
    """The index of the last choice that only says "I don't know"; None if there is none."""
    return next((n for n in reversed(range(len(choices))) if _IS.fullmatch(choices[n].strip().replace("’", "'"))), None)


def show(question: str, choices: Sequence[str], answers: Answers) -> str:
    """Format a question: with lettered choices, with the choices in a sentence, or alone (DialSim, appendix G.1)."""
    if answers == "open" or not choices:
        return question
    if answers == "multiple-choice":
        return "\n".join([question, *(f"({LETTERS[n]}) {choice}" for n, choice in enumerate(choices[: len(LETTERS)]))])
    unknown = dont_know(choices)
    named = [choice.rstrip(" .?!") for n, choice in enumerate(choices) if n != unknown]
    return f"{question} Is it {', or '.join([*named, 'do you not know'])}?"


def choose(answer: str, abstained: bool, choices: Sequence[str]) -> int | None:
    """Match an answer in words to a choice, without a language model; return its index, None for no choice.

    An abstention is the choice that says "I don't know". An answer that names one letter is that choice. Otherwise it
    is the choice with the largest share of its terms in the answer (stemmed, without function words); of equals the
    one with more terms in common, then the one named first. The right answer is not used.
    """
    unknown = dont_know(choices)
    if abstained or not answer.strip():
        return unknown
    letter = _letter(answer, len(choices))
    if letter is not None:
        return letter
    answered = _content(answer)
    matches: dict[int, tuple[float, int, int]] = {}
    for index, choice in enumerate(choices):
        wanted = _content(choice)
        if index != unknown and (shared := (Counter(answered) & Counter(wanted)).total()):
            first = min(answered.index(term) for term in wanted if term in answered)
            matches[index] = (shared / len(wanted), shared, -first)
    best = max(matches, key=lambda index: matches[index], default=None)
    if _SAYS.search(answer.replace("’", "'")) and (best is None or matches[best][0] < 1.0):
        return unknown
    return best


def _letter(answer: str, count: int) -> int | None:
    letters = LETTERS[:count]
    for pattern in (
        rf"(?i:answer is:?) \(?([{letters}])(?=[).,:]|\W*$)",
        rf"\(((?i:[{letters}]))\)",
        rf"^\W*([{letters}])(?:[).:]|\W*$)",
    ):
        named = {letter.upper() for letter in re.findall(pattern, answer)}
        if named:
            # An answer that discusses several letters is matched by its words.
            return letters.index(named.pop()) if len(named) == 1 else None
    return None


def _content(text: str) -> list[str]:
    named = [word for word in words(text) if word not in FUNCTION_WORDS]
    return terms(" ".join(named) or text)
