"""The Chat tab in a real browser, used by somebody in a hurry: what comes next does not wait for the server."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Locator, expect

from support.browser_app import SLOW, App, Screen

pytestmark = [pytest.mark.browser, pytest.mark.slow]

BEES, ALLOTMENT, KAYAK = "I keep bees behind the shed.", "My allotment is number 14.", "The kayak is green."


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    running = App(tmp_path_factory.mktemp("hurry"))
    running.start()
    yield running
    running.stop()


HURRY = """async ([late, steps]) => {
  const ask = window.fetch, box = document.querySelector("#composer textarea");
  window.fetch = (...all) => {
    if (!String(all[0]).includes("/queue/join")) return ask(...all);
    window.fetch = ask;
    return new Promise((go) => setTimeout(go, late)).then(() => ask(...all));
  };
  const press = (key) => {
    const of = { key, bubbles: true, cancelable: true };
    return box.dispatchEvent(new KeyboardEvent("keydown", of)) && box.dispatchEvent(new KeyboardEvent("keypress", of));
  };
  const seen = [];
  for (const [action, what] of steps) {
    if (action === "press") press(what);
    if (action === "click") document.querySelector(what).click();
    if (action === "type") {
      box.value = what;
      box.dispatchEvent(new Event("input", { bubbles: true }));
    }
    seen.push(box.value);
    await new Promise((go) => setTimeout(go, action === "wait" ? what : 20));
  }
  return seen;
}"""
"""Does one step after the other, 20 ms apart, while the page's first request reaches the server `late`.

