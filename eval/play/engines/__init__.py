"""Run many histories at once."""
