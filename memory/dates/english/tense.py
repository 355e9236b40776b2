"""Tell whether a time in an English sentence lies in the past or ahead, by the verbs around it.

"We moved in March" lies in the past, "we're moving in March" ahead. A past form makes a clause one of the past:
English has some two hundred irregular ones and the ending -ed, while its present forms look like any other word
("exams start on the 18th"). A clause without a verb announces something ("dentist on friday").
"""

from memory.dates.calendar import PATTERNS, WORDS, Tense
from memory.dates.rules import compile_pattern

IRREGULAR_PASTS, OTHER_ED, TIME_WORDS = (
    frozenset(WORDS[name].split()) for name in ("irregular_pasts", "other_ed", "time_words")
)

SIGNS = {name: compile_pattern(pattern, " ") for name, pattern in PATTERNS["tense"].items()}
"""The patterns of words and clauses that tell a tense, by name."""

MAX_VERBLESS_WORDS = 2
"""Words of a clause that has no verb ("then Rome in May")."""
FUTURE_SIGNS = (SIGNS["ahead"], SIGNS["now_planned"], SIGNS["progressive"])


def tense_of(before: str, after: str) -> Tense:
    """The tense of a sentence at a time in it, from the words before and after the time.

    In the clause around the time, the nearest verb before it decides, else the nearest after it. A clause without a
    verb takes the tense of the one before it; one of at most a word ("on friday, we left") that of the next. A sentence
    without a verb is in the present tense, and a time that stands alone is a past one.
    """
    if SIGNS["begins"].match(f"{before} {after}"):
        return "future"
    if all(word.lower() in TIME_WORDS or word[0].isdigit() for word in SIGNS["word"].findall(f"{before} {after}")):
        return "past"
    if SIGNS["since"].search(before) and not SIGNS["because"].match(after):
        return "past"
    head, tail = SIGNS["clause_end"].split(before), SIGNS["clause_end"].split(after)
    if SIGNS["set_for"].search(head[-1]) or (
        SIGNS["for"].search(head[-1]) and not SIGNS["spends_time"].search(head[-1])
    ):
        return "future"
    words = len(SIGNS["word"].findall(f"{head[-1]} {tail[0]}"))
    others = (
        (*tail[1:], *reversed(head[:-1])) if words <= 1 else reversed(head[:-1]) if words <= MAX_VERBLESS_WORDS else ()
    )
    tenses = [_tense_of_clause(head[-1]), _tense_of_clause(tail[0], first=True), *map(_tense_of_clause, others)]
    return next(filter(None, tenses), "present")


def _tense_of_clause(clause: str, *, first: bool = False) -> Tense | None:
    """The tense of the last, or the first, verb of a clause; None if none is recognised."""
    ahead = [match.span() for sign in FUTURE_SIGNS for match in sign.finditer(clause)]
    covered = [*ahead, *(match.span() for match in SIGNS["passive"].finditer(clause))]
    past = [
        match.span()
        for match in SIGNS["word"].finditer(clause)
        if is_past_form(match[0]) and not any(start <= match.start() < end for start, end in covered)
    ]
    if not ahead and not past:
        return "present" if SIGNS["present"].search(clause) else None
    nearest = min([*ahead, *past]) if first else max([*ahead, *past])
    return "future" if nearest in ahead else "past"


def is_past_form(word: str) -> bool:
    """Whether a word looks like a past form or a participle."""
    lower = word.lower().replace("’", "'")
    return lower in IRREGULAR_PASTS or (lower.endswith("ed") and lower not in OTHER_ED)