Returns what the composer held after each step.
"""


def hurry(screen: Screen, *steps: tuple[str, str | int], late: int = 0) -> list[str]:
    seen: list[str] = screen.page.evaluate(HURRY, [late, steps])
    return seen


def said(screen: Screen) -> Locator:
    return screen.page.locator("#chat .user.message")


def words(*texts: str) -> list[re.Pattern[str]]:
    """What `said` shows of these messages: a chip may follow each."""
    return [re.compile(re.escape(text)) for text in texts]


def begin_two_chats(screen: Screen, name: str) -> tuple[str, str]:
    """A persona with a chat about bees and one about an allotment, which is open; the selectors of their links."""
    screen.make_persona(name)
    for text in (BEES, ALLOTMENT):
        screen.page.locator("#new-chat").click()
        expect(screen.page.locator("#chat .message")).to_have_count(0)
        screen.asked = 0
        screen.ask(text)
        expect(screen.page.locator("#composer .submit-button")).to_be_visible(timeout=SLOW)
    expect(screen.page.locator("#past-chats a")).to_have_count(2)
    links = (screen.page.locator("#past-chats a", has_text=text) for text in (BEES, ALLOTMENT))
    bees, allotment = (f"#past-chats a[data-chat='{link.get_attribute('data-chat')}']" for link in links)
    return bees, allotment


@pytest.mark.parametrize("late", [0, 600])
def test_a_message_belongs_to_the_chat_it_was_sent_in_if_another_is_opened_at_once(screen: Screen, late: int) -> None:
    bees, allotment = begin_two_chats(screen, f"Uri {late}")
    for gap in (0, 60, 130):
        hurry(screen, ("type", KAYAK), ("press", "Enter"), ("wait", gap), ("click", bees), late=late)
        expect(screen.page.locator(bees)).to_have_attribute("aria-current", "page")
        expect(said(screen)).to_have_text(words(BEES))
        screen.page.wait_for_timeout(1500)  # what comes late must not show the other chat again
        expect(said(screen)).to_have_text(words(BEES))
        assert screen.page.locator(bees).get_attribute("href") in screen.page.url
        expect(screen.page.locator("#composer textarea")).to_have_value("")
        screen.page.locator(allotment).click()
        expect(said(screen)).to_have_text(words(ALLOTMENT, KAYAK))
        expect(screen.page.locator("#chat .bot.message")).to_have_count(2)
        expect(screen.page.locator("#composer .submit-button")).to_be_visible(timeout=SLOW)
        screen.page.get_by_label("Undo", exact=True).last.click()
        expect(said(screen)).to_have_text(words(ALLOTMENT))
        screen.page.locator("#composer textarea").fill("")


LATE_REPLIES = """{
  const ask = window.fetch;
  window.fetch = async (...all) => {
    const isLate = String(all[0]).includes("/queue/join") && !JSON.parse(all[1].body).event_data;
    const reply = await ask(...all);
    if (isLate) await new Promise((go) => setTimeout(go, 700));
    return reply;
  };
}"""
"""Holds back what the server replies to requests of the page itself, as for the answer to a message."""


def test_another_chat_is_shown_for_good_though_the_page_hears_late_that_it_is_told_of_an_answer(screen: Screen) -> None:
    bees, _ = begin_two_chats(screen, "Una")
    screen.page.add_init_script(LATE_REPLIES)
    screen.page.reload()
    expect(said(screen)).to_have_text(words(ALLOTMENT))
    hurry(screen, ("type", KAYAK), ("press", "Enter"), ("click", bees))
    expect(said(screen)).to_have_text(words(BEES))
    screen.page.wait_for_timeout(1500)
    expect(said(screen)).to_have_text(words(BEES))


@pytest.mark.parametrize("late", [0, 600])
@pytest.mark.parametrize("gap", [0, 80])
def test_enter_pressed_twice_sends_once_and_loses_nothing(screen: Screen, gap: int, late: int) -> None:
    screen.make_persona(f"Vic {gap} {late}")
    page, composer = screen.page, screen.page.locator("#composer textarea")
    enter = ("press", "Enter")
    hurry(screen, ("type", BEES), enter, ("wait", gap), enter, ("type", ALLOTMENT), enter, late=late)
    for _ in range(2):
        expect(page.locator("#chat .bot.message").first).to_be_visible(timeout=SLOW)
        expect(page.locator("#composer .submit-button")).to_be_visible(timeout=SLOW)
        if composer.input_value():
            composer.press("Enter")
            expect(said(screen)).to_have_count(2)
    expect(said(screen)).to_have_text(words(BEES, ALLOTMENT))
    expect(page.locator("#chat .bot.message")).to_have_count(2)
    expect(composer).to_have_value("")


def test_a_message_is_edited_as_it_was_typed(screen: Screen) -> None:
    lines = "My list:\n\n\n  - honey"
    screen.make_persona("Wes")
    composer, edited = screen.page.locator("#composer textarea"), screen.page.locator("#edited")
    screen.ask(lines)
    expect(screen.page.locator("#composer .submit-button")).to_be_visible(timeout=SLOW)
    composer.press("ArrowUp")
    expect(composer).to_have_value(lines)
    expect(edited).to_be_visible()
    edited.click()
    expect(edited).to_be_hidden()
    expect(composer).to_have_value("")


def test_undo_with_nothing_sent_does_nothing(screen: Screen) -> None:
    screen.make_persona("Tess")
    page, composer, undo = screen.page, screen.page.locator("#composer textarea"), "#chat [aria-label='Undo']"
    for text in (BEES, ALLOTMENT):
        page.evaluate("takeBack()")  # as Undo does
        screen.ask(text)
        screen.asked = 0
        expect(page.locator("#composer .submit-button")).to_be_visible(timeout=SLOW)
        hurry(screen, ("click", undo), ("click", undo))
        expect(composer).to_have_value(text)
        expect(said(screen)).to_have_count(0)
        composer.fill("")


def test_the_draft_of_an_edit_comes_back_as_that_edit(screen: Screen) -> None:
    bees, allotment = begin_two_chats(screen, "Xan")
    page, composer, edited = screen.page, screen.page.locator("#composer textarea"), screen.page.locator("#edited")
    composer.press("ArrowUp")
    expect(composer).to_have_value(ALLOTMENT)
    composer.fill("My allotment is number 15.")
    page.locator(bees).click()
    expect(said(screen)).to_have_text(words(BEES))
    expect(edited).to_be_hidden()
    expect(composer).to_have_value("")
    page.locator(allotment).click()
    expect(composer).to_have_value("My allotment is number 15.")
    expect(edited).to_be_visible()
    page.reload()
    expect(composer).to_have_value("My allotment is number 15.")
    expect(edited).to_be_visible()
    composer.press("Enter")
    expect(edited).to_be_hidden()
    expect(said(screen)).to_have_text(words("My allotment is number 15."))
    expect(page.locator("#composer .submit-button")).to_be_visible(timeout=SLOW)
    expect(page.locator("#chat .bot.message")).to_have_count(1)


def test_of_two_chats_opened_at_once_the_last_is_shown_with_what_was_written_for_it(screen: Screen) -> None:
    bees, allotment = begin_two_chats(screen, "Yun")
    hurry(screen, ("click", bees), ("click", "#new-chat"), ("click", allotment), ("type", "And it"), late=600)
    expect(screen.page.locator(allotment)).to_have_attribute("aria-current", "page")
    expect(said(screen)).to_have_text(words(ALLOTMENT))
    screen.page.wait_for_timeout(1500)
    expect(said(screen)).to_have_text(words(ALLOTMENT))
    expect(screen.page.locator("#composer textarea")).to_have_value("And it")
    steps = ("click", "#new-chat"), ("click", "#new-chat"), ("type", KAYAK), ("press", "Enter"), ("click", bees)
    hurry(screen, *steps, late=600)
    expect(said(screen)).to_have_text(words(BEES))
    expect(screen.page.locator("#past-chats a")).to_have_count(3)
    screen.page.locator("#past-chats a", has_text=KAYAK).click()
    expect(said(screen)).to_have_text(words(KAYAK))
    screen.page.locator(allotment).click()
    expect(screen.page.locator("#composer textarea")).to_have_value("And it")


def test_undo_takes_back_a_message_of_its_own_chat_if_another_is_opened_at_once(screen: Screen) -> None:
    bees, allotment = begin_two_chats(screen, "Zoe")
    screen.ask(KAYAK)
    expect(screen.page.locator("#composer .submit-button")).to_be_visible(timeout=SLOW)
    hurry(screen, ("click", "#chat [aria-label='Undo']"), ("click", bees), late=600)
    expect(said(screen)).to_have_text(words(BEES))
    screen.page.wait_for_timeout(1500)
    expect(said(screen)).to_have_text(words(BEES))
    expect(screen.page.locator("#composer textarea")).to_have_value("")
    screen.page.locator(allotment).click()
    expect(said(screen)).to_have_text(words(ALLOTMENT))
    expect(screen.page.locator("#composer textarea")).to_have_value(KAYAK)
    hurry(screen, ("click", "#chat [aria-label='Retry']"), ("click", bees), late=600)
    expect(said(screen)).to_have_text(words(BEES))
    expect(screen.page.locator("#composer textarea")).to_have_value("")
    screen.page.locator(allotment).click()
    expect(said(screen)).to_have_text(words(ALLOTMENT))
    expect(screen.page.locator("#chat .bot.message")).to_have_count(1)
    expect(screen.page.locator("#composer textarea")).to_have_value(KAYAK)


def test_what_a_chat_is_not_to_remember_is_not_chosen_for_the_one_that_is_left(screen: Screen) -> None:
    bees, _ = begin_two_chats(screen, "Wim")
    screen.open("chat-settings")
    page, forgetful = screen.page, screen.page.locator("#forgetful input")
    page.route("**/queue/join*", lambda route: (time.sleep(1), route.continue_()), times=1)
    page.locator(bees).click()
    expect(forgetful).to_be_disabled()
    expect(said(screen)).to_have_text(words(BEES))
    screen.open("chat-settings")
    forgetful.check()
    expect(page.locator("#unkept")).to_be_visible()


def test_the_memory_tab_shows_the_persona_of_the_chat_though_the_page_still_loads(screen: Screen) -> None:
    begin_two_chats(screen, "Xia")
    page = screen.page
    page.route("**/queue/join*", lambda route: (time.sleep(1), route.continue_()), times=1)
    page.reload()
    page.get_by_role("tab", name="Memory").click()
    expect(page.locator("#memory-persona input")).to_have_value("Xia")
