"""On a published history: dated answers cite the turn that said it, and what nobody said is not made up."""

import json
import re
from types import SimpleNamespace

import pytest

from graph.assistant import Assistant
from graph.state import Ask, Services
from graph.understanding.classifier import Classifier
from memory import ingest
from memory.bank.bank import Bank
from memory.dates.expressions import MONTH_NAMES
from memory.embedding import minilm
from memory.search import indexer
from memory.search.searcher import Searcher

pytestmark = [pytest.mark.data, pytest.mark.quality]

WHEN = 2
"""LoCoMo's category of questions about a time."""

FLOOR = 0.65
"""Share of dated questions whose gold days, months and years all stand in the answer (which also names the day it was
said, so this is kinder than a judge); measured 21 November 2026: 27 of 37."""


DATE = re.compile(rf"\d+|{'|'.join(MONTH_NAMES)}")


def dates(text):
    """The numbers and the months in a text."""
    return set(DATE.findall(text))


@pytest.fixture(scope="module")
def history(benchmark_data, embedder, tmp_path_factory):
    """The development history, asked at its end, with its published questions."""
    source = benchmark_data / "locomo" / "locomo_dev.json"
    bank = Bank(tmp_path_factory.mktemp("locomo") / "bank.db")
    report = ingest.ingest(bank, source, choose=["conv-26"])
    persona = report.histories[0].persona
    indexer.embed_all(bank, embedder)
    assistant = Assistant(Services(bank, Searcher(bank, embedder), Classifier.load(minilm.NAME)))
    end = bank.time_range(persona.id).end

    def ask(text):
        return assistant.ask(Ask(persona, text, end, "probe", remember=False)).reading

    (sample,) = [s for s in json.loads(source.read_text()) if s["sample_id"] == "conv-26"]
    return SimpleNamespace(bank=bank, persona=persona, ask=ask, questions=sample["qa"])


def test_a_dated_question_is_answered_with_the_day_and_the_turn(history):
    reading = history.ask("When did Caroline go to the LGBTQ support group?")
    assert "7 May 2023" in reading.answer
    cited = [t.external_id for c in reading.citations for t in history.bank.sources(history.persona.id, c.memory.id)]
    assert "D1:3" in cited


@pytest.mark.parametrize("text", ["What is the name of Caroline's parrot?", "When did Melanie meet Zebulon?"])
def test_what_nobody_said_is_not_made_up(history, text):
    assert history.ask(text).abstained


@pytest.mark.slow
def test_dated_questions_are_answered_with_their_date_often_enough(history):
    dated = [q for q in history.questions if q["category"] == WHEN]
    right = 0
    for question in dated:
        right += dates(str(question["answer"])) <= dates(history.ask(question["question"]).answer)
    assert right / len(dated) >= FLOOR, f"{right} of {len(dated)}"
