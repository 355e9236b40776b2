"""How good it is: benchmarks are replayed through the same memory and the same graph as a chat, and scored."""
