"""Forget for good: delete rows, index entries, vectors and the bytes in the file.

A memory goes along with the turns it came from, or its words would be found again. With those turns go the memories
that have no other source, and the persona's replies that repeat them. The bank's triggers delete the vector, unless
another memory has the same text, and the packed segment of the index. SQLite overwrites what it frees (secure_delete),
except for old pages in the write-ahead log; so the log is emptied, and then the bytes of all files are searched.
Exports that wait for download are deleted, and so is what a killed backup, restore or export left beside the bank, and
an upload that waits to be imported and contains any of it. A bank that a restore kept is not, but it is named if it
contains any of it.
"""

import json
import subprocess
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from sqlite_utils import Database

from memory.bank import facts, journal
from memory.bank.backup import KEPT_SUFFIX
from memory.bank.bank import Bank
from memory.bank.connection import REFUSALS
from memory.bank.queries import deletion
from memory.bank.queries.deletion import Selection, Selector, select_memories
from memory.bank.queries.memories import visible_personas
from memory.bank.rows import json_list
from memory.bank.unfinished import delete_unfinished, find_unfinished
from memory.errors import BankUnavailable, UnreadableFile
from memory.exporting import downloads
from memory.forgetting import byte_search
from memory.formatting import format_counts
from memory.importers.detect import unpack
from memory.progress import Progress, Task, rescale, without_progress

MIN_PROOF_CHARACTERS = 12
"""A shorter text may occur in a file, or in another text, by chance: finding it proves nothing."""

MAX_TEXTS_SEARCHED = 1000
"""The most texts to search the bank and its copies for; from more, an even sample is taken."""

PREVIEW_LINES = 12
"""Lines that a preview shows of what would be deleted."""

ROWS_PER_STATEMENT = 1000
"""Rows deleted by one statement, which takes some tenths of a second."""

SHARE_SELECTED, SHARE_DELETED = 0.25, 0.75
"""The shares of the time spent when everything to delete is found, and when it is deleted."""


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """How many rows were deleted, or would be.

    `residue` counts the deleted texts that still occur in the bank's files; `lines` are, in a preview, the first turns
    and memories that would go; `uploads` are the files that wait to be imported and contain any of it, which go, too;
    `copies` are the files beside the bank that still contain deleted texts: banks kept by a restore, and unfinished
    copies that cannot be deleted.
    """

    memories: int = 0
    turns: int = 0
    sessions: int = 0
    residue: int = 0
    lines: tuple[str, ...] = ()
    copies: tuple[Path, ...] = ()
    uploads: tuple[Path, ...] = ()

    @property
    def about_uploads(self) -> str:
        """The uploads that go, in a sentence; empty if there are none."""
        names = ", ".join(path.name for path in self.uploads)
        about = f"Deleted as well, since they contain some of it: uploads that wait to be imported ({names})."
        return about if names else ""

    def __add__(self, other: "ForgetReport") -> "ForgetReport":
        both = ForgetReport(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))
        return replace(both, lines=both.lines[:PREVIEW_LINES], uploads=tuple(dict.fromkeys(both.uploads)))


def preview_selected(bank: Bank, personas: Sequence[int], select: Selector, task: Task | None = None) -> ForgetReport:
    """Report what forgetting a selection of the personas would delete, with its first lines."""
    task, planned = task or Task(), ForgetReport()
    with bank.reading() as db, task.interruptible(db.conn):
        for nth, persona_id in enumerate(personas):
            task.report(nth / len(personas))
            selected = _add_dependants(db, persona_id, select(db, persona_id))
            texts = deletion.run(db, "first_texts", selected, limit=PREVIEW_LINES)
            lines = tuple(f"{speaker}: {text}" if speaker else text for speaker, text in texts)
            uploads = _find_uploads(bank, _provable(deletion.run_column(db, "texts", selected, replies=True)))
            planned += ForgetReport(**selected.counts, lines=lines, uploads=uploads)
    return planned


