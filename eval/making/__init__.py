"""Make questions from the relations that a memory holds, as a temporal knowledge graph."""
