"""Tiny models with random weights, made by the tests: what they say means nothing, how they load is real."""

import json

from memory.embedding import minilm
from support.synthetic_model import SHAPE, write_model

TEXTS = ["Where does the spare key hang? Behind the barometer in the hallway, said the locksmith."] * 4


def made_up(folder, *, brief=False):
    """The name of a language model, written into a folder; a `brief` one ends its reply at every other token."""
    made = write_model(folder, TEXTS)
    if brief:
        settings = made / "generation_config.json"
        ends = list(range(0, SHAPE["vocab_size"], 2))
        settings.write_text(json.dumps(json.loads(settings.read_text("utf-8")) | {"eos_token_id": ends}), "utf-8")
    return f"hf:{made}"


def made_up_encoder(folder, prompts):
    """The name of a sentence encoder with these prompts, by their names, written into a folder."""
    from sentence_transformers import SentenceTransformer
    from transformers import AutoTokenizer, BertConfig, BertModel

    tokenizer = AutoTokenizer.from_pretrained(minilm.folder())
    shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(tokenizer), **shape)).save_pretrained(folder / "bert")
    tokenizer.save_pretrained(folder / "bert")
    SentenceTransformer(str(folder / "bert"), prompts=prompts).save(str(folder / "encoder"))
    return str(folder / "encoder")
