"""Importers of chat programs and other assistants."""
