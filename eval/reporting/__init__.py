"""Tables, comparisons and error attribution from finished runs."""
