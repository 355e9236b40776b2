"""Importers of formats that no single program owns: Memoir's own, character cards, and plain transcripts."""
