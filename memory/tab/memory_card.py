"""One memory on the screen: all that is known of it, where it comes from, and which answers relied on it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape

from memory.bank.bank import Bank
from memory.dates.expressions import describe
from memory.errors import UnknownMemory
from memory.tab.views import badge, clip, count, day, happened, heading, line, minute
from memory.types import Memory, Session, Turn, Use

TELLINGS = 5
"""Further conversations that are shown in which the same was told."""

USES = 10
"""Answers that are listed under a memory that they relied on."""


def whole(bank: Bank, memory: Memory, reach: int) -> str:
    """All of it."""
    return known(bank, memory) + origin_of(bank, memory, reach)


def known(bank: Bank, memory: Memory) -> str:
    """What is known of it."""
    return detail(memory, _successor(bank, memory))


def origin_of(bank: Bank, memory: Memory, reach: int) -> str:
    """The talk around its turns, and the answers that relied on it."""
    uses = bank.uses(memory.persona_id, memory.id, USES)
    relied = heading("Answers that relied on it") + _used(uses) if uses else ""
    return heading("Where it comes from") + provenance(bank, memory, reach) + relied


def _successor(bank: Bank, memory: Memory) -> Memory | None:
    try:
        return bank.memory(memory.persona_id, memory.superseded_by) if memory.superseded_by is not None else None
    except UnknownMemory:  # forgotten since
        return None


def _used(uses: Sequence[Use]) -> str:
    rows = "".join(
        f'<li class="memoir-turn"><span class="memoir-turn-speaker">{escape(minute(use.answer.said_at))}</span>'
        f"{escape(clip(use.question))} — {escape(clip(use.answer.text))}</li>"
        for use in uses
    )
    return f'<div class="memoir-transcript">{_lines(rows, "Answers that relied on it")}</div>'


def detail(memory: Memory, successor: Memory | None = None) -> str:
    """All that is known of one memory, but where it comes from."""
    if memory.event is None:
        occurred = ""
    else:
        told = f" (told as “{memory.event_text}”)" if memory.event_text else ""
        occurred = f"{describe(memory.event)}{told}"
    holds = ""
    if memory.valid_to is not None:
        holds = f"from {day(memory.valid_from) or 'the start'} to {day(memory.valid_to)}"
    facts = {
        "Speaker": memory.speaker,
        "About": memory.attribute,
        "Happened": occurred,
        "Said": minute(memory.said_at),
        "Recorded": minute(memory.recorded_at),
        "Held": holds,
        "Taken back": minute(memory.taken_back),
        "May be out of date": f"what it rests on ended on {day(memory.stale_since)}" if memory.stale_since else "",
        "Replaced by": f"{successor.text} ({happened(successor)})" if successor else "",
        "Feeling": memory.emotion,
        "Scene": memory.scene,
    }
    rows = "".join(f"<dt>{name}</dt><dd>{escape(clip(value, 400))}</dd>" for name, value in facts.items() if value)
    head = f"{badge(memory.store)} <span>{escape(happened(memory))}</span> · <span>No. {memory.id}</span>"
    return (
        f'<div class="memoir-card"><p class="memoir-meta">{head}</p><p class="memoir-quote">{escape(memory.text)}</p>'
        f'<dl class="memoir-facts">{rows}</dl></div>'
    )


def transcript(
    session: Session, turns: Sequence[Turn], cited: Collection[int], quotes: Mapping[int, str] | None = None
) -> str:
    """Turns of a session in order, those whose ids are cited marked, and in them the words that are quoted."""
    if not turns:
        return ""
    last = turns[-1].position + 1
    where = f"turns {turns[0].position + 1} to {last} of {session.turn_count}" if len(turns) > 1 else f"turn {last}"
    parts = [session.title, minute(session.started_at) or session.started_text, where]
    heading = " · ".join(escape(clip(part, 80)) for part in parts if part)
    said = "".join(_turn(turn, (quotes or {}).get(turn.id, ""), marked=turn.id in cited) for turn in turns)
    lines = _lines(said, "What was said around it")
    return f'<div class="memoir-transcript"><p class="memoir-meta">{heading}</p>{lines}</div>'


def _lines(rows: str, name: str) -> str:
    """Lines that scroll in themselves: those who have no mouse scroll them once they are focused."""
    return f'<ol tabindex="0" aria-label="{name}">{rows}</ol>'


def _turn(turn: Turn, words: str, *, marked: bool) -> str:
    name = "memoir-turn memoir-turn-cited" if marked else "memoir-turn"
    speaker = f'<span class="memoir-turn-speaker">{escape(turn.speaker)}</span>' if turn.speaker else ""
    before, quote, after = turn.text.partition(words) if words and words != turn.text else (turn.text, "", "")
    quoted = f"<mark>{escape(quote)}</mark>" if quote else ""
    return f'<li class="{name}">{speaker}{escape(before)}{quoted}{escape(after)}</li>'


def provenance(bank: Bank, memory: Memory, reach: int) -> str:
    """The conversation around the turns that a memory was drawn from, these marked."""
    turns = bank.sources(memory.persona_id, memory.id)
    if not turns:
        alone = f"No conversation stands behind this. It was brought in as it is on {day(memory.recorded_at)}."
        return f'<div class="memoir-transcript">{line(alone)}</div>'
    quotes, cited = bank.quotes(memory.persona_id, memory.id), {turn.id for turn in turns}
    first, *further = list({turn.session_id: turn for turn in reversed(turns)}.values())[::-1]

    def told(turn: Turn) -> str:
        around = bank.turns(memory.persona_id, turn.session_id, around=turn.position, reach=reach)
        return transcript(bank.session(memory.persona_id, turn.session_id), around, cited, quotes)

    again = "".join(told(turn) for turn in further[:TELLINGS])
    also = f"Said in {count(len(further), 'other conversation')}, too"
    folded = f'<details class="memoir-earlier"><summary>{also}</summary>{again}</details>' if again else ""
    return told(first) + folded