def forget_memories(bank: Bank, persona_id: int, memory_ids: Sequence[int]) -> ForgetReport:
    """Delete memories of a persona, the turns they came from, and what came from those turns alone."""
    return forget_selected(bank, [persona_id], select_memories(memory_ids))


def forget_selected(bank: Bank, personas: Sequence[int], select: Selector, task: Task | None = None) -> ForgetReport:
    """Delete a selection of the personas, what came from its turns alone, and the replies that repeat any of it.

    Raises:
        Cancelled: the task was cancelled while it could be; nothing was removed.
    """
    task, report, texts = task or Task(), ForgetReport(), set[str]()
    with bank.writing() as db:
        with task.interruptible(db.conn):
            for nth, persona_id in enumerate(personas):
                share = SHARE_DELETED / len(personas)
                progress = rescale(task.report, share * nth, share * (nth + 1))
                report += _delete_selected(db, persona_id, select, texts, progress)
        task.make_uncancellable()
    return _clean_and_verify(bank, report, texts, rescale(task.report, SHARE_DELETED, 1))


def _delete_selected(db: Database, persona: int, select: Selector, texts: set[str], progress: Progress) -> ForgetReport:
    """Delete a selection of a persona with its dependants; adds the deleted texts to `texts`."""
    progress(0)
    selected = _add_dependants(db, persona, select(db, persona))
    texts.update(
        deletion.run_column(db, "texts", selected, replies=True), deletion.run_column(db, "card_and_titles", selected)
    )
    progress(SHARE_SELECTED)
    for memory_id in sorted(selected.memories, reverse=True):
        facts.undo_effects(db, memory_id)
    deletion.run(db, "clear_titles", selected)
    deletion.run(db, "requeue_sessions", selected)
    _delete(db, "memories", selected.memories, rescale(progress, SHARE_SELECTED, 0.9))
    deletion.run(db, "move_shared_memories", selected)
    _delete(db, "turns", selected.turns, rescale(progress, 0.9, 1))
    _delete(db, "sessions", selected.sessions)
    _delete(db, "personas", selected.personas)
    journal.record(db, "forgot", persona, selected.counts, selected.memories)
    return ForgetReport(**selected.counts)


def _add_dependants(db: Database, persona_id: int, selected: Selection) -> Selection:
    """Add to a selection the memories that lose their last source, the replies that repeat it and emptied sessions.

    What was only asked goes with the reply to it.
    """
    selected = _add_orphans(db, selected)
    selected = replace(selected, turns=sorted({*selected.turns, *_repeating_replies(db, persona_id, selected)}))
    questions = deletion.run_column(db, "own_questions", selected)
    selected = _add_orphans(db, replace(selected, turns=sorted({*selected.turns, *questions})))
    emptied = deletion.run_column(db, "emptied_sessions", selected)
    return replace(selected, sessions=sorted({*selected.sessions, *emptied}))


def _add_orphans(db: Database, selected: Selection) -> Selection:
    orphans = deletion.run_column(db, "orphaned_memories", selected)
    return replace(selected, memories=sorted({*selected.memories, *orphans}))


def _repeating_replies(db: Database, persona_id: int, selected: Selection) -> list[int]:
    """The replies that cite one of the memories or, of those who know it, answer a turn or contain what was told."""
    # Not those of replies: another may say the same ("I see.") of something else.
    texts = _provable(deletion.run_column(db, "texts", selected, replies=False))
    search = byte_search.TextSearch([text.encode() for text in texts])
    personas = json_list(visible_personas(db, persona_id))
    replies = deletion.run(db, "other_replies", selected, knowing=personas)
    return [turn_id for turn_id, text, refers in replies if refers or search.find_in(text.encode())]


def _delete(db: Database, table: str, ids: Sequence[int], progress: Progress = without_progress) -> None:
    for first in range(0, len(ids), ROWS_PER_STATEMENT):
        deletion.delete_rows(db, table, ids[first : first + ROWS_PER_STATEMENT])
        progress(min(1.0, (first + ROWS_PER_STATEMENT) / len(ids)))


