"""Find the times that a text names, and describe spans of time in words."""
