from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from graph.assistant import Assistant
from graph.models.registry import chat_model
from graph.nodes.persist import title_of
from graph.replies.facts import state_fact
from graph.state import Ask, Services
from graph.tab.chat_box import LOOKING, coming_up, describe_persona
from graph.tab.chat_list import name_chats, render_chats
from graph.tab.chats import (
    build_ask,
    earlier_replies,
    find_place,
    forget_from,
    given_reply,
    open_new,
    resume,
    user_places,
    without_forgotten,
)
from graph.tab.evidence import render_last_sources, render_sources_of
from graph.tab.messages import Chat, PastAnswer, shown, user_bubble
from graph.tab.personas import SAMPLE, introduce, own_assistant
from memory import ingest
from memory.bank import journal
from memory.bank.bank import Bank
from memory.bank.corrections import edit, mark_wrong
from memory.bank.queries.chats import change_chat, find_chat, last_chat, memories_of_chat, past_chats
from memory.bank.queries.told import facts_told
from memory.embedding.turns import asking
from memory.exporting import export
from memory.forgetting.forget import forget_memories
from memory.search import indexer
from memory.search.indexer import BATCH, Indexer
from memory.types import Persona, PersonaDraft, Session, SessionDraft, TurnDraft
from support.chat_server import ChatServer

NOW = datetime(2024, 7, 1, 10, tzinfo=UTC)


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    return Bank(tmp_path / "bank.db")


def chat(bank: Bank, persona_id: int, chat_id: str, *texts: str, cites: tuple[int, ...] = ()) -> None:
    """Store a chat in which user and persona take turns; the replies cite memories."""
    turns = (
        TurnDraft("Iris", "assistant", text, NOW, external_id=f"{chat_id}-{n}", recallable=False, cites=cites)
        if n % 2
        else TurnDraft("You", "user", text, NOW, external_id=f"{chat_id}-{n}")
        for n, text in enumerate(texts)
    )
    bank.remember(persona_id, [SessionDraft(tuple(turns), NOW, external_id=chat_id, title=texts[0], source="chat")])


def test_a_chat_is_resumed_with_its_citations_in_their_order_also_after_an_export(bank: Bank, tmp_path: Path) -> None:
    iris = bank.create_persona(PersonaDraft("Iris")).id
    chat(bank, iris, "a", "I adopted a greyhound.", "Lovely.", "It is called Biscuit.", "Noted.")
    first, second = sorted(m.id for m in bank.memories(iris))
    chat(bank, iris, "b", "What is my dog called?", "Biscuit [1], a greyhound [2].", cites=(second, first))
    moved = Bank(tmp_path / "moved.db")
    export.write_export(bank, bank.personas(), tmp_path / "bank.jsonl")
    ingest.ingest(moved, tmp_path / "bank.jsonl")
    for each in (bank, moved):
        past = find_chat(each, "b")
        assert past is not None
        resumed = resume(each, past)
        assert (resumed.id, resumed.persona_id) == ("b", past.persona_id)
        assert [bubble.role for bubble in resumed.bubbles] == ["user", "assistant"]
        assert "[1](#source-1-1)" in resumed.bubbles[1].markdown
        assert [each.memory(past.persona_id, i).text for _, i, _ in resumed.answers[0].cited] == [
            "It is called Biscuit.",
            "I adopted a greyhound.",
        ]
        html = render_sources_of(each, past.persona_id, resumed.answers[0])
        assert html.index("source-1-1") < html.index("It is called Biscuit.") < html.index("source-1-2")


