"""Calibrate the reader: three numbers on the chats held out of its training, stored with its weights.

    python -m graph.training.reader_calibration

Each question is put to the lines of its chat that are nearest in meaning, with the weights as they are used.

- similarity: what a unit of cosine between line and question counts beside the reader's logit when the best line is
  chosen; by the likelihood of the right lines.
- shift: the logit of the chosen line at which wrong refusals and wrong answers stand in the ratio of `GOALS`.
- temperature: divides the logit beyond the shift, so that the probability fits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logsumexp
from sklearn.metrics import log_loss, roc_auc_score

from graph.readers.line_reader import READER, Calibration, LineReader, weights_of
from graph.readers.notes import LINES
from graph.training.reader_data import Chat, is_for, lines_of, load_chats
from memory.embedding.embedder import DEFAULT_MODEL, Embedder

UNDECIDED = frozenset(("outdated", "opposite", "wrong thing of two", "wrong time"))
"""Kinds of pairs whose question another line of the chat may answer."""

GOALS = 0.15, 0.40
"""Of the answerable questions that many may be refused, and of the others that many answered.

The others were written to tempt; of ordinary ones half as many are answered.
"""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's lines: the reader's logits and the cosines, (lines,), and which of them answers, if any."""

    logits: Floats
    cosines: Floats
    right: int | None
    is_answerable: bool

    def chosen(self, similarity: float) -> float:
        """The logit of the line that is chosen."""
        return float(self.logits[np.argmax(self.logits + similarity * self.cosines)])


def ask(chats: Sequence[Chat], reader: LineReader, embedder: Embedder, name: str = READER) -> list[Asked]:
    """Put the questions of chats that a reader is for to their lines."""
    asked = []
    for chat in chats:
        lines, on = lines_of(chat), date.fromisoformat(chat["as_of"])
        numbers, vectors = list(lines), embedder.encode([line.text for line in lines.values()])
        for pair in chat["pairs"]:
            if pair["kind"] in UNDECIDED or not is_for(name, pair["q"]):
                continue
            cosines = vectors @ embedder.encode([pair["q"]])[0]
            near = np.argsort(-cosines)[:LINES]
            found = reader.read(pair["q"], on, [lines[numbers[n]] for n in near])
            place = next((k for k, n in enumerate(near) if numbers[n] == pair["line"]), None)
            right = place if pair["answer"] is not None else None
            logits = np.array([one.logit for one in found])
            asked.append(Asked(logits, cosines[near].astype(float), right, pair["answer"] is not None))
    return asked


def calibrate(asked: Sequence[Asked]) -> Calibration:
    """Fit the three numbers, and print what they give."""

    def unlikelihood(weights: Floats) -> float:
        scores = [(one, weights[0] * one.logits + weights[1] * one.cosines) for one in asked if one.right is not None]
        return float(np.mean([logsumexp(score) - score[one.right] for one, score in scores]))

    of_logit, of_cosine = minimize(unlikelihood, np.array([1.0, 1.0])).x
    similarity = float(of_cosine / of_logit)
    chosen = np.array([one.chosen(similarity) for one in asked])
    is_answerable = np.array([one.is_answerable for one in asked])
    candidates = np.sort(chosen)
    refused = np.array([(chosen[is_answerable] < c).mean() for c in candidates])
    answered = np.array([(chosen[~is_answerable] >= c).mean() for c in candidates])
    place = int(np.argmin(np.abs(refused / GOALS[0] - answered / GOALS[1])))
    shift = float(candidates[place])
    temperature = float(
        minimize_scalar(
            lambda t: log_loss(is_answerable, expit((chosen - shift) / t)), bounds=(0.1, 10), method="bounded"
        ).x
    )
    for name, weight in (("the reader alone", 0.0), ("with similarity", similarity)):
        best = [int(np.argmax(one.logits + weight * one.cosines)) == one.right for one in asked if one.is_answerable]
        area = roc_auc_score(is_answerable, [one.chosen(weight) for one in asked])
        print(f"{name}: right line first {np.mean(best):.3f} (n = {len(best)}), answerable or not: AUC {area:.3f}")
    print(
        f"similarity {similarity:.2f}, shift {shift:.2f}, temperature {temperature:.2f}:"
        f" {refused[place]:.3f} of the answerable refused, {answered[place]:.3f} of the others answered"
        f" (n = {len(asked)})"
    )
    return Calibration(shift, temperature, similarity)


def main(encoder: str, path: Path, name: str = READER) -> None:
    """Calibrate the weights in a file of a reader on an encoder."""
    calibration = calibrate(ask(load_chats()[1], LineReader(encoder, path), Embedder(encoder), name))
    save_file(load_file(path) | {"calibration": np.array(calibration, np.float32)}, path)


if __name__ == "__main__":
    main(DEFAULT_MODEL, weights_of(DEFAULT_MODEL))
