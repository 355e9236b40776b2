"""Turn texts into vectors, with the packaged model or another, and keep the bank's vectors up to date."""
