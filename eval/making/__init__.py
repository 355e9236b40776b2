"""Make benchmarks: parts that a chat model writes, and questions from a temporal knowledge graph of relations."""
