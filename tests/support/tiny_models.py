"""A tiny language model with random weights, made by the tests: what it says means nothing, how it loads is real."""

import json

from graph.models.synthetic import SHAPES, write_model

TEXTS = ["Where does the spare key hang? Behind the barometer in the hallway, said the locksmith."] * 4


def made_up(folder, *, brief=False):
    """The name of such a model, written into a folder; a `brief` one ends its reply at every other token it knows."""
    made = write_model(folder, "tiny", TEXTS)
    if brief:
        settings = made / "generation_config.json"
        ends = list(range(0, SHAPES["tiny"]["vocab_size"], 2))
        settings.write_text(json.dumps(json.loads(settings.read_text("utf-8")) | {"eos_token_id": ends}), "utf-8")
    return f"hf:{made}"
