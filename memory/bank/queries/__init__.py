"""The SQL of what works on the rows from outside: search, forgetting, exports and plots."""