def _clean_and_verify(bank: Bank, report: ForgetReport, texts: set[str], progress: Progress) -> ForgetReport:
    """Delete old copies, and search the bank's files for texts that no row contains any more; the rows are gone.

    Raises:
        BankUnavailable: the disk failed; the message says that the rows are deleted, and what may be left.
    """
    folder, provable = bank.path.parent, _provable(texts)
    sample = provable[:: -(-len(provable) // MAX_TEXTS_SEARCHED) or 1]
    try:
        downloads.delete_all(bank.path)  # first, so that an export that is being written fails
        delete_unfinished(folder)
        with bank.reading() as db:
            deletion.empty_log(db)
        uploads = _find_uploads(bank, provable)
        for upload in uploads:
            upload.unlink(missing_ok=True)
        left = _absent_from_rows(bank, find_in_bank(bank.path, sample))
        kept = sorted([*folder.glob(f"{bank.path.name}{KEPT_SUFFIX}*"), *find_unfinished(folder)])
        copies = tuple(path for path in kept if byte_search.find_in_file(path, sample))
    except (BankUnavailable, OSError) as fault:
        deleted = format_counts({"memories": report.memories, "turns": report.turns})
        message = REFUSALS["uncleaned"].format(path=bank.path, deleted=deleted, cause=fault.__cause__ or fault)
        raise BankUnavailable(message) from fault
    progress(1.0)
    return replace(report, residue=len(left), copies=copies, uploads=uploads)


def _provable(texts: Collection[str]) -> list[str]:
    return sorted(text for text in texts if len(text) >= MIN_PROOF_CHARACTERS)


def _find_uploads(bank: Bank, texts: Collection[str]) -> tuple[Path, ...]:
    """The files of the bank's user that wait to be imported and contain one of the texts."""
    return tuple(path for path in downloads.waiting_uploads(bank.path) if _is_in_upload(path, texts))


def _absent_from_rows(bank: Bank, texts: Iterable[str]) -> list[str]:
    """The texts that no row of the bank contains."""
    left = list(texts)
    with bank.reading() as db:
        for (stored,) in deletion.run(db, "all_texts"):
            if len(stored) >= MIN_PROOF_CHARACTERS:
                left = [text for text in left if text not in stored]
            if not left:
                break
    return left


def find_in_bank(bank: Path, texts: Collection[str]) -> set[str]:
    """The texts whose bytes occur in a bank's file, its write-ahead log or the log's index.

    Another process reads them. If this one did, closing a file would drop the locks of all its connections to it, and
    whoever else opened the bank would delete the log that they write to (https://sqlite.org/howtocorrupt.html, 2.2).

    Raises:
        OSError: a file cannot be read.
    """
    if not texts:
        return set()
    files = [str(bank.absolute()) + suffix for suffix in ("", "-wal", "-shm")]
    done = subprocess.run(  # in a session of its own: Ctrl-C does not end it
        [sys.executable, "-m", byte_search.__name__, *files],
        input=json.dumps(list(texts)),
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        start_new_session=True,
        check=False,
    )
    if done.returncode:
        raise OSError(f"{bank} could not be searched: {done.stderr.strip().rpartition(chr(10))[2]}")
    return set(json.loads(done.stdout))


def _is_in_upload(path: Path, texts: Collection[str]) -> bool:
    """Whether one of the texts occurs in what would be imported of a file, as it stands or as JSON spells it."""
    in_json = (json.dumps(text, ensure_ascii=ascii_only)[1:-1] for text in texts for ascii_only in (False, True))
    spelled = {*texts, *in_json}
    try:
        return any(byte_search.find_in_file(source, spelled) for source in unpack(path).sources)
    except UnreadableFile:  # of no known format, it may be text all the same
        return bool(byte_search.find_in_file(path, spelled))
