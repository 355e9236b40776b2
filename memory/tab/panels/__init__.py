"""The parts of the Memory tab below its list: plots, persona, export, journal, and forgetting in bulk."""
