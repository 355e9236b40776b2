"""Readers: take notes on the memories that were found, then answer from the notes, or abstain."""
