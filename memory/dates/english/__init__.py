"""The English words for times."""
