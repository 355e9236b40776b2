"""Make questions from a temporal knowledge graph of what a memory holds."""
