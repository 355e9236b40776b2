"""Read as the papers do: notes on each memory, then an answer from the notes (Chain-of-Note)."""
