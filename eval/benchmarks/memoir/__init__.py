"""Memoir's own benchmark: its adapter."""