def test_a_chat_opens_with_the_first_message_of_the_card_and_is_resumed_with_it(services: Services) -> None:
    bank = services.bank
    iris = bank.create_persona(PersonaDraft("Iris", first_message="Good morning, {{user}}.", kept_apart=False))
    assert [bubble.text for bubble in open_new(bank, iris, None).bubbles] == ["Good morning."]
    introduce(bank, "Noor")
    opened = open_new(bank, iris, None)
    assert [bubble.text for bubble in opened.bubbles] == ["Good morning, Noor."]
    Assistant(services).ask(build_ask(bank, "I live in Porto.", opened, None, remember=True))
    session = find_chat(bank, opened.id)
    assert session is not None
    assert (session.title, session.turn_count) == ("I live in Porto.", 3)
    resumed = resume(bank, session)
    assert [bubble.role for bubble in resumed.bubbles] == ["assistant", "user", "assistant"]
    assert resumed.bubbles[0].text == "Good morning, Noor."
    assert [answer.question for answer in resumed.answers] == ["I live in Porto."]
    assert not [memory for memory in bank.memories(iris.id) if "morning" in memory.text]
    entry = journal.read(bank, 1)[0]
    assert (entry.action, entry.request) == ("talked", f"chat {opened.id}")
    (made, *_) = memories_of_chat(bank, iris.id, opened.id, bank.turns(iris.id, session.id)[1].external_id)
    assert made.text == "I live in Porto."


def test_what_was_told_before_the_clock_was_set_back_is_found(services: Services) -> None:
    bank, later = services.bank, datetime.now(UTC) + timedelta(hours=3)
    iris = bank.create_persona(PersonaDraft("Iris"))
    told = TurnDraft("You", "user", "My locker code is 4417.", later, external_id="told")
    bank.remember(iris.id, [SessionDraft((told,), later, external_id="a", source="chat")])
    ask = build_ask(bank, "What is my locker code?", open_new(bank, iris, None), None, remember=True)
    assert ask.as_of >= later
    assert "4417" in Assistant(services).ask(ask).reading.answer


def test_a_message_waits_for_no_import_of_another_persona_and_not_long_for_its_own(services: Services) -> None:
    busy, idle = (services.bank.create_persona(PersonaDraft(name)) for name in ("Busy", "Idle"))
    chat(services.bank, busy.id, "c1", *(f"Line {n} of a long import." for n in range(50)))
    services.searcher.embedder.load()
    idler = Indexer(services.bank, services.searcher.embedder)  # it never runs: what is pending stays so
    assistant = Assistant(services)
    assert list(assistant.wait_until_ready(idler, idle.id)) == []
    with asking():
        assert list(assistant.wait_until_ready(idler, busy.id)) == []  # the background waits, too
    assert 1 <= len(list(assistant.wait_until_ready(idler, busy.id))) <= 3
    chat(services.bank, busy.id, "c2", *(f"Line {n} of a longer one." for n in range(2 * BATCH)))
    assert list(assistant.wait_until_ready(idler, busy.id)) == []  # it would take longer than anyone waits


def test_what_was_just_told_is_indexed_by_who_asks(services: Services) -> None:
    bank, embedder = services.bank, services.searcher.embedder
    iris = bank.create_persona(PersonaDraft("Iris"))
    chat(bank, iris.id, "c1", *(f"Line {n} of a long import." for n in range(50)))
    while indexer.embed_pending(bank, embedder):
        pass
    chat(bank, iris.id, "c2", "My kayak is called Sturmvogel.", "It is green.")
    with asking():
        assert list(Assistant(services).wait_until_ready(Indexer(bank, embedder), iris.id)) == []
    assert indexer.count_pending(bank, embedder.model, iris.id) == 0


