"""The node `classify`: tell what kind of message this is, and what it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph.understanding.message import understand

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

    from graph.state import Services, TurnState


async def classify(state: TurnState, runtime: Runtime[Services]) -> TurnState:
    """Tell what kind of message this is, what it asks, of which stores, and about whom and when."""
    message, line = await understand(state["ask"], runtime.context)
    return {"message": message, "trace": (line,)}
