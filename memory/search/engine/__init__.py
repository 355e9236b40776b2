"""Exact search over packed arrays of a persona's memories; only `memory.search` uses it."""
