"""Replies to what is not a question, made by rules."""
