"""Two people on one machine, in a real browser: neither sees anything of the other's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Browser, Page, expect

from memory import ingest
from memory.bank.bank import Bank
from memory.forgetting.forget import find_in_bank
from support.app_client import PASSWORDS, two_users
from support.browser_app import DATA, SLOW, App, Screen

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    running = two_users(tmp_path_factory.mktemp("two"))
    running.start()
    yield running
    running.stop()


def log_in(page: Page, name: str, password: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def enter(browser: Browser, app: App, name: str) -> Screen:
    """A window of a user, logged in by hand."""
    window = Screen(browser, app.url, log_in=lambda page: log_in(page, name, PASSWORDS[name]))
    expect(window.page.locator(".memoir-user")).to_contain_text(name)
    return window


def seen(window: Screen) -> str:
    """What a search of all memories shows for the secret's words."""
    table = window.memory()
    window.page.locator("#memory-search textarea, #memory-search input").fill("kayak hidden key")
    expect(window.page.locator("#memory-where")).to_contain_text("found", timeout=SLOW)
    window.page.wait_for_timeout(500)
    return table.inner_text()


@pytest.mark.slow
def test_neither_of_two_users_sees_what_the_other_told(app: App, browser: Browser) -> None:
    told = {"ann": "Sturmvogel", "ben": "Gannet"}
    windows = {name: enter(browser, app, name) for name in told}
    for name, kayak in told.items():
        windows[name].ask(f"My kayak is called {kayak}.")
    for name, kayak in told.items():
        window = windows[name]
        other = next(k for k in told.values() if k != kayak)
        answer = window.ask("What is my kayak called?")
        assert kayak in answer
        table = seen(window)
        assert kayak in table
        assert other not in window.page.content()
        window.page.reload()
        expect(window.page.locator("#persona input")).not_to_have_value("", timeout=SLOW)
        assert other not in window.page.content()
        assert (window.outside, window.faults) == ([], [])
        window.close()


def test_a_wrong_password_is_told_and_a_right_one_lets_in(app: App, browser: Browser) -> None:
    page = browser.new_context().new_page()
    page.goto(app.url)
    log_in(page, "ann", "not her password")
    expect(page.get_by_role("alert")).to_contain_text("Wrong name or password.")
    log_in(page, "ann", PASSWORDS["ann"])
    expect(page.locator("#welcome-start:visible, #persona:visible").first).to_be_visible(timeout=SLOW)
    assert page.get_by_role("tab", name="Evaluate").count() == 0
    page.context.close()


def test_after_logging_out_the_next_one_at_the_browser_finds_nothing(app: App, browser: Browser) -> None:
    window = enter(browser, app, "ann")
    window.ask("My canoe is called Petrel.")
    window.page.locator("#logout").click()
    expect(window.page.get_by_label("Password")).to_be_visible()
    window.page.go_back()
    expect(window.page.get_by_label("Password")).to_be_visible()
    log_in(window.page, "ben", PASSWORDS["ben"])
    expect(window.page.locator(".memoir-user")).to_contain_text("ben", timeout=SLOW)
    expect(window.page.locator("#welcome-start:visible, #persona:visible").first).to_be_visible(timeout=SLOW)
    assert "Petrel" not in window.page.content()
    assert "Petrel" not in window.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    window.close()


def test_the_login_page_is_usable_by_keyboard_and_on_a_phone(app: App, browser: Browser) -> None:
    page = browser.new_context(viewport={"width": 360, "height": 640}, color_scheme="dark").new_page()
    page.goto(app.url)
    page.get_by_label("Name").focus()
    page.keyboard.type("ben")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORDS["ben"])
    assert not page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    page.keyboard.press("Enter")
    expect(page.locator(".memoir-user")).to_contain_text("ben", timeout=2 * SLOW)
    page.wait_for_timeout(500)
    assert not page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    page.context.close()


