"""Ways of reading the memories that were found: notes first, then an answer from the notes alone, or none."""
