"""Write personas to a portable file, and restore them from it."""
