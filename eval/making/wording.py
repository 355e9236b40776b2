"""Put the questions of a temporal knowledge graph into words."""

from collections.abc import Sequence
from datetime import timedelta

from memory.types import Store, TimeSpan

THEN_AND_NOW = {
    "home": ("Where did {who} live {when}?", "Where {do} {who} live now?"),
    "employer": ("Who did {who} work for {when}?", "Who {do} {who} work for now?"),
    "occupation": ("What did {who} work as {when}?", "What {do} {who} work as now?"),
    "job": ("What did {who} work as {when}?", "What {do} {who} work as now?"),
    "place of work": ("Where did {who} work {when}?", "Where {do} {who} work now?"),
    "dating with": ("Who did {who} date {when}?", "Who {do} {who} date now?"),
    "date of birth": ("When is {whose} date of birth?", "When is {whose} date of birth?"),
    "birthday": ("When is {whose} birthday?", "When is {whose} birthday?"),
}
"""Questions for a relation in the past and in the present; other relations are asked for by name."""

SOMEBODY = ("Who was {whose} {relation} {when}?", "Who is {whose} {relation} now?")
SOMETHING = ("What was {whose} {relation} {when}?", "What is {whose} {relation} now?")
SEVERAL = ("What were {whose} {relation} {when}?", "What are {whose} {relation} now?")
LASTING = frozenset({"mother", "father", "son", "daughter", "sister", "brother"})
"""Last words of relations that are asked for without a time of their own (DialSim, Kim et al. 2024, table 7)."""

SELF = frozenset({"you", "user", "i", "me"})
"""Names of the user in a bank; questions about the user are in the first person."""

DAY = timedelta(days=1)


def word(
    head: str, relations: Sequence[str], store: Store, span: TimeSpan | None, first: TimeSpan | None = None
) -> str:
    """Word the question for the last relation of a path from a head, at a past time or, without a span, now.

    `store` is that of the answer: one in the relationship store is asked for as a person. The span is a calendar month
    or a day. With a time of its own for the first of two relations (DialSim, Kim et al. 2024, table 7):
    "Ana had a landlord in March 2026. Where did the landlord live on 3 May 2026?"
    """
    who, whose, do = ("I", "my", "do") if head.casefold() in SELF else (head, f"{head}'s", "does")
    if first:
        relation, *rest = relations
        article = "" if _is_plural(relation) else "an " if relation[:1] in "aeiou" else "a "
        return f"{who} had {article}{relation} {_when(first)}. {word(f'the {relation}', rest, store, span)}"
    for relation in relations[:-1]:
        who, do = f"{whose} {relation}", "does"
        whose = f"{who}'s"
    relation = relations[-1]
    other = SEVERAL if _is_plural(relation) else SOMETHING
    forms = THEN_AND_NOW.get(relation) or (SOMEBODY if store == "relationship" else other)
    when = _when(span) if span else ""
    return forms[0 if span else 1].format(who=who, whose=whose, do=do, relation=relation, when=when)


def _is_plural(relation: str) -> bool:
    return relation.endswith("s") and not relation.endswith(("ss", "us"))


def _when(span: TimeSpan) -> str:
    is_month = span.end - span.start > DAY
    return f"in {span.start:%B %Y}" if is_month else f"on {span.start.day} {span.start:%B %Y}"
