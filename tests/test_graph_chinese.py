"""A chat in Chinese with the multilingual encoder: what is told is acknowledged, what is asked gets its line."""

from datetime import UTC, datetime, timedelta

import pytest

from conftest import Chat
from graph.state import Services
from graph.understanding.classifier import Classifier
from memory.bank.bank import Bank
from memory.embedding import e5
from memory.embedding.embedder import Embedder, shared
from memory.search.searcher import Searcher
from memory.types import PersonaDraft, SessionDraft, TurnDraft

MONDAY = datetime(2026, 11, 2, 9, tzinfo=UTC)

TOLD = (
    "我姐姐林芳住在成都",
    "我养了一只叫豆豆的狗",
    "我上周五在牙医那里拔了一颗牙",
    "王峰下个月要结婚了",
    "我不能吃花生，会过敏",
)

ASKED = (
    ("我姐姐住在哪里？", "成都"),
    ("我的狗叫什么名字", "豆豆"),
    ("王峰什么时候结婚？", "December 2026."),
    ("我上周做了什么？", "拔了一颗牙"),
    ("我对什么过敏", "花生"),
)


def chat(folder, embedder: Embedder) -> Chat:
    bank = Bank(folder / "bank.db")
    services = Services(bank, Searcher(bank, embedder), Classifier.load(embedder.model))
    return Chat(services, bank.create_persona(PersonaDraft("Juno", "")), MONDAY)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The chat of the day after all of `TOLD` was said, and the answers to that."""
    talk = chat(tmp_path_factory.mktemp("chinese"), shared(e5.NAME))
    answers = [talk.say(text) for text in TOLD]
    return talk.again(now=MONDAY + timedelta(days=1)), answers


def test_what_is_told_is_acknowledged_and_not_answered(told):
    for answer in told[1]:
        assert not answer.reading.citations
        assert not answer.reading.abstained, answer.ask.text


@pytest.mark.parametrize(("question", "words"), ASKED)
def test_a_question_gets_the_line_that_answers(told, question, words):
    reading = told[0].again().say(question, remember=False).reading
    assert words in reading.answer
    assert reading.citations


def test_a_question_that_was_asked_before_is_no_answer(told):
    talk = told[0].again()
    for question in ("我姐姐住在哪里？", "你知道我姐姐住在哪里吗？"):
        talk.say(question)
    (citation,) = talk.say("我姐姐住在哪儿？").reading.citations
    assert citation.quote == TOLD[0]


def test_what_was_not_told_is_not_answered(told):
    assert told[0].again().say("昨天的汇率是多少？", remember=False).reading.abstained


def test_with_the_english_encoder_a_statement_is_acknowledged_and_words_find_it(tmp_path, embedder):
    talk = chat(tmp_path, embedder)
    assert not talk.say(TOLD[0]).reading.citations
    reading = talk.again(now=talk.now + timedelta(days=1)).say("我姐姐住在哪里？").reading
    assert [citation.quote for citation in reading.citations] == [TOLD[0]]


def test_the_speaker_a_chinese_question_names_is_found(tmp_path):
    talk = chat(tmp_path, shared(e5.NAME))
    bank, searcher = talk.services.bank, talk.services.searcher
    said = (("林芳", "我在成都开了一家花店"), ("Bart", "我在学校表演魔术"))
    bank.remember(
        talk.persona.id,
        [SessionDraft(tuple(TurnDraft(who, "user", text) for who, text in said * 3), MONDAY, "", "s", "")],
    )
    assert searcher.main_speakers(talk.persona.id, "林芳在哪里开花店，Bart在做什么？", MONDAY) == ("Bart", "林芳")
