"""Answer what was told by its time ("What did I just tell you?") and what is on ahead ("What's on this week?").

Whether a plan still holds is read from what was told after it: "Porto is off", "the school says June instead".
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import NamedTuple

from graph.language.facts import FACTS, kind_of
from graph.language.patterns import phrasings
from graph.readers.agenda import what_is_on
from graph.readers.line_reader import Line
from graph.replies.facts import cite_all, fact_to_user
from graph.replies.second_person import said_to_user
from graph.state import USER, Ask, Reading, Services
from graph.understanding.parts import tells
from graph.understanding.requests import Recap
from graph.understanding.sentences import capitalise, shorten, split
from graph.understanding.times import day_said, describe_ahead, times_in
from memory import read_table
from memory.bank.bank import Bank
from memory.bank.queries.told import facts_told, lines_told, upcoming
from memory.dates.expressions import TimeExpression
from memory.formatting import clip, format_day
from memory.search.scoring import SearchSettings
from memory.search.tokens import content_terms, terms, words
from memory.types import Memory, TimeSpan

MOST_FACTS, MOST_PLANS, MOST_LINES = 12, 4, 8
"""Most facts, plans and lines of a recap."""

CONSIDERED = 80
"""Last lines among which those that tell something are looked for."""

FEW_FACTS = 4
"""With fewer facts about the user, the last lines are told, too."""

MAX_CHARACTERS = 160
"""Characters of a line from which only its first sentence is told."""

_KINDS = list(FACTS.values())
_REST = _KINDS.index(FACTS["{kind}"]) + 1
"""The place of facts that are told after people, in the order in which they were learned."""
_NAMING = frozenset(terms("name names called husbands wifes hi hello hey nice meet im i'm ive"))
"""Words of a line that a fact need not repeat."""

JUST_NOW = timedelta(hours=12)
"""How long ago something was said "just now" at most."""

_TABLE = read_table(__file__)

OF_TIMES, LISTED = 200, 8
"""Plans among which those of the times asked about are looked for, and most of these that are listed."""

A_WEEK = timedelta(days=7)
"""Longest plan of a day or a few: what is to be "in December" is none."""

NOTHING_THEN = "I know of nothing then. The next that I know of:"

MOST_AHEAD = 50
"""Plans at most of which it is asked whether they hold."""

LOOKED_AT, READ = 50, 2
"""Lines nearest in meaning to a plan among which those told after it are looked for, and how many of these are read: of
more, one ended most plans in the end, and what ends one is mostly the nearest."""

RIVALS = 12
"""Other plans, the next ones, that a line is compared with that may end one."""

HOLDS = 0.4
"""Probability below which a line ends a plan: of the lines held out that leave one, and of those that end another, 1 %
are below."""


class Plan(NamedTuple):
    """A memory of what is ahead, and its words for what is on then."""

    memory: Memory
    words: str


def recap(kind: Recap, ask: Ask, services: Services) -> Reading:
    """What was said at that time as a short list: facts first, in the second person, each with its source.

    The next plans are a part of what is known about the user.
    """
    # An imported history calls the user by name and a chat does not: of two names or homes, the latest is meant.
    known = facts_told(services.bank, ask.persona.id, ask.as_of)
    latest = {memory.attribute or memory.id: memory for memory in reversed(known)}
    facts = sorted(latest.values(), key=lambda memory: (_place(memory), memory.id))
    lines = lines_of_recap(kind, ask, services.bank)
    head = _head(kind, ask, lines)
    if kind == "about me" and "who" in words(ask.text)[:2]:
        facts = [fact for fact in facts if fact.store == "relationship"]
        told, head = list(_state_facts(facts[:MOST_FACTS])), "These are the ones I know of:"
    elif kind == "about me":
        facts, plans = facts[:MOST_FACTS], list(islice(ahead(ask.persona.id, ask.as_of, services), MOST_PLANS))
        few = _repeat_lines(lines, [*known, *(plan.memory for plan in plans)]) if len(facts) < FEW_FACTS else ()
        told = [*_state_facts(facts), *((plan.memory, say_plan(plan, ask.as_of)) for plan in plans), *few]
    else:
        turns = {turn for line in lines for turn in line.turn_ids}
        of_then = [fact for fact in facts if turns.intersection(fact.turn_ids)]
        covered = [line for line in lines if _is_covered(line, of_then)]
        of_covered = {turn for line in covered for turn in line.turn_ids}
        short = [fact for fact in of_then if of_covered.intersection(fact.turn_ids)]
        told = [*_state_facts(short), *_repeat_lines([line for line in lines if line not in covered], ())]
    return cite_all(told, head, "\n- ") if told else Reading(_TABLE["nothing"][kind])


def lines_of_recap(kind: Recap, ask: Ask, bank: Bank) -> list[Memory]:
    """What the user told at that time, the oldest first; what only asks or greets tells nothing."""
    persona, until = ask.persona.id, ask.as_of + timedelta(seconds=1)
    since = day_said(ask.as_of).start if kind == "today" else datetime(1, 1, 2, tzinfo=UTC)
    if kind in ("just", "so far"):
        most = 1 if kind == "just" else MOST_LINES
        of_chat = bank.chat_memories(persona, ask.chat_id, CONSIDERED)[::-1]
        if told := [line for line in of_chat if tells(line.text)][-most:]:
            return told
    chat = ask.chat_id if kind in ("last time", "so far") else ""
    earlier = lines_told(bank, persona, TimeSpan(since, until), CONSIDERED, not_in=chat)
    told = [line for line in earlier if tells(line.text)]
    if kind in ("last time", "so far"):
        return [line for line in told if line.session_id == told[-1].session_id][-MOST_LINES:]
    return told[-{"just": 1, "about me": FEW_FACTS}.get(kind, MOST_LINES) :]


def say_plan(plan: Plan, now: datetime) -> str:
    """What is ahead as it is said to the user, after its day: "Saturday: You see the dentist."; of others, quoted."""
    memory = plan.memory
    said = said_to_user(plan.words)
    day = f"{capitalise(describe_ahead(memory.event, now))}: " if memory.event else ""
    return f"{day}{clip(said)}" if memory.speaker == USER and day and said else f"{day}“{clip(memory.text)}”"


def _head(kind: Recap, ask: Ask, lines: Sequence[Memory]) -> str:
    if head := _TABLE["heads"].get(kind):
        return str(head)
    said_at, whom = (lines[-1].said_at, lines[-1].told_to or "me") if lines else (None, "me")
    if kind == "just" and said_at is not None and ask.as_of - said_at < JUST_NOW:
        return f"You just told {whom}:"
    return f"On {format_day(said_at)} you told {whom}:" if said_at else f"You told {whom}:"


def _place(memory: Memory) -> int:
    """The place of a fact in a recap, by the order of the registry."""
    kind = kind_of(memory.relation, memory.store)
    return min(_KINDS.index(kind), _REST) if kind else _REST


def _is_covered(line: Memory, facts: Sequence[Memory]) -> bool:
    """Whether facts say all that a line says; a fuller line is told itself."""
    of_line = [fact for fact in facts if set(fact.turn_ids) & set(line.turn_ids)]
    said = {term for fact in of_line for term in terms(f"{fact.text} {fact_to_user(fact)}")}
    return bool(of_line) and set(content_terms(line.text)) <= said | _NAMING


def _state_facts(facts: Sequence[Memory]) -> Iterator[tuple[Memory, str]]:
    yield from ((memory, said) for memory in facts if (said := fact_to_user(memory)))


def _repeat_lines(lines: Sequence[Memory], facts: Sequence[Memory]) -> Iterator[tuple[Memory, str]]:
    """The lines as they are said to the user, without those that a fact was read from."""
    stated = {turn for memory in facts for turn in memory.turn_ids}
    for memory in lines:
        if not stated.intersection(memory.turn_ids):
            text = memory.text if len(memory.text) <= MAX_CHARACTERS else split(memory.text)[0]
            yield memory, said_to_user(text) or f"“{shorten(text, MAX_CHARACTERS)}”"


def asks_of_plans(question: str, window: Sequence[TimeExpression], ask: Ask) -> bool:
    """Whether a question may be about plans: it names times that are not over, and does not ask what has been."""
    is_ahead = bool(window) and all(time.span.end > ask.as_of for time in window)
    return is_ahead and not (ask.handed_in or ask.only_found or phrasings("question")["what_happened"].search(question))


def of_times(window: Sequence[TimeExpression], ask: Ask, services: Services) -> list[Plan]:
    """The plans that hold and are of the times asked about."""

    def is_then(event: TimeSpan) -> bool:
        longest = max(A_WEEK, *(time.span.end - time.span.start for time in window))
        return event.end - event.start <= longest and any(event.overlaps(time.span) for time in window)

    told = upcoming(services.bank, ask.persona.id, ask.as_of, OF_TIMES)
    of_then = [memory for memory in told if memory.event and is_then(memory.event)][:LISTED]
    return list(holding(of_then, told, ask.persona.id, ask.as_of, services))


def list_plans(planned: Sequence[Plan], ask: Ask, first: str = "") -> Reading:
    """The plans after a first line, each with its day and its source."""
    return cite_all([(plan.memory, say_plan(plan, ask.as_of)) for plan in planned], first, "\n")


def whats_on(
    planned: Sequence[Plan], told: Iterable[Memory], window: Sequence[TimeExpression], ask: Ask, services: Services
) -> Reading | None:
    """What is on at the times asked about: the plans of then, or else the next one.

    None if there is no plan, or if something told names these times, which is no plan but may answer ("at Easter").
    """
    if planned:
        return list_plans(planned, ask)
    named = (time.span for memory in told for time in times_in(memory.text, memory.said_at))
    if any(span.overlaps(time.span) for span in named for time in window):
        return None
    following = list(islice(ahead(ask.persona.id, ask.as_of, services), 1))
    return list_plans(following, ask, NOTHING_THEN) if following else None


def ahead(persona_id: int, as_of: datetime, services: Services) -> Iterator[Plan]:
    """What was told of the days after a moment and still holds, the next first."""
    plans = upcoming(services.bank, persona_id, as_of, MOST_AHEAD)
    yield from holding(plans, plans, persona_id, as_of, services)


def holding(
    told: Sequence[Memory], known: Sequence[Memory], persona_id: int, as_of: datetime, services: Services
) -> Iterator[Plan]:
    """The plans that nothing which the same person told later has ended or moved, by the trained reader.

    A line ends one of the `known` plans at most: the one of which it says so most surely.
    """
    settings = SearchSettings(k=LOOKED_AT, dense_weight=1.0)

    def holds(plan: Memory, lines: Sequence[Memory]) -> list[float]:
        read = [Line(memory.text, USER, memory.said_at and memory.said_at.date()) for memory in lines]
        return [found.holds for found in services.line_reader.read(plan.text, as_of.date(), read)]

    for plan, view in zip(told, services.searcher.views([plan.text for plan in told]), strict=True):
        if not (words := what_is_on(plan, as_of.date())):
            continue
        near = services.searcher.search(persona_id, [view], as_of, settings)
        lines = (hit.memory for hit in near if hit.memory.store == "dialogue" and hit.memory.speaker == plan.speaker)
        later = list(islice((memory for memory in lines if _is_before(plan, memory)), READ))
        others = [other for other in known[:RIVALS] if not {*plan.turn_ids}.intersection(other.turn_ids)]
        if not any(
            sure < HOLDS and all(holds(other, [line])[0] >= sure for other in others if _is_before(other, line))
            for line, sure in zip(later, holds(plan, later), strict=True)
        ):
            yield Plan(plan, words)


def _is_before(plan: Memory, line: Memory) -> bool:
    return plan.said_at is not None and line.said_at is not None and plan.said_at < line.said_at