def test_a_full_disk_keeps_no_message_waiting(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    bank, embedder = services.bank, services.searcher.embedder
    iris = bank.create_persona(PersonaDraft("Iris"))
    chat(bank, iris.id, "c1", "My kayak is called Sturmvogel.")
    embedder.load()

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(indexer.indexing, "store_vectors", fail)
    with asking():
        assert list(Assistant(services).wait_until_ready(Indexer(bank, embedder), iris.id)) == []


def test_what_was_dated_far_ahead_does_not_date_what_is_said_now(bank: Bank) -> None:
    iris = bank.create_persona(PersonaDraft("Iris"))
    chat(bank, iris.id, "a", "I moved.")
    ahead = datetime.now(UTC) + timedelta(days=40)
    bank.remember(iris.id, [SessionDraft((TurnDraft("You", "user", "Then.", ahead),), ahead)])
    ask = build_ask(bank, "Hello", open_new(bank, iris, None), None, remember=True)
    assert abs(ask.as_of - datetime.now(UTC)) < timedelta(minutes=5)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Hi!", ""),
        ("thanks a lot", ""),
        ("Good morning Iris. Could you help me with the tax form?", "Could you help me with the tax form?"),
        ("Max died.", "Max died."),
        ("我叫王小明。", "我叫王小明。"),
        ("The boathouse key hangs behind the barometer in the hallway, and nobody else knows.", 60),
    ],
)
def test_a_chat_is_named_after_its_first_sentence_that_is_no_small_talk(text: str, title: str | int) -> None:
    named = title_of(text)
    assert named in text
    assert named == title if isinstance(title, str) else 40 < len(named) <= title


def test_a_chat_that_begins_with_small_talk_is_named_later_and_keeps_the_name_that_it_was_given(
    services: Services,
) -> None:
    bank = services.bank
    iris = bank.create_persona(PersonaDraft("Iris"))
    for text, title in (("Hello!", ""), ("I sold the boat.", "I sold the boat."), ("I moved.", "I sold the boat.")):
        Assistant(services).ask(Ask(iris, text, NOW, "a"))
        past = find_chat(bank, "a")
        assert past is not None
        assert past.title == title
    change_chat(bank, past, title="Boats")
    Assistant(services).ask(Ask(iris, "I bought a canoe.", NOW, "a"))
    assert past_chats(bank, iris.id, 5)[0][0].title == "Boats"


def test_a_chat_of_small_talk_is_named_by_what_the_user_typed(bank: Bank) -> None:
    iris = bank.create_persona(PersonaDraft("Iris")).id
    turns = (
        TurnDraft("", "user", "hey there!", NOW),
        TurnDraft("Iris", "assistant", "Good to hear from you, Sam.", NOW),
    )
    bank.remember(iris, [SessionDraft(turns, NOW, external_id="a", source="chat")])
    assert [chat.title for chat in name_chats(bank, [chat for chat, _ in past_chats(bank, iris, 5)])] == ["hey there!"]


def test_chats_are_listed_by_day_and_found_by_words_of_title_and_messages(bank: Bank) -> None:
    iris = bank.create_persona(PersonaDraft("Iris")).id
    chat(bank, iris, "a", "I adopted a greyhound.", "Lovely, an Überraschung.")
    chat(bank, iris, "b", "<b>Soup</b> was salty.", "Oh no.")
    html = render_chats(bank, Chat("b", iris), "", NOW)
    assert html.index("Today") < html.index("&lt;b&gt;Soup") < html.index("10:00") < html.index("greyhound")
    assert html.index('aria-current="page"') < html.index("Soup")
    assert "Yesterday" in render_chats(bank, Chat("", iris), "", NOW + timedelta(days=1))
    assert "1 July 2024" in render_chats(bank, Chat("", iris), "", NOW + timedelta(days=2))
    begun = [(Chat("c", iris), "A kayak is here."), (Chat("b", iris), "Soup"), (Chat("d", None), "Elsewhere")]
    html = render_chats(bank, Chat("c", iris), "", NOW, begun)
    assert html.index('aria-current="page"') < html.index("A kayak is here.") < html.index("greyhound")
    assert "Elsewhere" not in html
    assert html.count("data-menu") == 2
    for words, found in (("LOVELY grey", "a"), ("überr", "a"), ("salty", "b"), ("salty lovely", ""), ("%", "")):
        assert [each.chat_id for each, _ in past_chats(bank, iris, 5, words)] == [*found], words
    assert "No chat with this persona has these words" in render_chats(bank, Chat("", iris), "kayak", NOW)


