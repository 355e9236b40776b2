"""How far a bank is, so that what was read of it can be told from what it holds now."""

from dataclasses import dataclass

from sqlite_utils import Database

_BANK_STATE = """
SELECT value, rewritten, (SELECT coalesce(max(id), 0) FROM vectors), coalesce(j.id, 0), j.at
FROM revision LEFT JOIN journal j ON j.id = (SELECT max(id) FROM journal)
"""


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
        return cls(*db.conn.execute(_BANK_STATE).fetchone())

    def precedes(self, db: Database, state: "BankState") -> bool:
        """Whether the bank went on from this state to that of now, and its file was not replaced by another bank's."""
        query = "SELECT at FROM journal WHERE id = ?"
        same = self.entry == 0 or db.conn.execute(query, (self.entry,)).fetchone() == (self.entry_at,)
        return same and self.revision <= state.revision
