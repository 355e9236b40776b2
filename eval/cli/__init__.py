"""The commands of `python -m eval`: each prints its result and returns the exit status."""