def test_a_chat_that_is_answered_as_of_an_earlier_day_is_listed_under_the_day_of_its_beginning(bank: Bank) -> None:
    iris = bank.create_persona(PersonaDraft("Iris")).id
    chat(bank, iris, "a", "I adopted a greyhound.", "Lovely.")
    then = TurnDraft("You", "user", "Where was I?", NOW - timedelta(days=400), external_id="then")
    bank.remember(iris, [SessionDraft((then,), then.said_at, external_id="a", source="chat")])
    assert [last for _, last in past_chats(bank, iris, 5)] == [NOW]
    assert "Today" in render_chats(bank, Chat("", iris), "", NOW)


def test_a_resumed_chat_shows_what_it_taught_and_the_sources_of_its_last_answer(services: Services) -> None:
    bank = services.bank
    iris = bank.create_persona(PersonaDraft("Iris"))
    assert "No answer yet" in render_last_sources(bank, Chat("a", iris.id))
    for text in ("My sister Hilde lives in Ghent.", "What is my sister called?"):
        Assistant(services).ask(Ask(iris, text, NOW, "a"))
    past = find_chat(bank, "a")
    assert past is not None
    resumed = resume(bank, past)
    told, asked = (resumed.bubbles[place] for place in user_places(resumed))
    assert "My sister Hilde lives in Ghent." in told.remembered
    assert asked.remembered == ()
    assert 'data-answer="2"' in render_last_sources(bank, resumed)
    shorter = render_last_sources(bank, forget_from(bank, resumed, user_places(resumed)[-1]))
    assert 'data-answer="1"' in shorter
    assert "called" not in shorter


def test_a_hidden_chat_leaves_the_list_until_it_goes_on_and_what_was_told_stays_known(bank: Bank) -> None:
    iris = bank.create_persona(PersonaDraft("Iris")).id
    chat(bank, iris, "a", "I sold the boat.", "Oh.")
    past = find_chat(bank, "a")
    assert past is not None
    change_chat(bank, past, hidden=1)
    assert past_chats(bank, iris, 5) == []
    assert last_chat(bank) is None
    assert [memory.text for memory in bank.memories(iris)] == ["I sold the boat."]
    chat(bank, iris, "a", "I sold the boat.", "Oh.", "I bought a canoe.")
    assert len(past_chats(bank, iris, 5)) == 1


def test_a_message_whose_reply_was_lost_stays_apart_from_the_next(bank: Bank) -> None:
    iris = bank.create_persona(PersonaDraft("Iris")).id
    said = ("I sold the boat.", "I bought a canoe.")
    turns = tuple(TurnDraft("You", "user", text, NOW, external_id=text) for text in said)
    bank.remember(iris, [SessionDraft(turns, NOW, external_id="a", title="Boats", source="chat")])
    past = find_chat(bank, "a")
    assert past is not None
    messages = shown(resume(bank, past).bubbles)
    assert [(message["role"], message.get("metadata", {}).get("title")) for message in messages] == [
        ("user", None),
        ("user", None),  # the chip of what was remembered
        ("assistant", "No reply"),
    ] * 2


def test_the_last_message_is_taken_back_with_what_it_corrected_and_no_other(services: Services) -> None:
    bank = services.bank
    iris = bank.create_persona(PersonaDraft("Iris"))
    for text in ("My dentist is on 3 May.", "No wait, it's on 4 May."):
        Assistant(services).ask(Ask(iris, text, NOW, "a"))
    assert "4 May" in Assistant(services).ask(Ask(iris, "When is my dentist?", NOW, "b")).reading.answer
    past = find_chat(bank, "a")
    assert past is not None
    chat = resume(bank, past)
    shorter = forget_from(bank, chat, user_places(chat)[-1])
    assert [bubble.text for bubble in shorter.bubbles] == [bubble.text for bubble in chat.bubbles[:2]]
    assert len(shorter.answers) == 1
    assert "3 May" in Assistant(services).ask(Ask(iris, "When is my dentist?", NOW, "c")).reading.answer
    unkept = Chat("a", iris.id, (user_bubble("My dentist is on 3 May."),))
    assert forget_from(bank, unkept, 0).bubbles == ()
    assert len(bank.turns(iris.id, past.id)) == 2


