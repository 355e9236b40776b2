"""Compute the vector that multilingual-e5-small subtracts: the mean of unrelated texts (`memory.embedding.e5`).

python -m graph.training.centre    encode our own questions and chats, write memory/embedding/e5_centre.npy
"""

from __future__ import annotations

import argparse

import numpy as np

from graph.training.classifier import load_questions
from graph.training.reader_data import load_chats
from memory.embedding import e5
from memory.embedding.sentence_encoder import SentenceEncoder

EVERY_QUESTION, EVERY_LINE = 4, 8
"""Every so-manieth is encoded."""


def main() -> None:
    """Compute the mean, print what it does to cosines, and write it."""
    argparse.ArgumentParser(prog="python -m graph.training.centre", description=__doc__.splitlines()[0]).parse_args()
    encoder = e5.E5()
    asked = [encoder.query_prompt + row.text for row in load_questions()[::EVERY_QUESTION]]
    lines = [line["text"] for chats in load_chats() for chat in chats for line in chat["lines"]]
    told = [encoder.document_prompt + text for text in lines[::EVERY_LINE]]
    questions, documents = (SentenceEncoder.encode(encoder, texts) for texts in (asked, told))
    np.save(e5.CENTRE, documents.mean(axis=0))
    after = (e5.centred(vectors, np.load(e5.CENTRE)) for vectors in (questions, documents))
    for when, (q, d) in (("before", (questions, documents)), ("after", after)):
        cosines = q @ d.T
        print(f"{when}: cosines of {len(q)} questions and {len(d)} lines {cosines.mean():.3f} ± {cosines.std():.3f}")
    print(f"wrote {e5.CENTRE}")


if __name__ == "__main__":
    main()
