"""Select the sentences of a turn in the speaker's own words, without quotations and reports."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graph.understanding.sentences import split

_QUOTED = re.compile(r"“[^“”]{0,2000}”|\"[^\"]{0,2000}\"|«[^«»]{0,2000}»")
_REPORTED = re.compile(
    r"\b(?:you|he|she|they|we|who|[A-Z]\w+)(?:'d|'ve| had| have| once| also| just| always)? "
    r"(?:said|says|told|tells|wrote|writes|mentioned|asked|claimed|thinks?|thought)\b"
)
_CITED = re.compile(r"\[\d{1,3}\]")


def own_sentences(text: str) -> Iterator[str]:
    """The sentences that state something in the speaker's own words."""
    for sentence in split(text):
        if sentence.startswith(">") or sentence.rstrip("\"'”’)").endswith(("?", "？")):
            continue
        if _REPORTED.search(sentence) or _CITED.search(sentence) or _QUOTED.search(sentence):
            continue
        yield sentence
