"""Answer what was said by its time: "What did I just tell you?", "What do you know about me?"; say what is ahead."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice

from graph.language.facts import FACTS, kind_of
from graph.replies.facts import cite_all, fact_to_user
from graph.replies.second_person import said_to_user
from graph.state import USER, Ask, Reading
from graph.understanding.parts import tells
from graph.understanding.requests import Recap, asked_reminder, without_time
from graph.understanding.sentences import capitalise, shorten, split
from graph.understanding.times import describe_ahead, times_in
from memory import read_table
from memory.bank.bank import Bank
from memory.bank.queries.told import facts_told, lines_told
from memory.formatting import clip, format_day
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


def recap(kind: Recap, ask: Ask, bank: Bank, plans: Iterable[Memory]) -> Reading:
    """What was said at that time as a short list: facts first, in the second person, each with its source.

    The first of the `plans` are a part of what is known about the user.
    """
    # An imported history calls the user by name and a chat does not: of two names or homes, the latest is meant.
    known = facts_told(bank, ask.persona.id, ask.as_of)
    latest = {memory.attribute or memory.id: memory for memory in reversed(known)}
    facts = sorted(latest.values(), key=lambda memory: (_place(memory), memory.id))
    lines = lines_of_recap(kind, ask, bank)
    head = _head(kind, ask, lines)
    if kind == "about me" and "who" in words(ask.text)[:2]:
        facts = [fact for fact in facts if fact.store == "relationship"]
        told, head = list(_state_facts(facts[:MOST_FACTS])), "These are the ones I know of:"
    elif kind == "about me":
        facts, ahead = facts[:MOST_FACTS], list(islice(plans, MOST_PLANS))
        few = _repeat_lines(lines, [*known, *ahead]) if len(facts) < FEW_FACTS else ()
        told = [*_state_facts(facts), *((plan, say_plan(plan, ask.as_of)) for plan in ahead), *few]
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
    midnight = ask.as_of.replace(hour=0, minute=0, second=0, microsecond=0)
    since = midnight if kind == "today" else datetime(1, 1, 2, tzinfo=UTC)
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


def say_plan(plan: Memory, now: datetime) -> str:
    """What is ahead as it is said to the user, after its day: "Saturday: You see the dentist."; of others, quoted."""
    named = (text for text in split(plan.text) if any(t.span == plan.event for t in times_in(text, plan.said_at)))
    text = next(named, plan.text)
    said = said_to_user(asked_reminder(text, plan.said_at) or without_time(text, plan.said_at))
    day = f"{capitalise(describe_ahead(plan.event, now))}: " if plan.event else ""
    return f"{day}{clip(said)}" if plan.speaker == USER and day and said else f"{day}“{clip(plan.text)}”"


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
