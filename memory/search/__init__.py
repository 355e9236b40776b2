"""Find the memories that may answer a question, by words and by meaning."""
