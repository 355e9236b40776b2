"""Choose the constants of retrieval on some benchmarks, and report what they give on one that had no part in it."""
