"""Train a classifier of questions, semantic or episodic, on PerLTQA's own (sections 4.1 and 4.2, table 4, A.5).

The row "BERT-base" fine-tunes BERT-base (Devlin et al. 2019) on the training questions. The paper prints no settings of
it; here they are within those that BERT's authors recommend for fine-tuning (their A.3), and the epoch with the highest
weighted F1 on the validation questions is kept. The paper names "instruction augmentation" for the row "P+BERT-base"
without describing it; here an instruction stands before each question. Its printed precision, .720, is the square of
its accuracy, .849, which is what answering "episodic" to every question gives.

Differences from the paper: A.5 speaks of 7,516 questions to train on, section 4.1 of 5,155; here it is the latter. The
split is our own (`eval.benchmarks.perltqa.adapter.split`). All questions of the file are used, also those whose memory
the bank lacks.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.benchmarks.perltqa.adapter import Labelled, Part, labelled_questions
from eval.metrics.confusion import classification, kind_cells
from eval.play.models import KINDS, TrainedKinds, Training, question_digest
from eval.types import Kind, Watch
from memory.errors import MemoirError

if TYPE_CHECKING:
    import torch

INSTRUCTION = (
    "Is the answer found in semantic memory, facts about a person and their relations, or in episodic memory, what "
    "happened to them and what was said?"
)

EPOCHS = 4
BATCH = 32
LEARNING_RATE = 3e-5


def train(
    path: Path, folder: Path, base: str, watch: Watch, *, instruction: bool = False, seed: int = 0
) -> dict[str, Any]:
    """Train a classifier on the training questions of a file and save it, maybe with an instruction before each.

    `base` is the name or folder of the model to start from. Returns the numbers of `questions` by part, the `epoch`
    that was kept, and the figures of `validation` and `test`; `always` has those of giving every test question the kind
    that most training questions have.

    Raises `MemoirError` if the folder has files already, a part has no questions, or the base model is not found.
    """
    if folder.exists() and any(folder.iterdir()):
        raise MemoirError(f"{folder} has files already. Name a new folder")
    parts = labelled_questions(path)
    if empty := [part for part, questions in parts.items() if not questions]:
        raise MemoirError(f"{path} has no questions for {' and '.join(empty)}: it has too few")
    classifier = _load(folder, base, INSTRUCTION if instruction else "", seed, parts["training"] + parts["validation"])
    epoch, validation = _fine_tune(classifier, parts, seed, watch)
    folder.mkdir(parents=True, exist_ok=True)
    classifier.save()
    tested, kinds = parts["test"], [kind for _, kind in parts["training"]]
    most = max(KINDS, key=kinds.count)
    return {
        "questions": {part: len(questions) for part, questions in parts.items()},
        "epoch": epoch,
        "validation": validation,
        "test": _measure(classifier, tested),
        "always": _figures([(kind, most) for _, kind in tested]),
    }


def _load(folder: Path, base: str, instruction: str, seed: int, seen: Sequence[Labelled]) -> TrainedKinds:
    """The base model with a new output layer of two classes, on the GPU if there is one."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # it warns that the output layer is new
    torch.manual_seed(seed)
    labels = dict(enumerate(KINDS))
    named = {"num_labels": len(KINDS), "id2label": labels, "label2id": {kind: n for n, kind in labels.items()}}
    try:
        model = AutoModelForSequenceClassification.from_pretrained(base, **named)
        tokenizer = AutoTokenizer.from_pretrained(base)
    except (OSError, ValueError) as fault:
        raise MemoirError(
            f"--base {base} is no model that can be loaded ({str(fault).splitlines()[0]}). Name a folder, or a "
            "model of huggingface.co, as bert-base-chinese or bert-base-uncased"
        ) from fault
    digests = frozenset(question_digest(text) for text, _ in seen)
    training = Training(base=base, instruction=instruction, seen=digests)
    return TrainedKinds(folder, model.to("cuda" if torch.cuda.is_available() else "cpu"), tokenizer, training)


def _fine_tune(
    classifier: TrainedKinds, parts: Mapping[Part, Sequence[Labelled]], seed: int, watch: Watch
) -> tuple[int, dict[str, float]]:
    """Train for all epochs and go back to the best; returns its number, from 1, and its figures of validation."""
    import torch

    from graph.training.network import descend

    model, draw, training = classifier.model, random.Random(seed), parts["training"]
    orders = [draw.sample(training, len(training)) for _ in range(EPOCHS)]
    batches = [order[start : start + BATCH] for order in orders for start in range(0, len(order), BATCH)]
    best: tuple[int, dict[str, float], Mapping[str, Any]] = (0, {"classification_f1": -1.0}, {})

    def loss_of(batch: Sequence[Labelled]) -> torch.Tensor:
        labels = torch.tensor([KINDS.index(kind) for _, kind in batch], device=model.device)
        loss: torch.Tensor = model(**classifier.tokens([text for text, _ in batch]), labels=labels).loss
        return loss

    def after_step(done: int) -> None:
        nonlocal best
        watch(classifier.training.base, done, len(batches))
        epoch, rest = divmod(done * EPOCHS, len(batches))
        if not rest:
            figures = _measure(classifier, parts["validation"])
            if figures["classification_f1"] > best[1]["classification_f1"]:
                best = epoch, figures, {name: value.detach().clone() for name, value in model.state_dict().items()}
            model.train()

    descend(model, batches, loss_of, LEARNING_RATE, watch=after_step)
    model.load_state_dict(best[2])
    model.eval()
    return best[:2]


def _measure(classifier: TrainedKinds, questions: Sequence[Labelled]) -> dict[str, float]:
    """Accuracy, and weighted precision, recall and F1."""
    classifier.model.eval()
    found = classifier.probabilities([text for text, _ in questions])
    return _figures([(kind, KINDS[int(p[1] >= p[0])]) for (_, kind), p in zip(questions, found, strict=True)])


def _figures(kinds: Sequence[tuple[Kind, Kind]]) -> dict[str, float]:
    return {name: float(value) for name, value in classification(kind_cells(kinds).mean(0)).items()}
