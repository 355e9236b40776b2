"""Find the times that a text names, and describe times in words."""
