"""Delete memories for good, and prove on the bytes of the files that they are gone."""
