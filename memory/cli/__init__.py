"""The command line of the bank."""
