"""The node `classify`: tell what kind of message this is, and what it asks."""

from graph.state import Runtime, TurnState
from graph.understanding.message import understand


async def classify(state: TurnState, runtime: Runtime) -> TurnState:
    """Tell what kind of message this is, what it asks, of which stores, and about whom and when."""
    message, line = await understand(state["ask"], runtime.context)
    return {"message": message, "trace": (line,)}
