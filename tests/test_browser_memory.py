"""Bringing histories in, and the Memory tab, in a real browser."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from memory.bank.bank import Bank
from memory.forgetting.forget import find_in_bank
from support.browser_app import DATA, SLOW, App, Screen
from support.export_files import EXPORTS, write_zip

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    running = App(tmp_path_factory.mktemp("memory"))
    running.start()
    yield running
    running.stop()


def take_first_talk(screen: Screen) -> None:
    screen.bring_in(DATA / "two_talks.json")
    expect(screen.page.locator("#upload-found")).to_contain_text("2 chat histories")
    screen.page.locator("#upload-choose input").click()
    screen.page.locator("#upload-choose input").press_sequentially("talk-1")
    screen.page.get_by_role("option").first.click()
    screen.page.keyboard.press("Escape")
    screen.page.locator("#upload-start").click()
    expect(screen.page.locator("#upload-report")).to_contain_text("was imported", timeout=SLOW)


@pytest.mark.slow
def test_a_history_is_chosen_imported_and_asked_as_of_its_end_if_one_wishes(app: App, screen: Screen) -> None:
    take_first_talk(screen)
    expect(screen.page.locator("#persona input")).to_have_value(re.compile("Ana"))
    screen.page.keyboard.press("Escape")
    screen.open("chat-settings")
    expect(screen.page.locator("#as-of input")).to_have_value("")
    screen.page.locator("#at-end").click()
    expect(screen.page.locator("#as-of input")).to_have_value("2024-04-11")
    expect(screen.page.locator("#date-note")).to_contain_text("This history ends on 11 April 2024")
    assert "3 March 2024" in screen.ask("When did Ana visit the old lighthouse?")
    expect(screen.page.locator("#dated")).to_have_text(re.compile("As of 11 April 2024"))
    screen.page.locator("#dated").click()
    expect(screen.page.locator("#dated")).to_be_hidden()
    expect(screen.page.locator("#as-of input")).to_have_value("")
    left = [f for f in (app.home / "uploads").rglob("*") if f.is_file() and f.stat().st_size]
    assert left == []


def test_the_same_history_again_adds_nothing(screen: Screen) -> None:
    take_first_talk(screen)
    take_first_talk(screen)
    expect(screen.page.locator("#upload-report tr").nth(2)).to_have_text(re.compile(r"Added\s*0\s*0\s*0"))


def test_of_several_histories_one_must_be_chosen(screen: Screen) -> None:
    screen.bring_in(DATA / "two_talks.json")
    screen.page.locator("#upload-start").click()
    expect(screen.page.locator("#upload-report")).to_contain_text("Choose at least one")


def test_a_file_that_is_no_history_is_refused_with_the_known_formats(screen: Screen, tmp_path: Path) -> None:
    picture = tmp_path / "holiday.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    screen.bring_in(picture)
    expect(screen.page.locator("#upload-report")).to_contain_text(re.compile("holiday.png.*Known formats", re.DOTALL))


def test_an_import_asks_who_you_are_and_the_persona_is_called_like_the_other(screen: Screen, tmp_path: Path) -> None:
    lines = ("Wen: My rowing boat is called Reiher.", "Bo Lund: A heron for the river.")
    file = tmp_path / "_chat.txt"
    file.write_text("".join(f"[01/05/24, 08:0{n}:05] {line}\n" for n, line in enumerate(lines)), encoding="utf-8")
    screen.bring_in(file)
    expect(screen.page.locator("#upload-user")).to_contain_text("Which one are you?")
    screen.page.locator("#upload-start").click()
    expect(screen.page.locator("#upload-report")).to_contain_text("Choose which one you are")
    screen.page.get_by_label("Wen", exact=True).check()
    screen.page.get_by_label("As a persona of its own").check()
    screen.page.locator("#upload-apart input").check()
    screen.page.locator("#upload-start").click()
    expect(screen.page.locator("#upload-report")).to_contain_text("was imported", timeout=SLOW)
    expect(screen.page.locator("#persona input")).to_have_value("Bo Lund")
    expect(screen.page.locator("#apart input")).to_be_checked()
    expect(screen.page.locator("#upload-user")).to_be_hidden()


def test_an_archive_of_chatgpt_is_looked_into_and_brought_in(screen: Screen, tmp_path: Path) -> None:
    members = {"conversations.json": (EXPORTS / "chatgpt.json").read_text(), "chat.html": "<html></html>"}
    screen.bring_in(write_zip(tmp_path / "export.zip", members))
    expect(screen.page.locator("#upload-found")).to_contain_text("is in ChatGPT format and contains 1 chat history")
    screen.page.locator("#upload-start").click()
    expect(screen.page.locator("#upload-report")).to_contain_text("export.zip was imported", timeout=SLOW)
    expect(screen.page.locator("#persona input")).to_have_value("Memoir")
    expect(screen.page.locator("#apart input")).not_to_be_checked()
    screen.page.keyboard.press("Escape")
    screen.page.locator("#past-chats a").first.click()
    expect(screen.page.locator("#chat .message").first).to_be_visible()
    screen.open("bring-in")
    screen.page.locator("#upload-report summary").click()
    expect(screen.page.locator("#upload-report li").last).to_have_text(re.compile("chat.html: not text"))


def test_a_character_card_in_a_picture_becomes_a_persona(screen: Screen, tmp_path: Path) -> None:
    texts = PngInfo()
    texts.add_text("chara", base64.b64encode((EXPORTS / "card.json").read_bytes()).decode())
    Image.new("RGB", (400, 600), "navy").save(tmp_path / "iris.png", pnginfo=texts)
    screen.bring_in(tmp_path / "iris.png")
    expect(screen.page.locator("#upload-found")).to_contain_text("character card")
    screen.page.locator("#upload-start").click()
    expect(screen.page.locator("#upload-report")).to_contain_text("iris.png was imported", timeout=SLOW)
    expect(screen.page.locator("#persona input")).to_have_value(re.compile("Iris"))
    avatar = screen.page.locator("#chat .bot-row .avatar-image").first
    expect(avatar).to_have_css("content", re.compile(r'^url\("data:image/jpeg;base64,'))


def test_a_chat_that_is_left_by_an_import_is_learned_from(app: App, screen: Screen) -> None:
    screen.ask("I planted a quince tree in Delft last Friday.")
    screen.bring_in(EXPORTS / "card.json")
    screen.page.locator("#upload-start").click()
    expect(screen.page.locator("#upload-report")).to_contain_text("was imported", timeout=SLOW)
    bank, until = Bank(app.home / "bank.db"), time.monotonic() + 30
    while not (
        learned := [m for p in bank.personas() for m in bank.memories(p.id, store="event") if "Delft" in m.text]
    ):
        assert time.monotonic() < until
        time.sleep(0.2)
    assert learned[0].event is not None


DROP = """([name, text]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([text], name));
  for (const kind of ["dragover", "drop"]) {
    const event = new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true });
    document.querySelector("#composer textarea").dispatchEvent(event);
  }
}"""


def test_a_file_that_is_dropped_on_the_chat_is_shown_before_it_is_imported(screen: Screen) -> None:
    for file, format_ in ((EXPORTS / "card.json", "character card"), (EXPORTS / "whatsapp-iphone.txt", "WhatsApp")):
        screen.page.evaluate(DROP, [file.name, file.read_text(encoding="utf-8")])
        expect(screen.page.locator("#upload-found")).to_contain_text(format_)
        expect(screen.page.locator("#upload-start")).to_be_in_viewport()


def test_nothing_in_an_imported_text_runs(screen: Screen) -> None:
    screen.bring_in(DATA / "hostile.jsonl")
    screen.page.locator("#upload-start").click()
    expect(screen.page.locator("#upload-report")).to_contain_text("was imported", timeout=SLOW)
    expect(screen.page.locator("#persona input")).to_have_value(re.compile("Mira"))
    assert "Quittenbaum" in screen.ask("What is the password of the garden gate?")
    screen.page.locator("#sources summary").first.click()
    expect(screen.page.locator("#sources .memoir-turn-cited")).to_contain_text("<img src=x")
    screen.open("how")
    screen.page.wait_for_timeout(1000)
    table = screen.memory()
    choose_kind(screen, "Conversation")
    table.locator("[data-memory]").last.click()
    expect(screen.page.locator("#memory-detail .memoir-quote")).to_be_visible()
    assert screen.page.evaluate("window.hacked") is None


def choose_kind(screen: Screen, name: str) -> None:
    screen.page.locator("#memory-kind input").click()
    screen.page.get_by_role("option", name=name, exact=True).click()


def test_facts_people_and_events_are_listed_and_what_was_said_is_behind_a_filter(screen: Screen) -> None:
    table, where = screen.memory(), screen.page.locator("#memory-where")
    expect(where).to_have_text(re.compile(r"1–50 of (?:[6-9]\d|1\d\d)"))
    expect(screen.page.locator("#memory-totals")).to_contain_text("facts, people and events from 4")
    expect(table.locator("h2").first).to_have_text("You")
    expect(table.locator("h2:text-is('Health') + ul")).to_contain_text(
        re.compile("allergic to walnuts.*17 May 2026", re.S)
    )
    expect(table.locator("h2:text-is('Conversation')")).to_have_count(0)
    screen.page.get_by_role("button", name="Next").click()
    expect(where).to_have_text(re.compile(r"51–\d+ of \d+"))
    choose_kind(screen, "Conversation")
    expect(where).to_have_text(re.compile(r"1–50 of [4-5]\d\d"))
    choose_kind(screen, "Events")
    expect(where).to_have_text(re.compile(r"1–\d\d of \d{2,3}\s*$"))
    screen.page.locator("#memory-search textarea, #memory-search input").fill("quince jam")
    expect(where).to_contain_text("found", timeout=SLOW)
    expect(table.locator("[data-memory]").first).to_contain_text("quince jam")
    screen.page.locator("#memory-search textarea, #memory-search input").fill("submarine")
    expect(where).to_contain_text("No matches", timeout=SLOW)


def test_a_memory_is_read_with_its_source_and_forgotten_for_good(screen: Screen) -> None:
    table = screen.memory()
    screen.page.locator("#memory-search textarea, #memory-search input").fill("cat called Comma")
    expect(screen.page.locator("#memory-where")).to_contain_text("found", timeout=SLOW)
    screen.page.wait_for_timeout(500)
    row = table.locator("[data-memory]", has_text="My cat is called Comma, because her tail").first
    row.click()
    expect(screen.page.locator("#memory-detail")).to_contain_text("10 May 2026")
    expect(screen.page.locator("#memory-origin .memoir-turn-cited")).to_contain_text("My cat is called Comma")
    screen.page.locator("#memory-forget").click()
    expect(screen.page.locator(".memoir-confirm").first).to_contain_text(re.compile("memor(y|ies), 1 turn"))
    screen.page.locator("#memory-forget-sure").click()
    result = screen.page.locator("#memory-result")
    expect(result).to_contain_text(re.compile("1 turn.*; no traces left in the file"), timeout=SLOW)
    expect(table.locator("[data-memory]", has_text="My cat is called Comma, because her tail")).to_have_count(0)


def test_what_was_forgotten_leaves_the_open_chat_with_its_source(screen: Screen) -> None:
    page, chat = screen.page, screen.page.locator("#chat")
    screen.make_persona("Odile")
    screen.ask("My locker code is 4417.")
    screen.ask("I keep bees behind the shed.")
    assert "4417" in screen.ask("What is my locker code?")
    expect(page.locator("#sources")).to_contain_text("4417")
    screen.open("how")
    expect(page.locator("#how")).to_contain_text("4417")
    screen.memory()
    page.locator("#memory-kind input").click()
    page.get_by_role("option", name="Conversation", exact=True).click()
    page.locator("#memory-list [data-memory]", has_text="4417").click()
    page.locator("#memory-forget").click()
    page.locator("#memory-forget-sure").click()
    expect(page.locator("#memory-result")).to_contain_text("no traces left in the file", timeout=SLOW)
    page.get_by_role("tab", name="Chat").click()
    expect(chat.locator(".user.message")).to_have_count(1, timeout=SLOW)
    expect(chat).not_to_contain_text("4417")
    expect(page.locator("#sources")).not_to_contain_text("4417")
    expect(page.locator("#past-chats")).not_to_contain_text("4417")
    expect(page.locator("#how")).to_contain_text("No answer yet")
    screen.asked = 1
    screen.ask("What is my locker code?")
    expect(chat).not_to_contain_text("4417")
    assert not screen.faults


def test_a_memory_is_edited_pinned_and_all_of_it_undone(screen: Screen) -> None:
    table, page = screen.memory(), screen.page
    table.locator("[data-memory]").nth(25).click()
    expect(page.locator("#memory-detail .memoir-quote")).to_be_in_viewport()
    page.locator("#memory-search textarea, #memory-search input").fill("paper conservator")
    expect(page.locator("#memory-where")).to_contain_text("found", timeout=SLOW)
    page.wait_for_timeout(500)
    table.locator("[data-memory]").first.click()
    page.locator("#memory-edit").click()
    before = page.locator("#memory-text textarea").input_value()
    page.locator("#memory-text textarea").fill("Restores globes for a living")
    page.locator("#memory-since input, #memory-since textarea").first.fill("sometime")
    page.locator("#memory-save").click()
    expect(page.get_by_text("“sometime” is not a date")).to_be_visible()
    page.locator("#memory-since input, #memory-since textarea").first.fill("May 2019")
    page.locator("#memory-save").click()
    expect(page.locator("#memory-detail")).to_contain_text("Restores globes for a living")
    expect(page.locator("#memory-undo")).to_contain_text(f"Undo the edit of “{before[:20]}")
    table.locator("[data-memory]").nth(1).click()
    expect(page.locator("#memory-undo")).to_be_hidden()
    page.locator("#memory-search textarea, #memory-search input").fill("globes")
    table.locator("[data-memory]", has_text="Restores globes").click()
    page.locator("#memory-pin").click()
    expect(page.locator("#memory-pin")).to_have_text("Unpin")
    page.locator("#memory-undo").click()
    expect(page.locator("#memory-pin")).to_have_text("Pin")
    page.locator("#memory-undo").click()
    expect(page.locator("#memory-detail")).to_contain_text(before)
    expect(page.locator("#memory-undo")).to_be_hidden()
    assert not screen.faults


def test_open_pictures_show_what_is_held_after_a_correction_and_after_forgetting(screen: Screen) -> None:
    table, page = screen.memory(), screen.page
    screen.open("memory-pictures")
    words = page.locator("#picture-people-words")
    expect(words).to_contain_text("Wen, friend of Noor", timeout=SLOW)
    choose_kind(screen, "People")
    expect(page.locator("#memory-where")).to_have_text(re.compile(r"1–[12]\d of [12]\d\s*$"))
    page.wait_for_timeout(500)
    table.locator("[data-memory]", has_text="Wen shared the bench").click()
    expect(page.locator("#memory-detail")).to_contain_text("Wen shared the bench")
    page.locator("#memory-wrong").click()
    expect(words).not_to_contain_text("Wen", timeout=SLOW)
    expect(table.locator("[data-memory]", has_text="Wen shared the bench")).to_have_count(0)
    page.locator("#memory-undo").click()
    expect(words).to_contain_text("Wen, friend of Noor", timeout=SLOW)
    page.locator("#memory-forget").click()
    page.locator("#memory-forget-fact").click()
    expect(words).not_to_contain_text("Wen", timeout=SLOW)
    expect(page.locator("#memory-undo")).to_contain_text("as wrong")
    page.locator("#memory-undo").click()
    expect(words).to_contain_text("Wen, friend of Noor", timeout=SLOW)
    page.locator("#memory-forget").click()
    page.locator("#memory-forget-sure").click()
    expect(words).not_to_contain_text("Wen", timeout=SLOW)
    assert not screen.faults


def test_what_was_said_in_a_chat_is_learned_once_it_is_over_with_its_words_marked(screen: Screen) -> None:
    screen.ask("I was so relieved at the harbour festival yesterday. It rained all day.")
    screen.page.locator("#new-chat").click()
    table = screen.memory()
    choose_kind(screen, "Events")
    event = table.locator("[data-memory]", has_text="relieved at the harbour festival")
    for _ in range(40):
        if event.count():
            break
        screen.page.wait_for_timeout(500)
        screen.page.get_by_role("tab", name="Chat").click()
        screen.memory()
    event.first.click()
    expect(screen.page.locator("#memory-detail")).to_contain_text("relief")
    expect(screen.page.locator("#memory-origin mark")).to_have_text(
        "I was so relieved at the harbour festival yesterday."
    )


def test_a_persona_is_renamed_and_then_deleted_with_all_that_it_knows(app: App, screen: Screen, tmp_path: Path) -> None:
    page = screen.page
    screen.open("new-persona")
    page.locator("#persona-name").locator("input, textarea").fill("Quirin")
    screen.open("persona-more")
    Image.new("RGB", (400, 600), "navy").save(tmp_path / "navy.jpg")
    Image.new("RGB", (400, 600), "red").save(tmp_path / "red.png")
    page.locator("#persona-picture input[type=file]").set_input_files(tmp_path / "navy.jpg")
    expect(page.locator("#persona-picture")).to_contain_text("navy")
    page.locator("#persona-create").click()
    expect(page.locator("#persona input")).to_have_value("Quirin")
    first = Bank(app.home / "bank.db").persona("Quirin").picture
    assert first.startswith("data:image/jpeg;base64,")
    screen.ask("My submarine is painted vermilion.")
    screen.memory()
    screen.open("persona-edit")
    name = page.locator("#persona-new-name").locator("input, textarea")
    expect(name).to_have_value("Quirin")
    name.fill("Ida")
    page.locator("#persona-rename").click()
    expect(page.get_by_text("There is already a persona called Ida")).to_be_visible()
    name.fill("Quirina")
    page.locator("#persona-rename").click()
    expect(page.locator("#memory-persona input")).to_have_value("Quirina")
    expect(page.locator("#persona input")).to_have_value("Quirina")
    screen.open("persona-edit-more")
    page.locator("#persona-edit-picture input[type=file]").set_input_files(tmp_path / "red.png")
    expect(page.locator("#persona-edit-picture")).to_contain_text("red")
    # Not earlier: the form is filled anew once the persona has its new name.
    page.locator("#persona-edit-first-message textarea").fill("Who is out there?")
    page.locator("#persona-save").click()
    expect(page.locator("#persona-result")).to_contain_text("Saved")
    assert Bank(app.home / "bank.db").persona("Quirina").picture not in ("", first)
    assert Bank(app.home / "bank.db").persona("Quirina").first_message == "Who is out there?"
    page.locator("#persona-delete").click()
    asked = page.locator("#persona-delete-planned")
    expect(asked).to_contain_text("Delete Quirina for good?")
    expect(asked).to_contain_text(re.compile(r"\d memor(y|ies), 2 turns, 1 whole conversation"))
    page.get_by_role("button", name="Cancel").locator("visible=true").click()
    expect(asked).to_be_hidden()
    assert find_in_bank(app.home / "bank.db", ["vermilion"])
    page.locator("#persona-delete").click()
    page.locator("#persona-delete-sure").click()
    expect(page.locator("#persona-result")).to_contain_text("no traces left in the file", timeout=SLOW)
    expect(page.locator("#memory-persona input")).to_have_value("Ida")
    expect(page.locator("#persona input")).to_have_value("Ida")
    assert not find_in_bank(app.home / "bank.db", ["vermilion", "Quirin"])
    assert not screen.faults


def test_an_import_knows_which_one_you_are_if_you_told_your_name(screen: Screen, tmp_path: Path) -> None:
    screen.make_persona("Wim")
    screen.ask("My name is Sanne.")
    file = tmp_path / "_chat.txt"
    lines = [f"[01/05/24, 08:0{n}:05] {name}: Hi!\n" for n, name in enumerate(("Bo Lund", "Sanne", "Noor"))]
    file.write_text("".join(lines), encoding="utf-8")
    screen.bring_in(file)
    expect(screen.page.get_by_label("Sanne", exact=True)).to_be_checked()
    file.write_text(lines[0] + lines[2], encoding="utf-8")  # Noor is the user's name in the demo, which is kept apart
    screen.visit_anew()
    screen.bring_in(file)
    expect(screen.page.get_by_label("Noor", exact=True)).to_be_visible()
    expect(screen.page.get_by_label("Noor", exact=True)).not_to_be_checked()