def test_an_open_chat_loses_what_was_forgotten_and_keeps_the_rest(services: Services) -> None:
    bank = services.bank
    iris = bank.create_persona(PersonaDraft("Iris"))
    for text in ("My locker code is 4417.", "I keep bees behind the shed.", "What is my locker code?"):
        Assistant(services).ask(Ask(iris, text, NOW, "a"))
    past = find_chat(bank, "a")
    assert past is not None
    unkept = user_bubble("Not to be remembered.")
    before = resume(bank, past)
    before = replace(before, bubbles=(*before.bubbles, unkept), edited=2)
    assert without_forgotten(bank, before) == before
    (code,) = (memory for memory in bank.memories(iris.id) if memory.text == "My locker code is 4417.")
    assert [memory_id for _, memory_id, _ in before.answers[2].cited] == [code.id]
    forget_memories(bank, iris.id, [code.id])
    left = without_forgotten(bank, before)
    assert [bubble.text for bubble in left.bubbles if bubble.role == "user"] == [
        "I keep bees behind the shed.",
        "Not to be remembered.",
    ]
    assert left.bubbles[left.edited or 0].text == "I keep bees behind the shed."
    assert "4417" not in str(left.bubbles)
    assert "4417" not in render_last_sources(bank, left)
    assert "4417" not in str(build_ask(bank, "And now?", left, None, remember=True).dialogue)


def told_and_asked(services: Services) -> tuple[Bank, Persona, Session]:
    """A chat in which something was told and asked."""
    iris = services.bank.create_persona(PersonaDraft("Iris"))
    for text in ("My locker code is 4417.", "What is my locker code?"):
        Assistant(services).ask(Ask(iris, text, NOW, "a"))
    past = find_chat(services.bank, "a")
    assert past is not None
    return services.bank, iris, past


def test_what_was_taken_back_is_neither_cited_nor_shown_as_remembered(services: Services) -> None:
    bank, iris, past = told_and_asked(services)
    shown = resume(bank, past)
    assert "4417" in render_last_sources(bank, shown)
    for memory in bank.memories(iris.id):
        mark_wrong(bank, iris.id, memory.id)
    for each in (shown, without_forgotten(bank, shown)):
        assert "no line that is still remembered" in render_last_sources(bank, each)
    assert without_forgotten(bank, shown).bubbles[0].remembered == ()
    assert len(without_forgotten(bank, shown).bubbles) == 4  # it was said all the same


def test_an_earlier_reply_is_given_again_with_its_citations_if_they_are_there(services: Services) -> None:
    bank, iris, past = told_and_asked(services)
    chat = replace(resume(bank, past), edited=2)
    assert earlier_replies(chat, "Another question?") == ()
    replies = earlier_replies(chat, "What is my locker code?")
    reading = given_reply(bank, chat.persona_id, replies)
    assert reading is not None
    assert ("4417" in reading.answer, len(reading.citations)) == (True, 1)
    forget_memories(bank, iris.id, [reading.citations[0].memory.id])
    reading = given_reply(bank, chat.persona_id, replies)
    assert reading is not None
    assert reading.citations == ()


def test_a_persona_without_a_first_message_opens_an_empty_chat(bank: Bank) -> None:
    assert open_new(bank, bank.create_persona(PersonaDraft("Iris")), None).bubbles == ()
    assert open_new(bank, bank.create_persona(PersonaDraft("Mo", first_message=" ")), None).bubbles == ()
    assert open_new(bank, None, None).persona_id is None


