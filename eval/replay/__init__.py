"""How a history is told to a fresh bank and asked: the same `remember` and the same graph as a chat."""
