"""Change what was said, letter by letter and bit by bit, and see that verifying the bank finds it."""

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from sqlite_utils import Database

from memory.bank.bank import Bank
from memory.bank.maintenance import verify
from memory.embedding.embedder import DEFAULT_MODEL
from memory.errors import MemoirError
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, SessionDraft, TurnDraft
from support.bad_input import MAY
from tests.torture.outcome import Outcome

SAID = {"turns": ("text", "speaker"), "memories": ("text", "speaker"), "sources": ("quote",)}
"""The columns that hold what was said, or what was learned from it."""

KEYS = {"turns": "id", "memories": "id", "sources": "memory_id * 1000 + turn_id"}
"""The number of a row, by table."""

LETTERS = "abcdefghijklmnopqrstuvwxyzàé中 "

KINDS = ("missed", "uncaught")

Said = dict[tuple[str, str, int], str]
"""By table, column and row."""


def run(seconds: float, chance: Random, folder: Path) -> Iterator[Outcome]:
    """Every letter once, or as many as the time allows; then bits of the file."""
    bank = make_bank(folder)
    yield flip_letters(bank, chance, time.monotonic() + seconds / 2)
    yield flip_bits(bank, chance, time.monotonic() + seconds / 2)


def make_bank(folder: Path) -> Bank:
    """A bank with turns, repeated turns, facts with quotes, and memories that nobody said."""
    bank = Bank(folder / "bank.db")
    ana = bank.create_persona(PersonaDraft("Ana"))
    lives = LearnedMemory(MemoryDraft("profile", "Noor lives in Porto", said_at=MAY), (Quote(0, "I live in Porto"),))
    said = (
        "I live in Porto, by the river.",
        "Yes.",
        "Yes.",
        "My sister Zoë came on Sunday.",
        "她喜欢喝茶。",
        "O'Hara said: “no”!",
    )
    turns = tuple(TurnDraft(("Noor", "Ana")[n % 2], ("user", "assistant")[n % 2], text) for n, text in enumerate(said))
    bank.remember(ana.id, [SessionDraft(turns, MAY, external_id="a", title="Porto", learned=(lives,))])
    bank.add_memories(
        ana.id, [MemoryDraft("event", "Noor won the regatta.", said_at=MAY), MemoryDraft("world", "Rain")]
    )
    assert verify(bank, DEFAULT_MODEL) == []
    return bank


def said_in(db: Database) -> Said:
    """All that was said."""
    columns = [(table, column) for table, names in SAID.items() for column in names]
    return {
        (table, column, row): text
        for table, column in columns
        for row, text in db.conn.execute(f"SELECT {KEYS[table]}, {column} FROM {table}")
    }


def flip_letters(bank: Bank, chance: Random, ends: float) -> Outcome:
    """Replace each letter by another one, in random order; each must be found."""
    outcome = Outcome("flips of letters", KINDS)
    with bank.reading() as db:
        said = said_in(db)
    places = [(place, at) for place, text in said.items() for at in range(len(text))]
    for (table, column, row), at in chance.sample(places, len(places)):
        if time.monotonic() > ends:
            break
        text = said[table, column, row]
        other = chance.choice([letter for letter in LETTERS if letter != text[at]])
        set_text(bank, (table, column, row), text[:at] + other + text[at + 1 :])
        outcome.done.update(letters=1)
        if not verify(bank, DEFAULT_MODEL):
            outcome.fault("missed", f"{table}.{column} {row}: {text!r} with {other!r} at {at}")
        set_text(bank, (table, column, row), text)
    outcome.note = f"{outcome.done['letters']} of {len(places)} letters"
    return outcome


def set_text(bank: Bank, place: tuple[str, str, int], text: str) -> None:
    table, column, row = place
    with bank.writing() as db:
        db.conn.execute(f"UPDATE {table} SET {column} = ? WHERE {KEYS[table]} = ?", (text, row))


def flip_bits(bank: Bank, chance: Random, ends: float) -> Outcome:
    """Flip one bit of the file at a time; where that changes what was said, it must be found."""
    outcome = Outcome("flips of bits", KINDS)
    with bank.reading() as db:
        before = said_in(db)
        db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    content = bank.path.read_bytes()
    outcome.done.update({"bits": 0, "that changed a text": 0})
    while time.monotonic() < ends:
        place, bit = chance.randrange(len(content)), chance.randrange(8)
        damaged = bytearray(content)
        damaged[place] ^= 1 << bit
        for end in ("-wal", "-shm"):
            bank.path.with_name(bank.path.name + end).unlink(missing_ok=True)
        bank.path.write_bytes(damaged)
        try:
            found = bool(verify(bank, DEFAULT_MODEL))
        except MemoirError:
            found = True
        except Exception as fault:
            outcome.fault("uncaught", f"byte {place}, bit {bit}: {fault!r}")
            continue
        changed = differs(bank, before)
        outcome.done.update({"bits": 1, "that changed a text": changed})
        if changed and not found:
            outcome.fault("missed", f"byte {place}, bit {bit}")
    bank.path.write_bytes(content)
    return outcome


def differs(bank: Bank, before: Said) -> bool:
    """Whether the bank can be read and holds other texts than before."""
    try:
        with bank.reading() as db:
            db.conn.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
            return said_in(db) != before
    except MemoirError:
        return False
