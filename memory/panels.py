"""How memories, transcripts and import reports look: HTML in which every text that came from outside is escaped."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from html import escape

from memory.bank import Bank
from memory.forget import Forgotten
from memory.ingest import Contents, Found, HistoryReport, Report
from memory.timespan import describe
from memory.types import STORES, Memory, Session, Skip, Store, Turn

STORE_NAMES: Mapping[Store, str] = {
    "profile": "Profile",
    "relationship": "Relationship",
    "world": "World",
    "event": "Event",
    "dialogue": "Conversation",
}
"""What the screen calls the stores."""

CLIPPED = 220
"""Characters of a memory that a table shows."""


def day(moment: datetime | None) -> str:
    """A day for people, in the moment's own zone: "13 May 2026"; empty for none."""
    return f"{moment.day} {moment:%B %Y}" if moment else ""


def minute(moment: datetime | None) -> str:
    """A moment for people: "13 May 2026, 20:32"; midnight is taken for a day of unknown hour."""
    if moment is None:
        return ""
    return day(moment) if (moment.hour, moment.minute) == (0, 0) else f"{day(moment)}, {moment:%H:%M}"


TELLINGS = 5
"""Further conversations that are shown in which the same was told."""


def happened(memory: Memory) -> str:
    """When a memory happened, or was said where that is not known."""
    return describe(memory.event) if memory.event else day(memory.said_at) or "no date"


def clip(text: str, room: int = CLIPPED) -> str:
    """A text on one line, cut at a word."""
    line = " ".join(text.split())
    return line if len(line) <= room else line[:room].rsplit(" ", 1)[0] + "…"


def count(n: int, one: str, many: str = "") -> str:
    """A number with its noun: "1 turn", "2,760 memories"."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def badge(store: Store) -> str:
    """The label of a store."""
    return f'<span class="memoir-badge memoir-badge-{store}">{STORE_NAMES[store]}</span>'


def empty(title: str, remedy: str) -> str:
    """What stands where there is nothing yet."""
    return f'<div class="memoir-empty"><strong>{escape(title)}</strong><span>{escape(remedy)}</span></div>'


def line(text: str) -> str:
    """A quiet line of explanation, or nothing."""
    return f'<p class="memoir-meta" role="status">{escape(text)}</p>' if text else ""


def problem(text: str) -> str:
    """What did not work, and what to do."""
    return f'<div class="memoir-report memoir-report-bad" role="alert"><p>{escape(text)}</p></div>'


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
    return f'<div class="memoir-transcript"><p class="memoir-meta">{heading}</p><ol>{said}</ol></div>'


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


def heading(text: str) -> str:
    """A heading within a panel."""
    return f'<h3 class="memoir-heading">{escape(text)}</h3>'


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


def totals(counts: Mapping[str, int]) -> str:
    """How much a persona knows, by store."""
    known = sum(counts.get(store, 0) for store in STORES)
    if not known and not counts.get("turns"):
        return empty("Nothing remembered yet", "Tell the persona something in Chat, or bring in a history there.")
    stores = "".join(f"<span>{badge(store)} {counts[store]:,}</span>" for store in STORES if counts.get(store))
    told = f"{count(counts['sessions'], 'conversation')}, {count(counts['turns'], 'turn')}"
    return (
        f'<div class="memoir-totals"><p class="memoir-meta"><strong>{count(known, "memory", "memories")}</strong> '
        f"from {told}</p><p>{stores}</p></div>"
    )


def forgetting(preview: Forgotten) -> str:
    """What forgetting would take along, for the question whether to go on."""
    along = _removed(preview)
    return (
        f'<div class="memoir-report"><p><strong>Forget this for good?</strong> It removes {along}, '
        "with everything the search knows of them. This cannot be undone.</p></div>"
    )


def forgotten(gone: Forgotten) -> str:
    """What was forgotten, and whether any of it is left."""
    proof = f"{count(gone.residue, 'trace')} left in the file" if gone.residue else "0 traces left in the file"
    remedy = "" if not gone.residue else " Please report this as a fault."
    return f'<div class="memoir-report" role="status"><p>Forgotten: {_removed(gone)}; {proof}.{remedy}</p></div>'


def _removed(gone: Forgotten) -> str:
    parts = [count(gone.memories, "memory", "memories"), count(gone.turns, "turn")]
    if gone.sessions:
        parts.append(count(gone.sessions, "whole conversation"))
    return ", ".join(parts)


def history_name(found: Found) -> str:
    """One history of a file, to choose it by."""
    names = " · ".join(dict.fromkeys(n for n in (found.name, found.external_id) if n))
    return f"{clip(names, 80)} ({count(found.sessions, 'session')}, {count(found.turns, 'turn')})"


def contents(name: str, held: Contents) -> str:
    """What a dropped file holds."""
    first = min((h.first for h in held.histories if h.first), default=None)
    last = max((h.last for h in held.histories if h.last), default=None)
    figures = [
        count(len(held.histories), "history", "histories"),
        count(sum(h.sessions for h in held.histories), "session"),
        count(sum(h.turns for h in held.histories), "turn"),
    ]
    if memories := sum(h.memories for h in held.histories):
        figures.append(count(memories, "memory", "memories"))
    span = f", {day(first)} to {day(last)}" if first and last else ""
    notes = _skips(held.skips, held.skipped) + _fault(held.fault)
    return (
        f'<div class="memoir-report" role="status"><p><strong>{escape(name)}</strong> is in the format of '
        f"{escape(held.format)} and holds {', '.join(figures)}{span}.</p>{notes}</div>"
    )


def report(name: str, done: Report) -> str:
    """What became of an imported file."""
    histories = "".join(_history(h) for h in done.histories)
    return (
        f'<div class="memoir-report" role="status"><p><strong>{escape(name)}</strong> was imported '
        f"({escape(done.format)}).</p>{histories}{_fault(done.fault)}</div>"
    )


def _history(h: HistoryReport) -> str:
    rows: dict[str, tuple[int | None, ...]] = {
        # A file of dialogues names no memories: each turn becomes one.
        "Found": (h.found_sessions, h.found_turns, h.found_memories or None),
        "Stored": (h.stored.sessions, h.stored.turns, h.stored.memories),
        "Known before": (None, h.stored.known_turns, h.stored.known_memories),
    }
    cells = {
        name: "".join(f"<td>{'' if n is None else format(n, ',')}</td>" for n in row) for name, row in rows.items()
    }
    body = "".join(f"<tr><th>{name}</th>{row}</tr>" for name, row in cells.items())
    return (
        f"<p><strong>{escape(h.persona.name)}</strong></p><table><tr><th></th><th>sessions</th><th>turns</th>"
        f"<th>memories</th></tr>{body}</table>{_skips(h.skips, h.skipped)}"
    )


def _skips(listed: Sequence[Skip], skipped: int) -> str:
    if not skipped:
        return ""
    items = "".join(f"<li>{escape(s.place)}: {escape(s.reason)}</li>" for s in listed)
    more = f"<li>… and {skipped - len(listed):,} more</li>" if skipped > len(listed) else ""
    title = f"{count(skipped, 'note')} on what is left out or needs a look"
    return f"<details><summary>{title}</summary><ul>{items}{more}</ul></details>"


def _fault(fault: str) -> str:
    return f"<p><strong>The file breaks off:</strong> {escape(fault)}</p>" if fault else ""
