"""What a persona is told about itself once it exists."""

from __future__ import annotations

from memory.bank import rows
from memory.bank.bank import Bank
from memory.errors import UnknownPersona
from memory.types import Persona


def set_proactive(bank: Bank, persona_id: int, *, proactive: bool) -> Persona:
    """Say whether it may bring up a memory that nobody asked for.

    Raises:
        UnknownPersona: there is none of that number.
    """
    with bank.writing() as db:
        db.execute("UPDATE personas SET proactive = ? WHERE id = ?", [int(proactive), persona_id])
        found = list(db.query("SELECT * FROM personas WHERE id = ?", [persona_id]))
        if not found:
            raise UnknownPersona(f"no persona {persona_id} in {bank.path}")
        return rows.persona(found[0])
