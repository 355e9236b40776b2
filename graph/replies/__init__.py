"""Replies to messages that are not questions, by rules: acknowledgements, greetings, and memories brought up."""
