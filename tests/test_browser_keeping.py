"""Taking the bank along, forgetting more at once, and the journal, in a real browser."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from memory import ingest
from memory.bank import backup, journal
from memory.bank import learning_queue as consolidation
from memory.bank.bank import Bank
from support.browser_app import SLOW, App, Screen

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    running = App(tmp_path_factory.mktemp("keeping"))
    running.start()
    while len(consolidation.pending_sessions(Bank(running.home / "bank.db"))):
        time.sleep(0.2)
    yield running
    running.stop()


def download(screen: Screen, button: str, file: str, folder: Path, ending: str) -> Path:
    screen.page.locator(f"#{button}").click()
    link = screen.page.locator(f"#{file} a[href*='{ending}']").first
    expect(link).to_be_visible(timeout=SLOW)
    with screen.page.expect_download() as started:
        link.click()
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path


@pytest.mark.slow
def test_what_is_exported_on_the_screen_makes_an_equal_bank(app: App, screen: Screen, tmp_path: Path) -> None:
    screen.memory()
    screen.open("take")
    file = download(screen, "take-bank", "take-file", tmp_path, ".jsonl")
    other, bank = Bank(tmp_path / "other.db"), Bank(app.home / "bank.db")
    report = ingest.ingest(other, file)
    assert [other.counts(h.persona.id) for h in report.histories] == [bank.counts(p.id) for p in bank.personas()]


def test_a_backup_made_on_the_screen_can_be_restored(screen: Screen, tmp_path: Path) -> None:
    screen.memory()
    screen.open("take")
    file = download(screen, "take-backup", "take-file", tmp_path, ".db")
    assert backup.restore(Bank(tmp_path / "other.db"), file)[0].personas == 1


def test_what_mentions_a_word_is_shown_then_forgotten_to_the_last_byte(app: App, screen: Screen) -> None:
    screen.memory()
    screen.open("forget-more")
    screen.page.locator("#forget-look").click()
    expect(screen.page.get_by_text("Enter either a word or a date").first).to_be_visible()
    screen.page.locator("#forget-mentions :is(input, textarea)").fill("quince")
    screen.page.locator("#forget-look").click()
    planned = screen.page.locator("#forget-planned")
    expect(planned).to_contain_text(re.compile("This deletes .* turns", re.DOTALL), timeout=SLOW)
    expect(planned.locator("li").first).to_contain_text(re.compile("quince", re.IGNORECASE))
    screen.page.locator("#forget-sure").click()
    expect(screen.page.locator("#forget-result")).to_contain_text("no traces left in the file", timeout=SLOW)
    told = [(entry.action, entry.request) for entry in journal.read(Bank(app.home / "bank.db"), 5)]
    assert ("forgot", "Memory tab") in told
    words = re.compile(rb"\bquince\b", re.IGNORECASE)
    assert [path.name for path in app.home.rglob("*") if path.is_file() and words.search(content(path))] == []


def test_forgetting_can_be_stopped_and_changes_nothing(app: App, screen: Screen) -> None:
    bank = Bank(app.home / "bank.db")
    before = bank.counts(1)
    screen.memory()
    screen.open("forget-more")
    screen.page.locator("#forget-mentions :is(input, textarea)").fill("and")
    screen.page.locator("#forget-look").click()
    expect(screen.page.locator("#forget-planned")).to_contain_text("This deletes", timeout=SLOW)
    with bank.writing():  # it waits for its turn, as a long one would go on
        screen.page.locator("#forget-sure").click()
        expect(screen.page.locator("#forget-going")).to_contain_text("Forgetting")
        screen.page.locator("#forget-stop").click()
        expect(screen.page.locator("#forget-going")).to_contain_text("stopping")
    expect(screen.page.locator("#forget-going")).to_contain_text("Nothing was changed", timeout=SLOW)
    expect(screen.page.locator("#forget-stop")).to_be_hidden()
    assert bank.counts(1) == before


def content(path: Path) -> bytes:
    """The bytes of a file; none of one that went meanwhile, as the bank's log does when its last reader leaves."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def test_the_journal_tells_what_was_done_without_a_word_of_it(screen: Screen, tmp_path: Path) -> None:
    screen.ask("I bought a purple kettle today.")
    screen.memory()
    screen.open("journal")
    row = screen.page.locator("#journal-table .virtual-row").first
    expect(row).to_contain_text("talked", timeout=SLOW)
    expect(row).to_contain_text("2 turns")
    text = download(screen, "journal-csv", "journal-file", tmp_path, ".csv").read_text(encoding="utf-8")
    assert text.startswith("No.,When,What,By,Persona")
    assert "kettle" not in text


def test_nothing_is_wider_than_a_phone(window: Screen) -> None:
    window.visit_anew(360, 740)
    table = window.memory()
    box = window.page.locator("#memory-list + .memoir-pages button").last.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] < 360
    table.locator("[data-memory]").first.click()
    expect(window.page.locator("#memory-detail .memoir-quote")).to_be_in_viewport()
    window.page.get_by_label("Close: Memory").click()
    for panel in ("forget-more", "take", "journal"):
        window.open(panel)
    expect(window.page.locator("#journal-where")).to_contain_text("of", timeout=SLOW)
    assert not window.overflows()