def test_a_new_chat_says_what_was_planned_for_the_next_days_unless_it_may_not(services: Services) -> None:
    bank, now = services.bank, datetime(2026, 11, 26, 9, tzinfo=UTC)
    iris = bank.create_persona(PersonaDraft("Iris"))
    told = (
        "I see the dentist on Saturday.",
        "We fly to Porto on 30 January.",
        "I bought a kettle today.",
        "A new test is due in three months.",
    )
    for n, text in enumerate(told):
        Assistant(services).ask(Ask(iris, text, now + timedelta(minutes=n), "a"))
    assert list(coming_up(services, iris, now)) == ["Saturday: You see the dentist."]
    assert list(coming_up(services, iris, now + timedelta(days=5))) == []
    assert "1 conversation, 26 November 2026." in describe_persona(services, iris)
    bank.change_persona(iris.id, proactive=False)
    assert "Coming up" not in describe_persona(services, bank.persona(iris.id))


def test_a_first_page_says_that_plans_are_looked_for_until_the_models_are_loaded(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    iris = services.bank.create_persona(PersonaDraft("Iris"))
    monkeypatch.setattr(type(services.searcher.embedder), "ready", False)
    assert "Coming up" not in describe_persona(services, iris)
    Assistant(services).ask(Ask(iris, "I see the dentist tomorrow.", datetime.now(UTC), "a"))
    assert LOOKING in describe_persona(services, iris)
    monkeypatch.undo()
    assert "Tomorrow: You see the dentist." in describe_persona(services, iris)


def test_sources_that_were_forgotten_are_said_to_be(bank: Bank) -> None:
    iris = bank.create_persona(PersonaDraft("Iris")).id
    chat(bank, iris, "a", "What is my dog called?", "Biscuit [1].")
    past = find_chat(bank, "a")
    assert past is not None
    assert "no line that is still remembered" in render_sources_of(bank, iris, resume(bank, past).answers[0])
    chat(bank, iris, "b", "I bought a kettle.", "Noted.")
    past = find_chat(bank, "b")
    assert past is not None
    assert "No memory was used" in render_sources_of(bank, iris, resume(bank, past).answers[0])


def test_the_address_decides_then_the_last_chat_then_the_newest_persona(bank: Bank) -> None:
    assert find_place(bank, {}) is None
    sample = bank.create_persona(PersonaDraft("Ida", SAMPLE)).id
    assert find_place(bank, {}) is None
    iris, rowan = (bank.create_persona(PersonaDraft(name)).id for name in ("Iris", "Rowan"))
    assert find_place(bank, {}) == (rowan, "")
    chat(bank, iris, "a", "Hello.")
    assert find_place(bank, {}) == (iris, "")
    assert find_place(bank, {"persona": str(sample)}) == (sample, "")
    assert find_place(bank, {"chat": "a"}) == (iris, "a")
    assert find_place(bank, {"chat": "gone", "persona": "99"}) == (iris, "")


def test_a_source_that_was_put_right_is_no_quotation(bank: Bank) -> None:
    iris = bank.create_persona(PersonaDraft("Iris"))
    chat(bank, iris.id, "c1", "The keys come on Saturday at 10.")
    (said,) = bank.memories(iris.id)
    sources = [render_sources_of(bank, iris.id, PastAnswer("When?", ((1, said.id, ""),)))]
    edit(bank, replace(said, text="The keys come on Saturday at 11."))
    (right,) = (memory for memory in bank.memories(iris.id) if memory.retracted_at is None)
    sources.append(render_sources_of(bank, iris.id, PastAnswer("When?", ((1, right.id, ""),))))
    assert ["as corrected" in each for each in sources] == [False, True]
    assert ["<q " in each.split("</summary>")[0] for each in sources] == [True, False]


def test_a_name_given_at_the_start_has_a_source_and_is_known_to_new_personas(bank: Bank) -> None:
    persona, chat_id = introduce(bank, "  Anna ")
    (name,) = bank.memories(persona.id)
    assert "Your name is Anna." in state_fact(name, datetime.now(UTC))
    assert [turn.text for turn in bank.sources(persona.id, name.id)] == ["Anna"]
    assert find_chat(bank, chat_id) is not None
    other = bank.create_persona(PersonaDraft("Iris", kept_apart=False))
    assert [state_fact(fact, datetime.now(UTC)) for fact in facts_told(bank, other.id, datetime.now(UTC))] == [
        "Your name is Anna. You told Memoir today."
    ]


def test_a_name_is_optional(bank: Bank) -> None:
    persona, chat_id = introduce(bank, " ")
    assert (persona.name, chat_id, bank.memories(persona.id)) == ("Memoir", "", [])


LENA = (
    "[01/05/24, 08:00:05] Noor: My boat is called Reiher.\n[01/05/24, 08:01:05] Lena Brandt: A heron for the river.\n"
)


def test_an_import_into_my_memory_is_read_and_continued_as_a_past_chat(services: Services, tmp_path: Path) -> None:
    (tmp_path / "_chat.txt").write_text(LENA, encoding="utf-8")
    bank, own = services.bank, own_assistant(services.bank)
    assert (own.name, own_assistant(bank)) == ("Memoir", own)
    ingest.ingest(bank, tmp_path / "_chat.txt", persona=str(own.id), user="Noor")
    chat(bank, own.id, "a", "Good morning.", "Good morning.")
    (newer, said), (past, _) = past_chats(bank, own.id, 5)
    assert said == NOW
    assert (newer.external_id, past.external_id, past.chat_id) == ("a", "", f"session-{past.id}")
    html = render_chats(bank, Chat("", own.id), "", NOW)
    assert past.chat_id in html
    assert "My boat is called Reiher." in html
    assert "Conversation" not in html
    assert find_place(bank, {"chat": past.chat_id}) == (own.id, past.chat_id)
    resumed = resume(bank, past)
    assert [(bubble.role, bubble.text) for bubble in resumed.bubbles] == [
        ("user", "My boat is called Reiher."),
        ("assistant", "Lena Brandt: A heron for the river."),
    ]
    ask = build_ask(bank, "I painted the boat green.", resumed, None, remember=True)
    Assistant(services).ask(ask)
    assert len(past_chats(bank, own.id, 5)) == 2
    continued = find_chat(bank, past.chat_id)
    assert continued is not None
    assert (continued.id, continued.external_id, continued.turn_count) == (past.id, past.chat_id, 4)
    whole = resume(bank, continued)
    assert whole.bubbles[2].text == "I painted the boat green."
    assert len(forget_from(bank, whole, 2).bubbles) == 2
    assert ingest.ingest(bank, tmp_path / "_chat.txt", persona=str(own.id), user="Noor").histories[0].stored.turns == 0
    boat = next(memory for memory in bank.memories(own.id) if memory.text == "My boat is called Reiher.")
    assert boat.speaker == "You"
    card = render_sources_of(bank, own.id, PastAnswer("", ((1, boat.id, ""),)))
    assert "You" in card
    assert "Noor" not in card
    assert "Lena Brandt" in card
    with ChatServer("Reiher.") as server:
        speaking = Assistant(services).reading_with(chat_model(server.model()), server.model(), "auto")
        speaking.ask(Ask(own, "What is my boat called?", NOW, "b", remember=False))
        shown = server.requests[0]["messages"][-1]["content"]
    assert 'Wednesday, 1 May 2024, "the user":\n[1] "My boat is called Reiher."' in shown
    assert "Noor" not in shown
    iris = bank.create_persona(PersonaDraft("Iris", kept_apart=False))
    answer = (
        Assistant(services).ask(Ask(iris, "What is my boat called?", datetime(2024, 6, 1, tzinfo=UTC), "i")).reading
    )
    assert "Reiher" in answer.answer
    assert "You told Memoir on 1 May" in answer.answer


def test_imports_that_name_their_conversations_alike_are_told_apart(bank: Bank) -> None:
    iris, rowan = (bank.create_persona(PersonaDraft(name)).id for name in ("Iris", "Rowan"))
    for persona in (iris, rowan):
        turn = TurnDraft("You", "user", f"Hello, {persona}.", NOW)
        bank.remember(persona, [SessionDraft((turn,), NOW, external_id="session_1")])
    for persona in (iris, rowan):
        assert find_place(bank, {"chat": "session_1", "persona": str(persona)}) == (persona, "session_1")