def bring_in(window: Screen) -> None:
    window.bring_in(DATA / "two_talks.json")
    window.page.locator("#upload-choose input").click()
    window.page.locator("#upload-choose input").press_sequentially("talk-1")
    window.page.get_by_role("option").first.click()
    window.page.keyboard.press("Escape")
    window.page.locator("#upload-start").click()
    expect(window.page.locator("#upload-report")).to_contain_text("was imported", timeout=SLOW)
    expect(window.page.locator("#persona input")).to_have_value(re.compile("Ana"))


def choose(window: Screen, words: str) -> None:
    """Find a statement in the Memory tab and look at it."""
    table = window.memory()
    window.page.locator("#memory-kind input").click()
    window.page.get_by_role("option", name="Conversation", exact=True).click()
    window.page.locator("#memory-search textarea, #memory-search input").fill(words)
    # The best match stands first; while the table still shows another search, its rows are about to move.
    row = table.locator("[data-memory]").first
    expect(row).to_contain_text(words, timeout=SLOW)
    expect(window.page.locator("#memory-where")).to_contain_text("found", timeout=SLOW)
    window.page.wait_for_timeout(500)
    row.click()
    expect(window.page.locator("#memory-detail")).to_contain_text(words)


def chat(window: Screen) -> None:
    window.page.get_by_role("tab", name="Chat").click()


@pytest.mark.slow
def test_from_an_import_to_another_bank_while_nobody_else_sees_it(app: App, browser: Browser, tmp_path: Path) -> None:
    ann = enter(browser, app, "ann")
    page = ann.page
    bring_in(ann)
    assert "3 March 2024" in ann.ask("When did Ana visit the old lighthouse?")

    ann.open("how")
    why = page.locator("#how-candidates .virtual-row", has_text="cited [1]").first
    expect(why).to_contain_text("lighthouse")
    why.locator(".body-cell").nth(3).click()
    expect(page.locator("#how-one .memoir-turn-cited")).to_contain_text("I visited the old lighthouse yesterday")
    expect(page.locator("#how-one")).to_contain_text("Answers that relied on it")

    choose(ann, "old lighthouse yesterday")
    page.locator("#memory-edit").click()
    page.locator("#memory-text textarea").fill("I visited the old windmill yesterday and climbed all the stairs.")
    page.locator("#memory-save").click()
    expect(page.locator("#memory-detail")).to_contain_text("old windmill")
    chat(ann)
    assert "windmill" in ann.ask("Which old building did Ana visit and climb the stairs of?")

    choose(ann, "opened her bakery")
    page.locator("#memory-forget").click()
    page.locator("#memory-forget-sure").click()
    expect(page.locator("#memory-result")).to_contain_text("no traces left in the file", timeout=SLOW)
    (held,) = (path for path in app.home.rglob("bank.db") if find_in_bank(path, ["windmill"]))
    assert not find_in_bank(held, ["bakery"])

    ann.open("take")
    page.locator("#take-bank").click()
    link = page.locator("#take-file a[href*='.jsonl']").first
    expect(link).to_be_visible(timeout=SLOW)
    with page.expect_download() as started:
        link.click()
    file = tmp_path / "bank.jsonl"
    started.value.save_as(file)
    other = Bank(tmp_path / "other.db")
    ingest.ingest(other, file)
    assert [other.counts(p.id) for p in other.personas()] == [Bank(held).counts(p.id) for p in Bank(held).personas()]
    assert "windmill" in " ".join(m.text for p in other.personas() for m in other.memories(p.id))

    page.locator("#logout").click()
    ben = enter(browser, app, "ben")
    for words in ("windmill", "lighthouse", "Bertil"):
        assert words not in ben.page.content()
    assert "windmill" not in ben.ask("Which old building did Ana visit and climb the stairs of?")
    for path in app.home.rglob("bank.db"):
        assert path == held or not find_in_bank(path, ["windmill"])
    assert (ann.faults, ben.faults) == ([], [])
    for window in (ann, ben):
        window.close()
