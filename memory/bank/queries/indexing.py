"""Read and write the rows that search is built from, and how far the bank is: what was read may be older.

`db` is a connection of the caller's, so that all that is read belongs to one state of the bank. `after` and `before`
bound the ids of memories; both are exclusive.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlite_utils import Database

from memory import named_queries
from memory.bank.queries.memories import persona_list

SQL = named_queries(__file__)


@dataclass(frozen=True, slots=True)
class BankState:
    """How often the bank was written to, how many rows were changed or deleted, the id of the newest vector, and the id
    and time of the last entry of the journal.
    """

    revision: int
    rewritten: int
    newest_vector: int
    entry: int
    entry_at: str | None

    @classmethod
    def read(cls, db: Database) -> "BankState":
        """The state of the bank now."""
        return cls(*db.conn.execute(SQL["bank_state"]).fetchone())

    def precedes(self, db: Database, state: "BankState") -> bool:
        """Whether the bank went on from this state to that of now, and its file was not replaced by another bank's."""
        query = "SELECT at FROM journal WHERE id = ?"
        same = self.entry == 0 or db.conn.execute(query, (self.entry,)).fetchone() == (self.entry_at,)
        return same and self.revision <= state.revision


def index_terms(db: Database, personas: Sequence[int]) -> list[list[str]]:
    """The index terms of each memory of personas, of one after the other in order of id."""
    query = "SELECT terms FROM memories WHERE persona_id = ? ORDER BY id"
    return [str(terms).split() for persona in personas for (terms,) in db.conn.execute(query, (persona,))]


def pinned_ids(db: Database, persona_id: int, limit: int) -> list[int]:
    """Ids of at most `limit` memories that the user pinned."""
    query = "SELECT id FROM memories WHERE persona_id = ? AND pinned LIMIT ?"
    return [memory_id for (memory_id,) in db.conn.execute(query, (persona_id, limit))]


def ids_of_attribute(db: Database, personas: Sequence[int], attribute: str) -> list[int]:
    """Ids of the memories of personas that have an attribute, such as `QUESTION`."""
    query = SQL["of_attribute"].format(personas=persona_list(personas))
    return [memory_id for (memory_id,) in db.conn.execute(query, (attribute,))]


def newest_keys_without_vector(
    db: Database, model: str, persona_id: int, after: int, before: int, limit: int
) -> list[tuple[int, str, str]]:
    """(memory id, key hash, key) of the newest memories that have no vector of a model, newest first."""
    query = f"SELECT m.id, m.key_hash, m.key {SQL['without_vector']} ORDER BY m.id DESC LIMIT ?"
    return db.conn.execute(query, (persona_id, after, before, model, limit)).fetchall()


def hashes_without_vector(db: Database, model: str, persona_id: int, after: int, before: int) -> set[str]:
    """Hashes of the keys that have no vector of a model."""
    query = f"SELECT m.key_hash {SQL['without_vector']}"
    return {key_hash for (key_hash,) in db.conn.execute(query, (persona_id, after, before, model))}


def store_vectors(db: Database, model: str, vectors: Mapping[str, bytes]) -> None:
    """Store vectors by the hash of their key, except those whose key was deleted while they were computed."""
    db.conn.executemany(SQL["insert_vector"], [(model, key_hash, vector) for key_hash, vector in vectors.items()])
