"""The page: it welcomes a new user, never scrolls sideways at any width, and does not jump while it answers."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import gradio as gr
import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Browser, Route, expect

from graph.models.discovery import PORTS
from graph.server.page import Page, isolate_pages
from memory.bank.bank import Bank
from memory.tab.parts import PRIVATE
from support.browser_app import SLOW, App, Screen, served
from support.chat_server import ChatServer

pytestmark = pytest.mark.browser

WIDTHS = (360, 768, 1280, 2560, 3840)
WIDEST_LINE = 1000
"""Pixels that a line of an answer may take; some 120 letters of its size."""

JUMPS = """() => {
  window.jumps = [];
  new PerformanceObserver((seen) => {
    for (const jump of seen.getEntries()) if (!jump.hadRecentInput) window.jumps.push(jump.value);
  }).observe({ type: "layout-shift" });
}"""
BAD_JUMPS = 0.1
"""What web.dev calls the most that a good page shifts by, in shares of the window."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    running = App(tmp_path_factory.mktemp("widths"))
    running.start()
    yield running
    running.stop()


def free_port_of(ports: Sequence[int]) -> int:
    for port in ports:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    pytest.skip(f"something runs at each of the ports {ports}")


# First: whoever has talked with a persona is not new.
@pytest.mark.slow
def test_a_new_user_says_a_name_and_a_restart_keeps_what_was_told(app: App, window: Screen) -> None:
    with ChatServer("Hi.", port=free_port_of(PORTS)) as server:
        window.visit_anew(address="")
        offered, bank = window.page.locator("#welcome-models"), Bank(app.home / "bank.db")
        for name, chosen in (("scripted", server.model()), ("No model", "none")):
            offered.get_by_text(name).click()
            while bank.choice("chat_model", "") != chosen:
                window.page.wait_for_timeout(100)
    window.visit_anew(address="")
    expect(window.page.locator("#welcome-start")).to_be_visible()
    expect(window.page.locator("#welcome-models")).to_be_hidden()
    window.page.locator("#welcome-name :is(input, textarea)").fill("Anna")
    window.page.locator("#welcome-start").click()
    expect(window.page.locator("#chat")).to_contain_text("Nice to meet you, Anna")
    expect(window.page.locator("#indexing")).not_to_contain_text(re.compile(r"Indexing \d\d"))  # as of the demo
    window.asked = 1  # the reply to the name
    window.ask("My bicycle is called Rocinante.")
    window.page.goto("about:blank")  # a page left open would load itself again at any time after the start
    app.stop()

    app.start()
    window.visit_anew(address="")
    expect(window.page.locator("#persona input")).to_have_value("Memoir", timeout=SLOW)
    assert "Rocinante" in window.ask("What is my bicycle called?")
    window.make_persona("Jordan")
    assert "Your name is Anna" in window.ask("What's my name?")
    assert window.faults == []


@pytest.mark.slow
def test_no_tab_scrolls_sideways_at_any_width(screen: Screen) -> None:
    screen.ask("When was Yara born?")
    screen.open("how")
    expect(screen.page.locator("#how .js-plotly-plot")).to_be_visible(timeout=SLOW)
    for width in WIDTHS:
        screen.page.set_viewport_size({"width": width, "height": 1000})
        screen.page.get_by_role("tab", name="Chat").click()
        expect(screen.page.locator("#chat .bot.message")).to_be_visible()
        line = screen.page.locator("#chat .bot.message p").last.bounding_box()
        assert line is not None
        assert line["width"] <= WIDEST_LINE
        assert not screen.overflows(), f"Chat at {width}"
        screen.memory()
        assert not screen.overflows(), f"Memory at {width}"
        screen.evaluate()
        assert not screen.overflows(), f"Evaluate at {width}"


def test_little_moves_while_an_answer_is_on_its_way(screen: Screen) -> None:
    screen.page.evaluate(JUMPS)
    screen.ask("When was Yara born?")
    screen.ask("Why is my cat called Comma?")
    screen.page.wait_for_timeout(500)
    assert sum(screen.page.evaluate("window.jumps")) < BAD_JUMPS


@pytest.mark.parametrize("panel", ["new-persona", "bring-in", "chat-settings"])
def test_nothing_below_a_panel_moves_as_it_opens_over_the_page(screen: Screen, panel: str) -> None:
    below = screen.page.locator("#model-panel" if panel == "chat-settings" else "#past-chats")
    expect(below).to_be_visible()
    screen.page.wait_for_timeout(500)
    before = below.bounding_box()
    screen.open(panel)
    expect(screen.page.locator(f"#{panel} > .label-wrap.open")).to_be_visible()
    screen.page.wait_for_timeout(500)
    after = below.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(before["y"] - after["y"]) < 1


def test_the_last_of_updates_that_come_at_once_is_shown(browser: Browser, tmp_path: Path) -> None:
    """They come so if the page hears of an answer before it hears that the question has arrived."""
    isolate_pages()
    over = asyncio.Event()

    async def answer() -> AsyncIterator[dict]:
        yield {composer: gr.Textbox(submit_btn=False, placeholder="Una is answering.")}
        yield {composer: gr.Textbox(submit_btn="Send", placeholder="Ask.")}
        yield {composer: gr.skip()}

    with Page() as page:
        # Keeps the page's connection open; else it would open one for the answer, and hear of all in turn.
        gr.Button("Hold").click(over.wait, None, None, **PRIVATE)
        gr.Button("Let go").click(over.set, None, None, **PRIVATE)
        composer = gr.Textbox("Hello", interactive=True, elem_id="composer")
        composer.submit(answer, None, composer, **PRIVATE)

    def arrive_late(route: Route) -> None:
        arrived = route.fetch()
        time.sleep(0.5)
        route.fulfill(response=arrived)

    with served(page, tmp_path) as url:
        window = browser.new_context().new_page()
        window.goto(url)
        with window.expect_response("**/queue/data*"):
            window.get_by_text("Hold").click()
        window.route("**/queue/join*", arrive_late, times=1)
        box = window.locator("#composer textarea")
        box.press("Enter")
        expect(box).to_have_attribute("placeholder", "Ask.")
        expect(window.locator("#composer .submit-button")).to_be_visible()
        with window.expect_response("**/queue/join*"):
            window.get_by_text("Let go").click()
        window.context.close()
