"""Memoir's own benchmark: its adapter and everything else that is its own."""
