"""Memoir's own formats, plain transcripts and character cards."""
