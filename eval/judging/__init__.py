"""Judge answers with a chat model."""
