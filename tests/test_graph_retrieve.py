"""Every store gives its best k, and nothing that was said later than it is asked."""

import asyncio
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest

from graph.nodes.classify import classify
from graph.nodes.retrieve import retrieve
from memory.search.scoring import FACTORS, SearchSettings
from memory.types import MemoryDraft, PersonaDraft


def found(chat, text, k=10, **settings):
    search = SearchSettings(k=k, **settings)
    services = replace(chat.services, settings=replace(chat.services.settings, search=search))
    runtime = SimpleNamespace(context=services)
    state = {"ask": chat.asks(text)}
    return asyncio.run(retrieve(state | asyncio.run(classify(state, runtime)), runtime))


@pytest.mark.parametrize("k", [1, 2, 5])
def test_no_store_gives_more_than_k(marlow, k):
    stores = Counter(hit.memory.store for hit in found(marlow, "What did Tilde do with the canoe?", k)["hits"])
    assert max(stores.values()) <= k
    assert stores["dialogue"] == k
    assert stores["event"] == 1


def test_nothing_later_than_it_is_asked_is_found(marlow, at):
    for month in range(3, 8):
        moment = at(month, 15)
        hits = found(marlow.again(now=moment), "What did I do?", k=100)["hits"]
        assert hits
        assert all(hit.memory.said_at is None or hit.memory.said_at <= moment for hit in hits)


def test_what_no_longer_held_is_not_found(marlow, at):
    homes = [
        MemoryDraft("profile", f"Lives in {name}", said_at=at(month, 1), speaker="Tilde", attribute="home")
        for month, name in ((3, "Porto"), (5, "Lisbon"))
    ]
    marlow.services.bank.add_memories(marlow.persona.id, homes)
    for month, home in ((4, "Porto"), (6, "Lisbon")):
        hits = found(marlow.again(now=at(month, 1)), "Where does Tilde live?", k=100)["hits"]
        assert [h.memory.text for h in hits if h.memory.attribute == "home"] == [f"Lives in {home}"]


def test_nothing_of_another_persona_is_found(marlow):
    bank = marlow.services.bank
    other = bank.create_persona(PersonaDraft("Otto"))
    bank.add_memories(other.id, [MemoryDraft("world", "Biscuit was adopted by a spy.")])
    hits = found(marlow, "When did I adopt Biscuit?", k=100)["hits"]
    assert {hit.memory.persona_id for hit in hits} == {marlow.persona.id}


def test_what_is_told_is_looked_up_too(marlow):
    assert "canoe" in found(marlow, "I took the canoe out again.")["hits"][0].memory.text


def test_the_trace_counts_what_was_found(marlow):
    done = found(marlow, "When did I adopt Biscuit?")
    stores = Counter(hit.memory.store for hit in done["hits"])
    assert done["trace"][0].figures == stores


LINES = ["voice", *FACTORS]
"""The names of the lines in the trace, which are those of the settings."""


def test_each_factor_that_changed_a_score_says_so_once(marlow):
    trace = found(marlow, "When did Tilde repair the canoe in April?")["trace"]
    assert [line.node for line in trace] == ["retrieve", *LINES]
    assert "When did I repair the canoe in April?" in trace[1].decided
    assert all(line.figures["raised"] > 0 for line in trace[2:])


@pytest.mark.parametrize("line", LINES)
def test_a_factor_that_is_switched_off_changes_nothing_and_says_nothing(marlow, line):
    done = found(marlow, "When did Tilde repair the canoe in April?", **{line: 0 if line != "voice" else False})
    assert line not in {said.node for said in done["trace"]}
    assert len(done["trace"]) == len(LINES)
    assert not any(hit.scores.get(line) for hit in done["hits"])


def test_words_that_the_embedding_model_does_not_know_are_said_to_count_by_their_letters(marlow):
    said = {line.node: line for line in found(marlow, "When did I adopt 饼干?")["trace"]}
    assert 0 <= said["meaning"].figures["meaning"] < SearchSettings().dense_weight


def test_a_factor_that_has_nothing_to_go_by_says_nothing(marlow):
    trace = found(marlow, "Was the canoe repaired?")["trace"]
    assert not {"views", "voice", "speaker", "time"} & {line.node for line in trace}


def test_without_a_time_filter_no_time_is_weighed(marlow):
    services = replace(marlow.services, settings=replace(marlow.services.settings, time_filter=False))
    done = found(replace(marlow, services=services), "Who visited me in April?")
    assert "time" not in {line.node for line in done["trace"]}
