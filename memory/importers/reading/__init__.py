"""Read files that may be large, broken or hostile: text, JSON, zip archives, PNG pictures, dates, dialogue."""
