"""The graph runs its nodes in order, tells what each did, and keeps nothing for the next turn."""

import asyncio

import pytest

from graph.build import PIPELINE, compiled_graph
from graph.state import TurnState

NAMES = ["classify", "retrieve", "rerank", "time_filter", "read", "persist"]


def nodes_of(trace):
    """The nodes in the order of their lines; a factor of recall has a line, but is no node."""
    return [line.node for line in trace if line.node in NAMES]


def test_the_nodes_stand_in_order():
    assert [node.__name__ for node in PIPELINE] == NAMES
    edges = {(edge.source, edge.target) for edge in compiled_graph().get_graph().edges}
    assert edges == set(zip(["__start__", *NAMES], [*NAMES, "__end__"], strict=True))


def test_each_node_is_found_in_the_module_of_its_name():
    assert [node.__module__ for node in PIPELINE] == [f"graph.nodes.{node.__name__}" for node in PIPELINE]


def test_a_question_leaves_one_line_a_node_with_its_milliseconds(marlow):
    trace = marlow.say("When did I adopt Biscuit?").trace
    assert nodes_of(trace) == NAMES
    assert all(line.decided for line in trace)
    # A node's time is counted once, whatever the lines that it leaves beside its own.
    assert {line.node for line in trace if line.milliseconds > 0} <= set(NAMES)
    assert sum(line.milliseconds for line in trace) > 0


@pytest.mark.parametrize("text", ["I planted a quince tree.", "Good morning!"])
def test_what_is_told_is_looked_up_but_not_read(marlow, text):
    answer = marlow.say(text)
    assert nodes_of(answer.trace) == NAMES
    assert {hit.dropped for hit in answer.hits} == {"unasked"}
    assert not answer.reading.citations


def test_one_turn_leaves_nothing_for_the_next(marlow):
    def run(text) -> TurnState:
        ask = marlow.asks(text, remember=False)
        return asyncio.run(compiled_graph().ainvoke({"ask": ask}, context=marlow.services))

    first = run("When did I adopt Biscuit?")
    assert first["hits"]
    second = run("Thanks!")
    assert not any(hit.kept for hit in second["hits"])
    assert not second["reading"].citations
    assert nodes_of(second["trace"]) == NAMES
    again = run("When did I adopt Biscuit?")
    assert again["reading"] == first["reading"]
