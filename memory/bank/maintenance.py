"""Verify that derived data agrees with the rows, and rebuild it."""

import numpy as np

from memory.bank import rows
from memory.bank.bank import Bank
from memory.bank.rows import index_terms
from memory.search import indexer


def verify(bank: Bank, model: str) -> list[str]:
    """A description of each fault of a bank; empty if there is none."""
    with bank.reading() as db:
        conn = db.conn
        faults = [f"file: {m}" for (m,) in conn.execute("PRAGMA integrity_check") if m != "ok"]
        faults += [
            f"{table} {row}: points to a missing row of {parent}"
            for table, row, parent, _ in conn.execute("PRAGMA foreign_key_check")
        ]
        for memory_id, key, key_hash, terms, speaker in conn.execute(
            "SELECT id, key, key_hash, terms, speaker FROM memories"
        ):
            if rows.digest(key) != key_hash:
                faults.append(f"memory {memory_id}: its key was changed without the index; rebuild repairs it")
            elif index_terms(speaker, key) != terms:
                faults.append(
                    f"memory {memory_id}: its words in the index are not those of its key; rebuild repairs it"
                )
        stray = conn.execute(
            "SELECT count(*) FROM vectors WHERE key_hash NOT IN (SELECT key_hash FROM memories)"
        ).fetchone()[0]
        if stray:
            faults.append(f"vectors: {stray} belong to no memory; rebuild removes them")
        sizes = conn.execute("SELECT DISTINCT length(vector) FROM vectors WHERE model = ?", (model,)).fetchall()
        if len(sizes) > 1:
            faults.append(f"vectors: {model} has vectors of {len(sizes)} different lengths; rebuild makes them again")
        elif sizes:
            faults += indexer.check_segments(db, model, sizes[0][0] // np.dtype(np.float32).itemsize)
    return faults


def rebuild(bank: Bank) -> None:
    """Rebuild the index words from the rows; the indexer then makes vectors and segments again."""
    with bank.writing() as db:
        fresh = [
            (rows.digest(key), index_terms(speaker, key), memory_id)
            for memory_id, key, speaker in db.conn.execute("SELECT id, key, speaker FROM memories")
        ]
        db.conn.executemany("UPDATE memories SET key_hash = ?, terms = ? WHERE id = ?", fresh)
        db.conn.execute("DELETE FROM vectors")
        db.conn.execute("DELETE FROM segments")
