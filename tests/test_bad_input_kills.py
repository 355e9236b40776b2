"""Forgetting, exporting and importing that is killed at any step is done or not done, and can be done again."""

import pytest

from memory.bank import schema
from memory.bank.bank import Bank
from memory.bank.unfinished import find_unfinished
from memory.exporting.export import export_lines, write_export
from memory.forgetting.byte_search import find_in_file
from memory.forgetting.forget import forget_memories
from memory.ingest import ingest
from memory.types import SessionDraft, TurnDraft
from support.bad_input import MAY, assert_unharmed, history, seeded
from support.killed import kill_at
from tests.torture import upgrade

SECRETS = tuple(f"Safe {n} opens with {n * 7919:08}." for n in range(3))


@pytest.fixture
def bank(tmp_path):
    return seeded(tmp_path / "home")


def run(bank, call):
    """The code that calls a function of Memoir with the bank."""
    return f"from memory.bank.bank import Bank\nbank = Bank(Path({str(bank.path)!r}))\n{call}"


FORGETTING = """
    journal.record deletion.delete_rows downloads.delete_all delete_unfinished deletion.empty_log find_in_bank
""".split()
"""Functions that `memory.forgetting.forget` calls, in this order; from the third on, the rows are deleted."""


@pytest.mark.parametrize("point", ["COMMIT", *(f"memory.forgetting.forget.{name}" for name in FORGETTING)])
def test_forgetting_that_is_killed_is_done_or_not_and_the_next_leaves_no_trace(bank, point):
    iris = bank.persona("Iris")
    turns = tuple(TurnDraft("Ana", "user", text) for text in SECRETS)
    bank.remember(iris.id, [SessionDraft(turns, MAY, external_id="safes", title=SECRETS[0])])
    by_text = {m.text: m.id for m in bank.memories(iris.id)}
    call = f"forget_memories(bank, {iris.id}, [{by_text[SECRETS[0]]}])"
    kill_at(point, run(bank, f"from memory.forgetting.forget import forget_memories\n{call}"))

    left = {m.text for m in bank.memories(iris.id)} & set(SECRETS)
    session = next(s for s in bank.sessions(iris.id) if s.external_id == "safes")
    assert {turn.text for turn in bank.turns(iris.id, session.id)} == left
    is_done = not point.endswith(("COMMIT", "record", "delete_rows"))
    assert left == set(SECRETS[1:] if is_done else SECRETS)

    again = [by_text[text] for text in SECRETS[:2] if text in left]
    assert forget_memories(bank, iris.id, again).residue == 0
    files = list(bank.path.parent.iterdir())
    assert not [file for file in files if find_in_file(file, SECRETS[:2])]
    forget_memories(bank, iris.id, [by_text[SECRETS[2]]])
    assert_unharmed(bank)


@pytest.mark.parametrize(
    "point",
    [
        "memory.importers.generic.memoir_export.dump_line",
        "memory.exporting.export.publish",
        "os.fsync",
        "pathlib.Path.replace",
    ],
)
def test_an_export_that_is_killed_leaves_the_one_before(bank, tmp_path, point):
    file = tmp_path / "all.jsonl"
    write_export(bank, bank.personas(), file)
    before = file.read_bytes()
    ingest(bank, history(tmp_path / "Zoe.jsonl", 2))
    call = f"from memory.exporting.export import write_export\nwrite_export(bank, bank.personas(), Path({str(file)!r}))"
    kill_at(point, run(bank, call))
    assert file.read_bytes() == before
    write_export(bank, bank.personas(), file)
    assert file.read_text().splitlines() == list(export_lines(bank, bank.personas()))
    assert find_unfinished(tmp_path) == []
    assert_unharmed(bank)


# The first transaction makes the persona, each further one stores 500 turns.
@pytest.mark.parametrize(("number", "sessions"), [(1, 0), (2, 0), (3, 25), (5, 75)])
def test_an_import_that_is_killed_keeps_whole_batches_and_can_be_done_again(bank, tmp_path, number, sessions):
    file = history(tmp_path / "Zoe.jsonl", 80)
    call = f"from memory.ingest import ingest\ningest(bank, Path({str(file)!r}))"
    kill_at("COMMIT", run(bank, call), number)
    assert len(bank.personas()) == (1 if number == 1 else 2)
    if number > 1:
        assert bank.counts(bank.persona("Zoe").id) == {
            "sessions": sessions,
            "turns": sessions * 20,
            **({"dialogue": sessions * 20} if sessions else {}),
        }
    report = ingest(bank, file).histories[0]
    assert (report.stored.turns, report.stored.known_turns) == (1600 - sessions * 20, sessions * 20)
    assert bank.counts(report.persona.id) == {"sessions": 80, "turns": 1600, "dialogue": 1600}
    assert_unharmed(bank)


def test_an_upgrade_that_is_killed_leaves_the_old_bank_and_the_next_opening_upgrades_it(tmp_path):
    bank, whole = Bank(tmp_path / "bank.db"), Bank(tmp_path / "whole.db")
    for path in (bank.path, whole.path):
        upgrade.write_old_bank(path)
    old = upgrade.dump(bank.path)
    kill_at("memory.bank.schema.relation_of", run(bank, "bank.personas()"))
    assert upgrade.version(bank.path) == schema.FIRST_VERSION
    assert upgrade.dump(bank.path) == old
    assert bank.personas() == whole.personas()
    assert upgrade.dump(bank.path) == upgrade.dump(whole.path) != old
