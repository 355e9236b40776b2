"""The Chat tab in a real browser."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Browser, Route, TimeoutError, expect

from memory.bank.bank import Bank
from memory.types import PersonaDraft, SessionDraft, TurnDraft
from support.browser_app import SLOW, App, Screen

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    running = App(tmp_path_factory.mktemp("chat"))
    running.start()
    yield running
    running.stop()


@pytest.mark.slow
def test_a_chat_survives_a_reload_and_is_resumed_with_its_citations(screen: Screen) -> None:
    expect(screen.page.locator("#place")).to_contain_text("You are Noor in this demo")
    screen.ask("Why is my cat called Comma?")
    screen.ask("When was Yara born?")
    screen.page.reload()
    expect(screen.page.locator("#chat .bot.message")).to_have_count(2)
    expect(screen.page.locator("#persona input")).to_have_value("Ida")
    for number, words in ((1, "called Comma"), (2, "Yara was born")):
        screen.page.locator(f"#chat a[href$='#source-{number}-1']").click()
        expect(screen.page.locator("#sources details[open] .memoir-turn-cited")).to_contain_text(words)
        expect(screen.page.locator("#sources details[open] .memoir-turn-cited")).to_be_in_viewport()
    screen.asked = 2
    screen.ask("What am I allergic to?")
    screen.page.locator("#new-chat").click()
    expect(screen.page.locator("#chat .message")).to_have_count(0)
    screen.page.locator("#past-chats a", has_text="Why is my cat called Comma?").first.click()
    expect(screen.page.locator("#chat .bot.message")).to_have_count(3)


@pytest.mark.slow
def test_what_is_sent_is_seen_whatever_was_being_read(screen: Screen) -> None:
    screen.page.set_viewport_size({"width": 1280, "height": 500})
    screen.make_persona("Rosa")
    for shed in ("red", "green", "blue", "white", "grey"):
        screen.ask(f"I painted a {shed} shed today.")
    log = screen.page.locator('#chat [role="log"]')
    # Gradio scrolls to the end 300 ms after the last change of the chat.
    log.evaluate("log => new Promise(done => setTimeout(() => done(log.scrollTop = 0), 600))")
    expect(screen.page.locator("#chat .bot.message").last).not_to_be_in_viewport()
    screen.ask("My kayak lies behind the grey shed.")
    expect(screen.page.locator("#chat .bot.message").last).to_be_in_viewport()


@pytest.mark.slow
def test_a_half_written_message_stays_with_its_chat_and_back_goes_to_the_chat_before(screen: Screen) -> None:
    page, composer, chats = screen.page, screen.page.locator("#composer textarea"), screen.page.locator("#past-chats a")
    screen.make_persona("Otto")
    screen.ask("I keep bees behind the shed.")
    composer.fill("And the hive")
    page.locator("#new-chat").click()
    expect(page.locator("#chat .message")).to_have_count(0)
    expect(composer).to_have_value("")
    composer.fill("Where do")
    chats.first.click()
    expect(composer).to_have_value("And the hive")
    expect(page.locator("#chat .bot.message")).to_have_count(1)
    page.go_back()
    expect(page.locator("#chat .message")).to_have_count(0)
    expect(composer).to_have_value("Where do")
    page.go_forward()
    expect(page.locator("#chat .bot.message")).to_have_count(1)
    expect(composer).to_have_value("And the hive")
    page.reload()
    expect(composer).to_have_value("And the hive")
    page.locator("#new-chat").click()
    expect(composer).to_have_value("Where do")
    screen.asked = 0
    screen.ask("Where do I keep bees?")
    page.locator("#new-chat").click()
    expect(page.locator("#chat .message")).to_have_count(0)
    expect(composer).to_have_value("")


AT_ONCE = """(text) => {
  const box = document.querySelector("#composer textarea");
  const enter = { key: "Enter", bubbles: true, cancelable: true };
  const press = (event) => box.dispatchEvent(new KeyboardEvent(event, enter));
  document.querySelector("#new-chat").click();
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
  setTimeout(() => press("keydown") && press("keypress"));
}"""
"""Opens a new chat, and sends a text before the server can have heard of it."""


@pytest.mark.slow
def test_what_is_sent_as_a_chat_is_left_goes_to_the_one_that_was_asked_for(screen: Screen) -> None:
    page, composer = screen.page, screen.page.locator("#composer textarea")
    screen.make_persona("Uma")
    screen.ask("I keep bees behind the shed.")
    page.route("**/queue/join*", lambda route: (time.sleep(0.5), route.continue_()), times=1)
    page.evaluate(AT_ONCE, "My allotment is number 14.")
    expect(page.locator("#past-chats a")).to_have_count(2)
    expect(page.locator("#chat .user.message")).to_contain_text("My allotment is number 14.")
    expect(page.locator("#chat .bot.message")).to_have_count(1)
    expect(composer).to_have_value("")


@pytest.mark.slow
def test_a_chat_is_found_renamed_taken_out_of_the_list_and_forgotten(screen: Screen) -> None:
    screen.make_persona("Wim")
    page, chats = screen.page, screen.page.locator("#past-chats a")
    for told in ("I keep bees behind the shed.", "My allotment is number 14.", "The kayak is green."):
        page.locator("#new-chat").click()
        expect(page.locator("#chat .message")).to_have_count(0)
        screen.asked = 0
        screen.ask(told)
    expect(page.locator("#past-chats h3")).to_have_text("Today")
    expect(chats).to_have_text([re.compile(told) for told in ("The kayak", "My allotment", "I keep bees")])
    page.locator("#chat-search :is(input, textarea)").fill("SHED bees")
    expect(chats).to_have_count(1)
    page.get_by_label("Rename or delete “I keep bees behind the shed.”").click()
    page.locator("#chat-title :is(input, textarea)").fill("Honey")
    page.locator("#chat-rename").click()
    expect(chats).to_have_text([re.compile("Honey")])
    chats.click()
    expect(page.locator("#chat .memoir-found")).to_have_text("I keep bees behind the shed.")
    expect(page.locator("#chat .memoir-found")).to_be_in_viewport()
    expect(chats).to_have_count(3)
    chats.first.click()
    expect(page.locator("#chat .user.message")).to_contain_text("The kayak is green.")
    expect(page.locator("#chat .memoir-found")).to_have_count(0)
    page.get_by_label("Rename or delete “My allotment is number 14.”").click()
    page.locator("#chat-hide").click()
    expect(chats).to_have_count(2)
    page.get_by_label("Rename or delete “The kayak is green.”").click()
    page.locator("#chat-forget").click()
    expect(page.locator("#chat-forget-planned")).to_contain_text("Forget this for good?")
    expect(chats).to_have_count(2)
    page.locator("#chat-forget-sure").click()
    expect(chats).to_have_count(1)
    expect(page.get_by_text("Forgotten: 2 messages and 1 memory.")).to_be_visible()
    expect(page.locator("#chat .message")).to_have_count(0)  # it was the open one
    screen.asked = 0
    assert "14" in screen.ask("What is the number of my allotment?")
    assert "kayak is green" not in screen.ask("What colour is the kayak?")


def test_on_a_phone_the_chats_are_a_drawer(screen: Screen) -> None:
    screen.visit_anew(390, 844)
    screen.ask("When was Yara born?")
    page, drawer = screen.page, screen.page.locator(".memoir-chats")
    expect(drawer).to_be_hidden()
    page.locator(".memoir-open-chats").click()
    expect(drawer).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(page.locator(".memoir-open-chats")).to_be_focused()
    page.locator(".memoir-open-chats").click()
    page.locator("#new-chat").click()
    expect(drawer).to_be_hidden()
    expect(page.locator("#chat .message")).to_have_count(0)
    page.locator(".memoir-open-chats").click()
    page.locator("#past-chats a").first.click()
    expect(drawer).to_be_hidden()
    expect(page.locator("#chat .bot.message")).to_have_count(1)
    assert not screen.overflows()


RECIPE = """Here it is:

| Ingredient | Amount for four | Amount for twelve | Where to buy |
|---|---|---|---|
| Plain flour | 250 g | 750 g | The mill in Ghent |

- [x] buy flour"""


def resume_recipe(app: App, screen: Screen, width: int, height: int) -> None:
    """Open a chat with Coach Bo, in which the reply has a table and a list to tick off."""
    bank, now = Bank(app.home / "bank.db"), datetime.now(UTC)
    bo = next((p for p in bank.personas() if p.name == "Coach Bo"), None) or bank.create_persona(
        PersonaDraft("Coach Bo", kept_apart=False)
    )
    turns = (
        TurnDraft("You", "user", "I am allergic to walnuts. Scale the recipe.", now, external_id="asked"),
        TurnDraft("Coach Bo", "assistant", RECIPE, now, external_id="said", recallable=False),
    )
    bank.remember(bo.id, [SessionDraft(turns, now, external_id="recipe", title="Recipe", source="chat")])
    screen.visit_anew(width, height, f"?chat=recipe&persona={bo.id}")
    expect(screen.page.locator("#chat table")).to_be_visible()


def test_on_a_phone_words_stay_whole_and_all_can_be_touched(app: App, screen: Screen, tmp_path: Path) -> None:
    resume_recipe(app, screen, 390, 844)
    page = screen.page
    word = page.locator("#chat th", has_text="Ingredient")
    assert (
        word.evaluate("e => { const r = new Range(); r.selectNodeContents(e); return r.getClientRects().length }") == 1
    )
    assert page.locator("#chat table").evaluate("e => e.clientWidth >= 300 && e.scrollWidth > e.clientWidth")
    assert page.locator("#chat li input").evaluate("e => getComputedStyle(e).appearance") == "auto"
    expect(page.locator("#place h2")).to_have_text("Coach Bo")
    small = (
        "(all) => all.filter((e) => e.offsetParent && e.getBoundingClientRect().height < 40).map((e) => e.outerHTML)"
    )
    touched = "#chat .message-buttons button, [role=tablist] button, .memoir-open-chats, .submit-button"
    assert page.locator(touched).evaluate_all(small) == []
    letters = tmp_path / "letters.txt"
    letters.write_text("[12/03/2025, 19:02:11] Nonna: Ciao\n[12/03/2025, 19:05:40] Sam: I passed!\n")
    screen.open("bring-in")
    page.locator("#upload input[type=file]").set_input_files(letters)
    expect(page.locator("#upload-start")).to_be_in_viewport(ratio=1)
    panel = page.locator("#bring-in").bounding_box()
    assert panel is not None
    assert panel["x"] == 390 - panel["x"] - panel["width"]
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 430})  # the keyboard is open
    page.locator("#composer textarea").fill("One line.\n" * 5)
    expect(page.locator(".submit-button")).to_be_in_viewport(ratio=1)
    expect(page.locator("#chat")).to_be_in_viewport(ratio=1)
    assert not screen.overflows()


@pytest.mark.slow
def test_a_panel_lies_over_the_page_until_one_goes_on_elsewhere(screen: Screen) -> None:
    page, panel = screen.page, screen.page.locator("#as-of")
    chat = page.locator("#chat").bounding_box()
    for leave in (lambda: page.keyboard.press("Escape"), page.locator("#composer textarea").click):
        screen.open("chat-settings")
        expect(panel).to_be_in_viewport()
        assert page.locator("#chat").bounding_box() == chat
        leave()
        expect(panel).to_be_hidden()
    screen.make_persona("Olga")
    expect(page.locator("#persona-name")).to_be_hidden()
    expect(page.locator("#composer textarea")).to_be_focused()


@pytest.mark.slow
def test_the_chat_fills_the_window_and_a_source_never_moves_it(screen: Screen) -> None:
    for width, height in ((1440, 900), (390, 844)):
        screen.visit_anew(width, height)
        screen.ask("Why is my cat called Comma?")
        composer = screen.page.locator("#composer").bounding_box()
        assert composer is not None
        assert height - 150 < composer["y"] + composer["height"] < height
        screen.page.locator("#chat a[href*='#source-']").first.click()
        quoted = screen.page.locator("#sources details[open] .memoir-turn-cited")
        expect(quoted).to_be_in_viewport(ratio=0.9)
        expect(quoted).to_be_visible()
        assert screen.page.evaluate("scrollY") == 0
        assert screen.page.locator("#composer").bounding_box() == composer
        screen.page.keyboard.press("Escape")
        if width < 760:
            expect(quoted).to_be_hidden()
        assert not screen.overflows()


def test_an_example_is_answered_with_a_source_that_opens_at_the_quoted_line(screen: Screen) -> None:
    screen.page.locator(".memoir-chip").first.click()
    assert "her tail is white" in screen.reply()
    screen.page.locator("#chat a[href*='#source-']").first.click()
    card = screen.page.locator("#sources details.memoir-source[open]")
    expect(card.locator(".memoir-badge")).to_have_text("Conversation")
    expect(card.locator(".memoir-turn-cited")).to_be_in_viewport(ratio=0.9)
    expect(card.locator(".memoir-turn-cited")).to_contain_text("called Comma")
    assert card.locator(".memoir-turn").count() > 3


def test_how_i_remembered_shows_classes_candidates_and_times(screen: Screen) -> None:
    screen.ask("When was Yara born?")
    screen.open("how")
    expect(screen.page.locator("#how meter")).to_have_count(5)
    expect(screen.page.locator("#how-candidates .virtual-row").first).to_be_visible()
    expect(screen.page.locator("#how-steps")).to_contain_text("Search")
    expect(screen.page.locator("#how .js-plotly-plot")).to_be_visible(timeout=SLOW)


def test_what_is_told_is_acknowledged_with_its_date_and_recalled_in_another_window(
    app: App, browser: Browser, screen: Screen
) -> None:
    screen.make_persona("Robin")
    yesterday = datetime.now(UTC).astimezone() - timedelta(days=1)
    date = f"{yesterday.day} {yesterday:%B %Y}"
    assert date in screen.ask("I adopted a puppy yesterday.")
    assert date in screen.ask("When did I adopt a puppy?")
    other = Screen(browser, app.url)
    other.page.locator("#persona input").click()
    other.page.get_by_role("option", name="Robin").click()
    expect(other.page.locator("#chat")).to_contain_text("Talk with Robin")
    assert date in other.ask("When did I adopt a puppy?")
    other.close()


def test_what_is_not_known_is_refused_with_a_reason(screen: Screen) -> None:
    screen.make_persona("Toni")
    assert re.search("I don't know|I'm not sure", screen.ask("What is the name of my dentist?"))
    why = re.compile("No memory comes close to this question|none of them answers it")  # others were told things, too
    expect(screen.page.locator("#sources")).to_contain_text(why)


@pytest.mark.slow
def test_a_persona_keeps_whether_it_may_bring_memories_up(screen: Screen) -> None:
    screen.make_persona("Sasha", proactive=False)
    screen.open("chat-settings")
    switch = screen.page.locator("#proactive input")
    expect(switch).not_to_be_checked()
    for name, kept in (("Ida", True), ("Sasha", False), ("Ida", True)):
        screen.page.locator("#persona input").click()
        screen.page.get_by_role("option", name=name).click()
        expect(screen.page.locator("#chat")).to_contain_text(name)
        expect(switch).to_be_checked(checked=kept)
    screen.open("chat-settings")
    switch.uncheck()
    screen.page.wait_for_timeout(500)
    screen.page.reload()
    expect(screen.page.locator("#persona input")).to_have_value("Ida")
    screen.open("chat-settings")
    expect(switch).not_to_be_checked()
    switch.check()


def test_a_feeling_brings_up_a_memory_whose_source_opens(app: App, screen: Screen) -> None:
    screen.make_persona("Alex")
    bank, said = Bank(app.home / "bank.db"), datetime(2026, 3, 4, 12, tzinfo=UTC)
    told = "I was so nervous before my piano exam, but breathing slowly behind the curtain helped me."
    bank.remember(bank.persona("Alex").id, [SessionDraft((TurnDraft("You", "user", told, said),), said, source="chat")])
    assert "breathing slowly behind the curtain" in screen.ask("I'm so nervous about my driving test tomorrow.")
    expect(screen.page.locator("#sources .memoir-source")).to_have_count(1)


@pytest.mark.slow
def test_a_chat_that_is_not_to_be_remembered_leaves_nothing(screen: Screen) -> None:
    screen.make_persona("Kim")
    screen.open("chat-settings")
    screen.page.locator("#forgetful input").check()
    assert "not remembering" in screen.ask("I hid the spare key under the third flowerpot.")
    expect(screen.page.locator("#unkept")).to_be_visible()
    screen.page.locator("#new-chat").click()
    expect(screen.page.locator("#unkept")).to_be_hidden()
    expect(screen.page.locator("#forgetful input")).not_to_be_checked()
    screen.memory()
    expect(screen.page.locator("#memory-totals")).to_contain_text("Nothing remembered yet")


def test_the_composer_is_empty_at_once_and_keeps_what_is_typed_meanwhile(screen: Screen) -> None:
    screen.make_persona("Lou")
    page, composer = screen.page, screen.page.locator("#composer textarea")
    sent: list[Route] = []
    page.route("**/queue/join*", lambda route: sent.append(route), times=1)
    composer.fill("I keep bees behind the shed.")
    composer.press("Enter")
    expect(composer).to_have_value("")
    composer.press_sequentially("They are")
    while not sent:
        page.wait_for_timeout(10)
    sent[0].continue_()
    screen.reply()
    expect(page.locator("#composer .submit-button")).to_be_visible()
    expect(composer).to_have_value("They are")
    expect(page.locator("#chat .user.message")).to_have_text(re.compile("I keep bees behind the shed"))


def test_what_is_asked_again_twice_at_once_loses_no_message(screen: Screen) -> None:
    screen.make_persona("Mo")
    page, said = screen.page, screen.page.locator("#chat .user.message")
    screen.ask("I keep bees behind the shed.")
    screen.ask("My allotment is number 14.")
    for _ in range(3):
        page.get_by_label("Retry", exact=True).last.dblclick()
        expect(page.locator("#chat .bot.message")).to_have_count(2)
        expect(page.locator("#composer .submit-button")).to_be_visible(timeout=SLOW)
    expect(page.locator("#composer textarea")).to_have_value("")
    expect(said).to_have_count(2)
    page.reload()
    expect(said).to_have_count(2)
    expect(said.first).to_contain_text("bees")


def test_the_last_message_is_asked_again_or_taken_back_with_all_that_came_of_it(screen: Screen) -> None:
    screen.make_persona("Ro")
    screen.ask("I keep bees behind the shed.")
    screen.ask("My allotment is number 14.")
    composer, refused = screen.page.locator("#composer textarea"), screen.page.locator(".toast-body")
    screen.page.get_by_label("Retry", exact=True).last.click()
    while not composer.input_value():
        screen.page.get_by_label("Undo", exact=True).last.click()
        with suppress(TimeoutError):  # what is pressed again before the page heard that it was refused does nothing
            screen.page.wait_for_function(
                "() => document.querySelector('#composer textarea').value || document.querySelector('.toast-body')",
                timeout=10_000,
            )
        if refused.is_visible():
            expect(refused).to_contain_text("still being written")
            screen.page.locator(".toast-close").click()
            expect(refused).to_have_count(0)
    expect(composer).to_have_value("My allotment is number 14.")
    expect(screen.page.locator("#chat .user.message")).to_have_count(1)
    screen.memory()
    expect(screen.page.locator("#memory-totals")).to_contain_text("(2 turns)")
    assert not screen.faults


def test_a_message_is_edited_and_sent_again_with_all_that_came_of_it_forgotten(app: App, screen: Screen) -> None:
    screen.make_persona("Una")
    page, composer, edited = screen.page, screen.page.locator("#composer textarea"), screen.page.locator("#edited")
    screen.ask("My *locker* code is <wombat17>.")
    screen.ask("I keep bees behind the shed.")
    composer.press("ArrowUp")
    expect(composer).to_have_value("I keep bees behind the shed.")
    composer.press("Escape")
    expect(edited).to_be_hidden()
    expect(composer).to_have_value("")
    page.locator("#chat [aria-label='Edit']").first.click()
    expect(composer).to_have_value("My *locker* code is <wombat17>.")
    expect(edited).to_be_visible()
    expect(page.locator("#chat .user.message")).to_have_count(2)  # nothing is gone yet
    composer.fill("My locker code is 5528.")
    composer.press("Enter")
    expect(edited).to_be_hidden()
    expect(page.locator("#chat .user.message")).to_have_text([re.compile("5528")])  # a list waits until there is one
    expect(page.locator("#composer .submit-button")).to_be_visible(timeout=SLOW)
    screen.asked = 1
    assert "5528" in screen.ask("What is my locker code?")
    screen.memory()
    expect(page.locator("#memory-totals")).to_contain_text("(4 turns)")
    assert not [path for path in app.home.glob("bank.db*") if b"wombat17" in path.read_bytes()]


def test_a_message_is_copied_as_it_was_written(screen: Screen) -> None:
    screen.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    written = "I like *stars*, <b>bold</b> and snake_case \\o/."
    screen.ask(written)
    screen.page.locator("#chat [aria-label='Copy message']").first.click()
    assert screen.page.evaluate("navigator.clipboard.readText()") == written
    screen.ask("Why is my cat called Comma?")
    screen.page.locator("#chat .message-buttons-left [aria-label='Copy message']").last.click()
    assert re.fullmatch(r"[^\[\]]*Comma[^\[\]]*", screen.page.evaluate("navigator.clipboard.readText()"))


@pytest.mark.slow
def test_an_empty_message_does_nothing_and_a_long_one_is_answered(screen: Screen) -> None:
    screen.page.locator("#composer textarea").press("Enter")
    screen.page.wait_for_timeout(1500)
    expect(screen.page.locator("#chat .message")).to_have_count(0)
    assert screen.ask("The orchard is quiet tonight. " * 1667)


def test_a_message_shows_as_it_was_written(screen: Screen) -> None:
    written = "I like *stars*, <b>bold</b> and ![pictures](http://outside.invalid/p.png)."
    screen.ask(written)
    expect(screen.page.locator("#chat .user.message, #chat .message.user").last).to_have_text(
        re.compile(re.escape(written))
    )


# After the others: a name that is told is the user's in every persona.
@pytest.mark.slow
def test_what_two_users_tell_in_ordinary_words_is_answered_in_a_later_chat(screen: Screen) -> None:
    told = Path(__file__).parent / "data" / "tell_and_ask.jsonl"
    pairs = [json.loads(line) for line in told.read_text("utf-8").splitlines()[:8]]
    for name, own in (("Noa", pairs[:4]), ("Eli", pairs[4:])):
        screen.make_persona(name)
        for pair in own:
            screen.ask(pair["tell"])
        screen.page.locator("#new-chat").click()
        expect(screen.page.locator("#chat .message")).to_have_count(0)
        screen.asked = 0
        for pair in own:
            answer = screen.ask(pair["ask"]).lower()
            assert any(value in answer for value in pair["expect"]), (pair, answer)
