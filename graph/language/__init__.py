"""The vocabulary and the patterns of English that the rules of several packages share; knows no graph and no bank."""
