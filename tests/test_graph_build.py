"""The graph runs its six nodes in order, tells what each did, and keeps nothing for the next turn."""

import pytest

from graph.build import PIPELINE, build
from graph.state import TurnState

NAMES = ["classify", "retrieve", "rerank", "time_filter", "read", "persist"]


def test_the_nodes_stand_in_order():
    assert [node.__name__ for node in PIPELINE] == NAMES
    edges = {(edge.source, edge.target) for edge in build().get_graph().edges}
    assert edges == set(zip(["__start__", *NAMES], [*NAMES, "__end__"], strict=True))


def test_each_node_is_found_in_the_module_of_its_name():
    assert [node.__module__ for node in PIPELINE] == [f"graph.nodes.{name}" for name in NAMES]


def test_a_question_leaves_one_line_a_node_with_its_milliseconds(marlow):
    trace = marlow.say("When did I adopt Biscuit?").trace
    assert [line.node for line in trace] == NAMES
    assert all(line.decided for line in trace)
    assert all(line.milliseconds >= 0 for line in trace)
    assert sum(line.milliseconds for line in trace) > 0


@pytest.mark.parametrize("text", ["I planted a quince tree.", "Good morning!"])
def test_a_node_that_does_not_apply_leaves_no_line(marlow, text):
    assert [line.node for line in marlow.say(text).trace] == ["classify", "read", "persist"]


def test_one_turn_leaves_nothing_for_the_next(marlow):
    graph = build()
    ask = marlow.asks("When did I adopt Biscuit?", remember=False)
    first: TurnState = graph.invoke({"ask": ask}, context=marlow.services)
    assert first["hits"]
    second: TurnState = graph.invoke({"ask": marlow.asks("Thanks!", remember=False)}, context=marlow.services)
    assert "hits" not in second
    assert not second["reading"].citations
    assert [line.node for line in second["trace"]] == ["classify", "read", "persist"]
    again: TurnState = graph.invoke({"ask": ask}, context=marlow.services)
    assert again["reading"] == first["reading"]
