"""What keeps people from using the page: looked for by axe, on each tab, in light and dark, on a desk and a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api")
pytest.importorskip("axe_playwright_python")
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from support.browser_app import SLOW, App, Screen
from support.short_lives import write_short_lives

pytestmark = pytest.mark.browser

GRAVE = ("serious", "critical")
SIZES = ((1280, 900), (360, 780))
SCHEMES = ("light", "dark")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    running = App(tmp_path_factory.mktemp("access"))
    running.start()
    yield running
    running.stop()


@pytest.fixture(params=SIZES, ids=("desk", "phone"))
def screen(window: Screen, request: pytest.FixtureRequest) -> Iterator[Screen]:
    window.visit_anew(*request.param)
    yield window
    assert window.outside == []
    assert window.faults == []


def grave(page: Page) -> list[str]:
    """What axe finds serious or critical, in both colour schemes."""
    return [found for scheme in SCHEMES for found in _grave(page, scheme)]


def _grave(page: Page, scheme: str) -> list[str]:
    page.evaluate("dark => document.body.classList.toggle('dark', dark)", scheme == "dark")
    page.wait_for_timeout(600)  # colours fade into each other, and a colour on its way has another contrast
    violations: list[dict[str, Any]] = Axe().run(page).response["violations"]
    found = [(v["id"], node) for v in violations if v["impact"] in GRAVE for node in v["nodes"]]
    return [f"{scheme}: {rule} at {node['target']}: {node['html'][:200]}" for rule, node in found]


@pytest.mark.slow
def test_axe_finds_nothing_grave_in_a_chat_with_its_sources_and_how_it_remembered(screen: Screen) -> None:
    screen.ask("When was Yara born?")
    screen.page.locator("#chat a[href*='#source-']").first.click()
    expect(screen.page.locator("#sources details[open] .memoir-turn-cited")).to_be_visible()
    assert grave(screen.page) == []
    screen.page.keyboard.press("Escape")
    screen.open("how")
    expect(screen.page.locator("#how .js-plotly-plot")).to_be_visible(timeout=SLOW)
    expect(screen.page.locator("#how-candidates .virtual-row").first).to_be_visible()
    assert grave(screen.page) == []


@pytest.mark.slow
def test_axe_finds_nothing_grave_in_an_open_folder_of_each_kind(screen: Screen) -> None:
    for folder in ("chat-settings", "bring-in", "new-persona", "model-panel"):
        screen.open(folder)
        expect(screen.page.locator(f"#{folder} > .label-wrap")).to_have_class(re.compile("open"))
        assert grave(screen.page) == []
        screen.page.keyboard.press("Escape")
    if screen.page.locator(".memoir-open-chats").is_visible():
        screen.page.locator(".memoir-open-chats").click()
    screen.page.locator("#past-chats [data-menu]").first.click()
    expect(screen.page.locator("#chat-rename")).to_be_visible()
    assert grave(screen.page) == []


def test_axe_finds_nothing_grave_in_a_memory_that_is_being_edited(screen: Screen) -> None:
    rows = screen.memory().locator("[data-memory]")
    screen.page.locator("#memory-kind input").click()
    screen.page.get_by_role("option", name="Conversation", exact=True).click()
    expect(screen.page.locator("#memory-list h2")).to_have_count(0)  # what was said has no groups
    rows.first.click()
    expect(screen.page.locator("#memory-origin .memoir-turn").first).to_be_visible()
    screen.page.locator("#memory-edit").click()
    expect(screen.page.locator("#memory-text")).to_be_visible()
    assert grave(screen.page) == []


@pytest.mark.slow
def test_axe_finds_nothing_grave_in_a_run_that_is_done(screen: Screen, tmp_path: Path) -> None:
    page = screen.evaluate()
    screen.measure(data=str(write_short_lives(tmp_path, ("marta",), sessions=10, probes=4)))
    screen.measured()
    page.locator("#eval-settings button").first.click()
    page.locator("#eval-runs button").first.click()
    found = []
    for name in ("Groups", "Metrics", "Probes"):
        tab = page.locator("#eval-tabs").get_by_role("tab", name=name)
        if tab.is_visible():  # a phone has those that do not fit in a menu
            tab.click()
            found += grave(page)
    assert found == []


@pytest.mark.slow
def test_axe_finds_nothing_grave_in_the_pictures(screen: Screen) -> None:
    screen.memory()
    screen.open("memory-pictures")
    for picture in ("timeline", "holdings", "people"):
        expect(screen.page.locator(f"#picture-{picture} .js-plotly-plot")).to_be_visible(timeout=SLOW)
    expect(screen.page.locator("#picture-people-words")).to_contain_text("Leila, younger sister of Noor")
    screen.page.locator("#picture-as-of :is(input, textarea)").fill("1 June 2026")
    screen.page.locator("#picture-as-of :is(input, textarea)").press("Enter")
    expect(screen.page.locator("#picture-people-words")).to_contain_text("June 2026:")
    assert not screen.overflows()
    assert grave(screen.page) == []


def test_a_memory_is_found_and_corrected_by_keys_alone(window: Screen) -> None:
    window.visit_anew()
    page, keys = window.page, window.page.keyboard
    page.locator("#composer textarea").focus()
    keys.type("When was Yara born?")
    keys.press("Enter")
    window.reply()
    step_to(page, "#chat a[href$='#source-1-1']", back=True)
    keys.press("Enter")
    expect(page.locator("#sources details[open] .memoir-turn-cited")).to_be_in_viewport()
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    step_to(page, "[role='tab']:text-is('Memory')", back=True)
    keys.press("Enter")
    expect(page.locator("#memory-where")).to_contain_text("of", timeout=SLOW)
    second = page.locator("#memory-list [data-memory]").nth(1)
    expect(second).to_be_visible()
    assert page.locator("#chat .bot.message").count() == 1  # a picker that was only passed through changed nothing
    step_to(page, "#memory-list [data-memory]")
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(page.locator("#memory-detail")).to_contain_text(second.locator("span").inner_text())
    step_to(page, "#memory-edit")
    keys.press("Enter")
    expect(page.locator("#memory-text textarea")).to_be_visible()
    step_to(page, "#memory-text textarea")
    keys.press("Control+a")
    keys.type("Corrected without a mouse.")
    step_to(page, "#memory-save")
    keys.press("Enter")
    expect(page.locator("#memory-detail")).to_contain_text("Corrected without a mouse.")
    assert window.faults == []


OUTLINED = """() => {
  for (let part = document.activeElement, n = 0; part && n < 4; part = part.parentElement, n++) {
    const look = getComputedStyle(part);
    if ((look.outlineStyle !== 'none' && parseFloat(look.outlineWidth) >= 2) || look.boxShadow.includes('inset')
        || (look.boxShadow !== 'none' && look.boxShadow.includes('1px'))) return true;
  }
  return false;
}"""


def step_to(page: Page, wanted: str, *, back: bool = False) -> None:
    """Press Tab until what is wanted has the keyboard; each part on the way shows that it has."""
    for _ in range(150):  # once round the page, from wherever it drew itself anew
        page.keyboard.press("Shift+Tab" if back else "Tab")
        here = page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
        if not here.startswith("<body"):
            assert page.evaluate(OUTLINED), f"nothing shows that this has the keyboard: {here}"
        if page.locator(f"{wanted}:focus").count():
            return
    raise AssertionError(f"no number of steps leads to {wanted}")
