"""Understand a message: what kind it is, what it asks, and about whom and when."""
