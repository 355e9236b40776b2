"""Read files that may be large, broken or hostile: text, JSON, dates, dialogue."""
