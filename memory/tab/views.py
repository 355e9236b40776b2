"""How memories, transcripts and import reports look: HTML in which every text that came from outside is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape

from memory.dates.expressions import describe
from memory.forgetting.forget import Forgotten
from memory.ingest import Contents, Found, HistoryReport, Report
from memory.progress import Task
from memory.types import STORES, Memory, Skip, Store

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


def duration(seconds: float) -> str:
    """A stretch of time for people: "40 s", "3 min", "2 h 5 min"."""
    if seconds < 100:
        return f"{max(1, round(seconds)):,} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def bar(steps: Sequence[str], share: float, label: str) -> str:
    """How far something is, 0..1, under what is said of it in HTML; `label` is for those who do not see the bar."""
    return (
        f'<div class="memoir-going" role="status"><p>{" · ".join(steps)}</p>'
        f'<progress max="1" value="{share:.4f}" aria-label="{escape(label)}">{share:.0%}</progress></div>'
    )


def going(doing: str, task: Task) -> str:
    """How far a piece of work is, with the time left."""
    steps = [f"<strong>{escape(doing)}</strong>", f"{task.share:.0%}"]
    if task.uncancellable:
        steps.append("forgotten; the file is being cleaned, which cannot be stopped")
    elif task.cancelled:
        steps.append("stopping…")
    if not task.cancelled and task.seconds_left is not None:
        steps.append(f"{duration(task.seconds_left)} left")
    return bar(steps, task.share, doing)


def heading(text: str) -> str:
    """A heading within a panel."""
    return f'<h2 class="memoir-heading">{escape(text)}</h2>'


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
    first = "".join(f"<li>{escape(clip(text, 160))}</li>" for text in preview.lines)
    shown = f'<ul class="memoir-going">{first}</ul>' if first else ""
    more = max(preview.turns, preview.memories) > len(preview.lines)
    return (
        f'<div class="memoir-report"><p><strong>Forget this for good?</strong> It removes {along}, '
        f"with everything the search knows of them. This cannot be undone.</p>{shown}"
        f"{'<p>… and the rest of it.</p>' if shown and more else ''}</div>"
    )


def forgotten(gone: Forgotten) -> str:
    """What was forgotten, and whether any of it is left."""
    proof = f"{count(gone.residue, 'trace')} left in the file" if gone.residue else "0 traces left in the file"
    remedy = "" if not gone.residue else " Please report this as a fault."
    copies = "".join(
        f"<p>A bank that a restore kept still holds some of it: {escape(str(path))}. Delete that file, too.</p>"
        for path in gone.copies
    )
    return (
        f'<div class="memoir-report" role="status"><p>Forgotten: {_removed(gone)}; {proof}.{remedy}</p>{copies}</div>'
    )


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
