"""A tiny language model with random weights, made by the tests: what it says means nothing, how it loads is real."""

from graph.models.madeup import make

TEXTS = ["Where does the spare key hang? Behind the barometer in the hallway, said the locksmith."] * 4


def made_up(folder):
    """The name of such a model, written into a folder."""
    return f"hf:{make(folder, 'tiny', TEXTS)}"
