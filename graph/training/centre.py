"""Compute the vectors that multilingual-e5-small subtracts: the means of unrelated texts (`memory.embedding.e5`).

python -m graph.training.centre    encode our own questions and chats, write memory/embedding/e5_centres.npy

It also prints for how many questions of the chats held out some line of the chat is as near as `notes.ALIKE`.
"""

import argparse

import numpy as np

from graph.readers.notes import ALIKE
from graph.training.classifier import load_questions
from graph.training.reader_data import load_chats
from memory.embedding import e5
from memory.embedding.embedder import Embedder
from memory.embedding.networks import SentenceEncoder

EVERY_QUESTION, EVERY_LINE = 4, 8
"""Every so-manieth is encoded."""


def main() -> None:
    """Compute the mean, print what it does to cosines, and write it."""
    argparse.ArgumentParser(prog="python -m graph.training.centre", description=__doc__.splitlines()[0]).parse_args()
    encoder = e5.E5()
    asked = [encoder.query_prompt + row.text for row in load_questions()[::EVERY_QUESTION]]
    foreign = [encoder.document_prompt + row.text for row in load_questions(e5.NAME) if e5.script(row.text)]
    lines = [line["text"] for chats in load_chats() for chat in chats for line in chat["lines"]]
    told = [encoder.document_prompt + text for text in lines[::EVERY_LINE]]
    questions, documents, others = (SentenceEncoder.encode(encoder, texts) for texts in (asked, told, foreign))
    scripts = np.array([e5.script(text) for text in foreign])
    of_scripts = [others[scripts == 1 + n].mean(axis=0) for n in range(len(e5.SCRIPTS))]
    centres = np.stack([documents.mean(axis=0), *of_scripts])
    np.save(e5.CENTRES, centres)
    after = (e5.centred(vectors, centres[0]) for vectors in (questions, documents))
    for when, (q, d) in (("before", (questions, documents)), ("after", after)):
        cosines = q @ d.T
        print(f"{when}: cosines of {len(q)} questions and {len(d)} lines {cosines.mean():.3f} ± {cosines.std():.3f}")
    for n, centre in enumerate(centres[1:], 1):
        vectors = e5.centred(others[scripts == n], centre)
        cosines = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
        print(f"script {n}: cosines of {len(vectors)} messages {cosines.mean():.3f} ± {cosines.std():.3f}")
    print(f"wrote {e5.CENTRES}")
    print_alike()


def print_alike() -> None:
    """Print the share of questions to whose chat, and to whose next chat, some line is alike."""
    chats, encoder = load_chats()[1], Embedder(e5.NAME)
    lines = [encoder.encode_document([line["text"] for line in chat["lines"]]) for chat in chats]
    for what, shift in (("of the chat, answered there", 0), ("of another chat", 1)):
        nearest = [
            (encoder.encode_query([pair["q"] for pair in chat["pairs"] if pair["answer"] is not None]) @ other.T).max(1)
            for chat, other in zip(chats, lines[shift:] + lines[:shift], strict=True)
        ]
        found = np.concatenate(nearest)
        print(f"questions {what}: {np.mean(found >= ALIKE):.3f} have a line as near as {ALIKE} (n = {len(found)})")


if __name__ == "__main__":
    main()
