"""How speed, memory and exactness change with the number of memories, beside plain ways to search the same."""
