"""Verify what was said against its content hashes, and derived data against the rows; rebuild derived data."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import numpy as np
from sqlite_utils import Database

from memory import named_queries
from memory.bank import rows, schema
from memory.bank.bank import Bank
from memory.bank.connection import REFUSALS
from memory.bank.rows import index_terms
from memory.search import indexer
from memory.types import TurnDraft

SQL = named_queries(__file__)

MAX_REPEATS, MAX_PARTS, MAX_PERIODS = 1000, 300, 100
"""How many numbers are tried where an identity has one: of a turn among those of its session with the same words, of a
part of a long message, and of a period of a fact."""


def verify(bank: Bank, model: str) -> list[str]:
    """A description of each fault of a bank; empty if there is none."""
    checks: dict[str, Callable[[Database], Iterable[str]]] = {
        "file": lambda db: (f"file: {line}" for (line,) in db.conn.execute("PRAGMA integrity_check") if line != "ok"),
        "schema": lambda db: (
            *(f"{part}: no Memoir made it; restore a backup" for part in schema.foreign_parts(db.conn)),
            *(f"{part}: is missing; restore a backup" for part in schema.missing_parts(db.conn)),
        ),
        "links": lambda db: (
            f"{table} {row}: points to a missing row of {parent}"
            for table, row, parent, _ in db.conn.execute("PRAGMA foreign_key_check")
        ),
        "digests": lambda db: (
            f"{table} {ids}: {REFUSALS['revision' if table == 'revision' else 'value']}"
            for table, ids in schema.wrong_digests(db.conn)
        ),
        "turns": _check_turns,
        "quotes": lambda db: (
            f"memory {memory_id}: turn {turn_id} does not contain its quote; restore a backup"
            for memory_id, turn_id in db.conn.execute(SQL["wrong_quotes"])
        ),
        "memories": _check_memories,
        "vectors": lambda db: _check_vectors(db, model),
    }
    faults: list[str] = []
    with bank.reading() as db:
        # A changed byte may leave no UTF-8; it is to be found, not to end the search.
        db.conn.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        for name, check in checks.items():
            try:
                faults.extend(check(db))
            except Exception as fault:  # damaged bytes raise anything; the other checks still run
                faults.append(f"{name}: damaged, not checked any further ({fault})")
    return faults


def _check_turns(db: Database) -> Iterator[str]:
    """The turns whose words, speaker or source id are not those that their identity was made of."""
    # Turns that say the same are numbered as they came; one is looked for from the number after the last one found.
    following: Counter[tuple[int, str]] = Counter()
    query = "SELECT id, session_id, identity, speaker, role, text, external_id FROM turns ORDER BY id"
    for turn_id, session_id, identity, speaker, role, text, external_id in db.conn.execute(query):
        turn = TurnDraft(speaker, role, text, external_id=external_id)
        same = session_id, rows.turn_identity(turn, 0)
        numbers = chain(range(following[same], following[same] + MAX_REPEATS), range(following[same]))
        nth = next((n for n in numbers if rows.turn_identity(turn, n) == identity), None)
        if nth is None:
            yield f"turn {turn_id} of session {session_id}: its words or speaker were changed; restore a backup"
        else:
            following[same] = nth + 1


def _check_memories(db: Database) -> Iterator[str]:
    """The memories that are not what their turn says, or differ from their key, its hash or their index words."""
    for row in db.query(SQL["memories"]):
        number, key = row["id"], row["key"]
        if _is_changed(row):
            yield f"memory {number}: its text, speaker or time was changed, or those of its turn; restore a backup"
        if rows.digest(key) != row["key_hash"]:
            yield f"memory {number}: its key was changed without the index; rebuild repairs it"
        elif index_terms(row["speaker"], key) != row["terms"]:
            yield f"memory {number}: its words in the index are not those of its key; rebuild repairs it"


def _is_changed(row: rows.Row) -> bool:
    """Whether the text of a memory is surely not the one that was stored.

    An utterance has the time of its turn, and its text, or that of the part it quotes. Any other memory has an identity
    made of its text, if nobody edited it; where that identity fits the key but not the text, the text was changed.
    """
    of_turn = (rows.part_identity(row["session_id"], row["turn_identity"], part) for part in range(MAX_PARTS))
    if row["turn_identity"] and row["identity"] in of_turn:
        return [row[c] for c in ("text", "speaker", "said_at")] != [row[c] for c in ("said", "said_by", "said_when")]
    if row["text"] == row["key"]:
        return False
    original = rows.memory_draft({**row, "text": row["key"]})
    made = (rows.memory_identity(original), *(rows.learned_identity(original, n) for n in range(MAX_PERIODS)))
    return row["identity"] in made


def _check_vectors(db: Database, model: str) -> Iterator[str]:
    if stray := db.conn.execute(SQL["stray_vectors"]).fetchone()[0]:
        yield f"vectors: {stray} belong to no memory; rebuild removes them"
    sizes = db.conn.execute("SELECT DISTINCT length(vector) FROM vectors WHERE model = ?", (model,)).fetchall()
    if len(sizes) > 1:
        yield f"vectors: {model} has vectors of {len(sizes)} different lengths; rebuild makes them again"
    elif sizes:
        yield from indexer.check_segments(db, model, sizes[0][0] // np.dtype(np.float32).itemsize)


def rebuild(bank: Bank) -> None:
    """Rebuild the index words from the rows; the indexer then makes vectors and segments again."""
    with bank.writing() as db:
        db.conn.create_function("digest_of", 1, rows.digest)
        db.conn.create_function("terms_of", 2, index_terms)
        db.conn.execute("UPDATE memories SET key_hash = digest_of(key), terms = terms_of(speaker, key)")
        db.conn.execute("DELETE FROM vectors")
        db.conn.execute("DELETE FROM segments")
        schema.renew_digests(db.conn, ["revision"])
