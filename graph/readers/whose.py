"""Tell whom a question and a line are about: "whats my job" is not answered by "my brother is a plumber"."""

from __future__ import annotations

import re

from graph.learning.fact_slots import FAMILY, QUALITY, ROLE

_KIN = rf"(?:my|our) {QUALITY}(?:{FAMILY}|{ROLE})"
_OF_KIN = re.compile(
    rf"\A\W*(?:(?:and|but|so|also|oh) )?{_KIN}(?:s? [a-z][\w-]+)??"
    r"(?:['’]s| is| was| works| lives| studies| got| has| had)\b",
    re.IGNORECASE,
)
_OF_USER = re.compile(r"\b(?:i|me|my|mine|we|us|our)\b|\bi['’]|\bi?m\b", re.IGNORECASE)
_ASKS_OF_USER = re.compile(
    r"\b(?:what|where|when|which)(?:['’]?s| is| are| do| does| am)? (?:(?:i|we)\b|my [\w-]+(?: \w+)?\W*\Z)",
    re.IGNORECASE,
)
_OTHERS = re.compile(rf"\b(?:{_KIN}|he|she|they|his|her|their)\b", re.IGNORECASE)


def asks_of_user_alone(question: str) -> bool:
    """Whether a question is about what the user is, has or does, and names nobody else."""
    return _ASKS_OF_USER.search(question) is not None and _OTHERS.search(question) is None


def tells_of_kin(line: str) -> bool:
    """Whether a line tells of somebody around the user and nothing of the user."""
    match = _OF_KIN.match(line)
    return match is not None and _OF_USER.search(line, match.end()) is None
