"""A temporal knowledge graph of what a memory holds, and the questions that can be made of it."""
