"""Exports of chat programs and of other assistants."""
