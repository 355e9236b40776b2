"""One user's memory in one SQLite file: its schema, every statement that reads or writes rows, and its upkeep."""
