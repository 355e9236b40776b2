"""Wire the nodes into a LangGraph state machine."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache
from typing import Any

from graph.nodes.classify import classify
from graph.nodes.persist import persist
from graph.nodes.read import read
from graph.nodes.rerank import rerank
from graph.nodes.retrieve import retrieve
from graph.nodes.time_filter import time_filter
from graph.state import Runtime, Services, TurnState

Node = Callable[[TurnState, Runtime], Awaitable[TurnState]]

PIPELINE: tuple[Node, ...] = (classify, retrieve, rerank, time_filter, read, persist)


@cache
def compiled_graph() -> Any:  # noqa: ANN401  # the type takes a second to import
    """Compile the graph, once a process. It keeps nothing between turns: the bank is the memory."""
    from langgraph.graph import StateGraph  # which the first page need not wait for

    graph: Any = StateGraph(TurnState, context_schema=Services)
    graph.add_sequence([(node.__name__, _timed(node)) for node in PIPELINE])
    graph.set_entry_point(PIPELINE[0].__name__)
    return graph.compile()


def _timed(node: Node) -> Node:
    """The node with its duration written into the first line of its trace."""

    async def run(state: TurnState, runtime: Runtime) -> TurnState:
        started = time.perf_counter()
        change = await node(state, runtime)
        took = (time.perf_counter() - started) * 1000
        first, others = change.get("trace", ())[:1], change.get("trace", ())[1:]
        change["trace"] = (*(replace(line, milliseconds=round(took, 2)) for line in first), *others)
        return change

    return run
