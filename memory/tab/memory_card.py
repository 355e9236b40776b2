"""Show one memory: what is known of it, the conversation it comes from, and the answers that relied on it."""

import re
from collections.abc import Collection, Mapping, Sequence

from markupsafe import Markup

from memory.bank.bank import Bank
from memory.dates.expressions import describe_span
from memory.errors import UnknownMemory
from memory.formatting import STORE_NAMES, clip, format_beginning, format_day, format_time, memory_date
from memory.tab.parts import render
from memory.types import SEMANTIC, SUMMARY, Memory, Session, Turn

MAX_FURTHER = 5
"""Further conversations shown that say the same."""

MAX_USES = 10
"""Answers listed that relied on the memory."""

QUOTED_LINE = re.compile(r"[^:\n]{1,80}: ")
"""How a summary begins that is made of lines that were said, each with its speaker."""


def kind_name(memory: Memory) -> str:
    """What the screen calls the kind of a memory; lines picked from a conversation do not sum it up."""
    if memory.attribute != SUMMARY:
        return STORE_NAMES[memory.store]
    return "Key lines" if QUOTED_LINE.match(memory.text) else "Summary"


def render_memory(bank: Bank, memory: Memory, reach: int) -> Markup:
    """Render the card of a memory and its origin, with `reach` turns before and after each source turn."""
    return render_card(bank, memory) + render_origin(bank, memory, reach)


def render_card(bank: Bank, memory: Memory) -> Markup:
    """Render what is known of a memory."""
    values = {name: clip(value, 400) for name, value in _values(memory, _successor(bank, memory)).items()}
    return render("memory_card.html", memory=memory, kind=kind_name(memory), values=values)


def _values(memory: Memory, successor: Memory | None) -> dict[str, str]:
    happened = describe_span(memory.event) if memory.event else ""
    if memory.event and memory.event_text:
        happened += f" (from “{memory.event_text}”)"
    valid = ""
    if memory.store in SEMANTIC and format_day(memory.valid_from) not in ("", format_day(memory.said_at)):
        valid = f"since {format_beginning(memory.valid_from)}"
    if memory.valid_to is not None:
        valid = f"from {format_day(memory.valid_from) or 'the start'} to {format_day(memory.valid_to)}"
    stale = f"a fact it depends on ended on {format_day(memory.stale_since)}" if memory.stale_since else ""
    return {
        "Speaker": memory.speaker,
        "Told to": memory.told_to,
        "About": memory.attribute,
        "Happened": happened,
        "Said": format_time(memory.said_at),
        "Recorded": format_time(memory.recorded_at),
        "Valid": valid,
        "Retracted": format_time(memory.retracted_at),
        "May be out of date": stale,
        "Replaced by": f"{successor.text} ({memory_date(successor)})" if successor else "",
        "Feeling": memory.emotion,
        "Scene": memory.scene,
    }


def _successor(bank: Bank, memory: Memory) -> Memory | None:
    if memory.superseded_by is None:
        return None
    try:
        return bank.memory(memory.persona_id, memory.superseded_by)
    except UnknownMemory:  # forgotten since
        return None


def render_origin(bank: Bank, memory: Memory, reach: int) -> Markup:
    """Render the conversation around the source turns of a memory, and the answers that relied on it."""
    uses = bank.citing_answers(memory.persona_id, memory.id, MAX_USES)
    return render("memory_origin.html", sources=render_sources(bank, memory, reach), uses=uses)


def render_sources(bank: Bank, memory: Memory, reach: int) -> Markup:
    """Render the conversations that a memory comes from, its source turns marked; the earliest first."""
    turns = bank.sources(memory.persona_id, memory.id)
    quotes, cited = bank.quotes(memory.persona_id, memory.id), {turn.id for turn in turns}
    first_turns = list({turn.session_id: turn for turn in reversed(turns)}.values())[::-1]
    transcripts = [
        render_transcript(
            bank.session(memory.persona_id, turn.session_id),
            bank.turns(memory.persona_id, turn.session_id, around=turn.position, reach=reach),
            cited,
            quotes,
        )
        for turn in first_turns[: 1 + MAX_FURTHER]
    ]
    further = len(first_turns) - 1
    return render("memory_sources.html", transcripts=transcripts, further=further, recorded_at=memory.recorded_at)


def render_transcript(
    session: Session, turns: Sequence[Turn], cited: Collection[int], quotes: Mapping[int, str] | None = None
) -> Markup:
    """Render turns of a session, in order; none render as nothing.

    `cited` are the ids of the turns to mark; `quotes`, by turn id, the words to mark inside a turn.
    """
    if not turns:
        return Markup("")
    last = turns[-1].position + 1
    place = f"turns {turns[0].position + 1} to {last} of {session.turn_count}" if len(turns) > 1 else f"turn {last}"
    parts = [session.title, format_time(session.started_at) or session.started_text, place]
    title = " · ".join(clip(part, 80) for part in parts if part)
    return render("transcript.html", title=title, turns=turns, cited=cited, quotes=quotes or {})
