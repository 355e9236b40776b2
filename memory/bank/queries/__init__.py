"""The SQL of what works on the rows from outside: search, forgetting, exports and plots.

Longer statements of a module stand in the SQL file of its name.
"""
