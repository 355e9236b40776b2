"""Train the reader of `graph.readers.line_reader`: which words of a line answer a question, if any.

    python -m graph.training.reader lines [--start START]            questions about our chats, with their lines
    python -m graph.training.reader yes_or_no --start START          all of them that ask for yes or no, and no others
    python -m graph.training.reader heads [--start START]            which lines say yes, and after which plans hold

Each goes on from the weights in START, or from the encoder (`--encoder`), and writes assets/models or `--out`. `--mean`
keeps the mean of the weights before and after, which forgets less of what few of the questions ask (Wortsman et al.
2022, "Robust fine-tuning of zero-shot models"). With another `--seed`, `lines` takes other questions; so many take a
quarter of an hour on all-MiniLM-L6-v2, twice that on multilingual-e5-small. `heads` fits two heads and prints their
figures on what is held out; both print the calibration. The word embeddings stay as they are: the encoder's package
has them.
"""

import argparse
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from torch import nn

from graph.readers import line_reader
from graph.readers.line_reader import PARTS, READER, YES_OR_NO, Calibration, Tokens, tokens_of
from graph.training import reader_calibration
from graph.training.network import SEED, Network, descend
from graph.training.reader_data import (
    OF_SEVERAL_LINES,
    PLAIN,
    SAYS,
    Example,
    is_for,
    load_chats,
    of_chat,
    plain_of,
    plans,
    questions_with_lines,
    typed_otherwise,
    yes_or_no_of,
)
from memory.embedding import bert, e5
from memory.embedding.bert import Array
from memory.embedding.embedder import DEFAULT_MODEL, Embedder
from memory.embedding.networks import Parts

RATE = 6e-5
"""Highest learning rate."""
BATCH_TOKENS = 4096
ASKED, KEPT = 11_000, 5000
"""Questions that are trained on at a time, and pairs beside them."""
STRENGTH = 0.1
"""Inverse strength of the regularisation of two heads, by five folds of the chats."""
LAYERS_LEFT = 1 / 4
"""So many of the lowest layers stay as they are: faster, and the package has them."""


@dataclass(frozen=True, slots=True)
class Row:
    """An example as tokens, and the places in them of the answer's first and last token; 0 if it has none.

    `answers` is 1 if the line answers, 0 if not, and NaN if it does with a value that another line has replaced.
    `holds` is 1 if a plan holds after the line, 0 if not, and NaN, as is `answers` then, where there is no plan.
    """

    tokens: Tokens
    start: int
    end: int
    answers: float
    says: int = -1
    holds: float = math.nan


Group = list[Row]
"""The rows of one question."""


def network_on(encoder: str) -> Network:
    """An encoder with three heads on [CLS], whether the line answers, says yes, and leaves a plan as it is, and one on
    each token of the line: whether the answer begins or ends with it."""
    model = Network(PARTS[encoder](), {"line": 2, "ends": 2, "holds": 1})
    if encoder == e5.NAME:
        model.go_on(e5.TRAINED)
    return model


def states_of(model: Network, rows: Sequence[Row]) -> torch.Tensor:
    """What the network makes of each token of the rows, (rows, tokens, 384)."""
    return model.states([row.tokens.ids for row in rows], [row.tokens.types for row in rows])


def row_of(example: Example, parts: Parts) -> Row | None:
    """An example as tokens; None if its answer is beyond the tokens that are read."""
    tokens = tokens_of(parts, example.question, example.asked_on, [example.line])[0]
    if example.holds is not None:
        return Row(tokens, 0, 0, math.nan, holds=float(example.holds))
    if example.answer is None:
        return Row(tokens, 0, 0, math.nan if example.outdated else 0.0)
    start, end = example.answer
    inside = [n for n, (a, b) in enumerate(tokens.offsets) if a < end and b > start]
    if not inside or end > tokens.offsets[-1][1]:
        return None
    return Row(tokens, tokens.first + inside[0], tokens.first + inside[-1], 1.0, SAYS.get(example.says, -1))


def loss_of(model: Network, groups: Sequence[Group], yes_counts: float = 0.5) -> torch.Tensor:
    """The mean loss: whether a line answers, which line of a question does, the answer's ends, yes or no, and plans."""
    rows = [row for group in groups for row in group]
    states = states_of(model, rows)
    line, plan = (model.head(name, states[:, 0]) for name in ("line", "holds"))
    outside = torch.full((*states.shape[:2], 1), -1e4)
    for n, row in enumerate(rows):
        outside[n, row.tokens.first : row.tokens.first + len(row.tokens.offsets)] = 0
    ends = model.head("ends", states) + outside
    answers, holds = torch.tensor([(row.answers, row.holds) for row in rows]).T
    held = answers == 1
    loss = torch.zeros(())
    for logits, wanted in ((line[:, 0], answers), (plan[:, 0], holds)):
        if (known := ~wanted.isnan()).any():
            loss = loss + nn.functional.binary_cross_entropy_with_logits(logits[known], wanted[known])
    sizes, ranked = [len(group) for group in groups], []
    for logits, right in zip(torch.split(line[:, 0], sizes), torch.split(held.float(), sizes), strict=True):
        if len(right) > 1 and right.sum() == 1:
            ranked.append(nn.functional.cross_entropy(logits, right.argmax()))
    if ranked:
        loss = loss + torch.stack(ranked).mean()
    if held.any():
        for place, target in enumerate(([row.start for row in rows], [row.end for row in rows])):
            loss = loss + nn.functional.cross_entropy(ends[held][:, :, place], torch.tensor(target)[held]) / 2
    says = torch.tensor([row.says for row in rows])
    if (says >= 0).any():
        wanted = says[says >= 0].float()
        loss = loss + nn.functional.binary_cross_entropy_with_logits(line[says >= 0, 1], wanted) * yes_counts
    return loss


def batches(groups: Sequence[Group], chance: random.Random) -> list[list[Group]]:
    """The groups in batches of like length, in random order."""
    longest = {id(group): max(len(row.tokens.ids) for row in group) for group in groups}
    result: list[list[Group]] = [[]]
    rows = 0
    for group in sorted(groups, key=lambda group: longest[id(group)] + chance.random() * 8):
        rows += len(group)
        if rows * longest[id(group)] > BATCH_TOKENS and result[-1]:
            result.append([])
            rows = len(group)
        result[-1].append(group)
    chance.shuffle(result)
    return result


def rows_of(groups: Sequence[Sequence[Example]], parts: Parts) -> list[Group]:
    """The examples that are not too long, as tokens."""
    rows = [[row for each in group if (row := row_of(each, parts)) is not None] for group in groups]
    return [group for group in rows if group]


def train(model: Network, embedder: Embedder, chance: random.Random, reader: str) -> None:
    """Train on some of the questions that name their lines, some of the pairs, and all plans.

    The reader of yes or no learns all that asks for it and nothing else, and what a line says counts twice.
    """
    questions, chats = questions_with_lines(PLAIN, OF_SEVERAL_LINES), load_chats()[0]
    plain, pairs = list[list[Example]](), list[list[Example]]()
    for chat in chats:
        plain += plain_of(chat, [asked for asked in questions[chat["id"]] if is_for(reader, asked["q"])], embedder)
        if own := [pair for pair in chat["pairs"] if is_for(reader, pair["q"])]:
            pairs += of_chat({**chat, "pairs": own}, embedder)
    plain = [group for group in plain if group]
    is_of_all = reader == READER
    asked = [*chance.sample(plain, ASKED), *chance.sample(pairs, KEPT)] if is_of_all else [*plain, *pairs]
    typed = [typed_otherwise(group, chance) for group in asked]
    groups = rows_of([*typed, *(plans(held_out=False) if is_of_all else ())], model.parts)
    loss = partial(loss_of, model, yes_counts=0.5 if is_of_all else 1.0)
    descend(model, batches(groups, chance), loss, RATE)


@torch.inference_mode()
def fit_heads(model: Network) -> None:
    """Fit which lines say yes, and after which a plan holds, by logistic regressions on [CLS]; all else stays."""
    questions, parts = questions_with_lines(PLAIN, OF_SEVERAL_LINES), load_chats()
    said = [[each for chat in part for each in yes_or_no_of(chat, questions[chat["id"]])] for part in parts]
    told = [[each for lines in plans(held_out=held_out) for each in lines] for held_out in (False, True)]
    model.eval()
    for name, head, place, examples, labels in (
        ("yes", "line", 1, said, [[SAYS[each.says] for each in part] for part in said]),
        ("the plan holds", "holds", 0, told, [[each.holds for each in part] for part in told]),
    ):
        states = []
        for part in examples:
            rows = [row for each in part if (row := row_of(each, model.parts)) is not None]
            firsts = [states_of(model, rows[n : n + 32])[:, 0].numpy() for n in range(0, len(rows), 32)]
            states.append(np.concatenate(firsts))
        fitted = LogisticRegression(C=STRENGTH, max_iter=3000).fit(states[0], labels[0])
        area = roc_auc_score(labels[1], fitted.decision_function(states[1]))
        right = fitted.score(states[1], labels[1])
        print(f"held out {len(labels[1])}: {name} or not {right:.3f}, AUC {area:.3f}", flush=True)
        model.get_parameter(f"{head}.weight")[place] = torch.from_numpy(fitted.coef_[0].astype(np.float32))
        model.get_parameter(f"{head}.bias")[place] = float(fitted.intercept_[0])


def new_weights(model: Network) -> dict[str, Array]:
    """The weights that are not the package's, not calibrated yet."""
    package = model.parts.weights()
    trained = {
        name: weight
        for name, weight in model.weights().items()
        if not np.array_equal(weight, package.get(name.removeprefix("bert."), ()))
    }
    return trained | {"calibration": np.array(Calibration(), np.float32)}


def main() -> None:
    """Run one of the stages."""
    parser = argparse.ArgumentParser(prog="python -m graph.training.reader", description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=("lines", YES_OR_NO, "heads"), help="what is trained on")
    parser.add_argument("--encoder", default=DEFAULT_MODEL, choices=PARTS, help="the encoder that the reader is on")
    parser.add_argument("--start", type=Path, help="weights to go on from")
    parser.add_argument("--seed", type=int, default=SEED, help="of what is drawn at random")
    parser.add_argument("--mean", action="store_true", help="write the mean of START and the new weights")
    parser.add_argument("--out", type=Path, help="the weights to write, in place of those in assets/models")
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    chance = random.Random(arguments.seed)
    model, embedder = network_on(arguments.encoder), Embedder(arguments.encoder)
    if arguments.start:
        model.go_on(arguments.start)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    model.freeze(int(LAYERS_LEFT * len(model.bert.encoder.layer)))
    reader = YES_OR_NO if arguments.stage == YES_OR_NO else READER
    if arguments.stage == "heads":
        fit_heads(model)
    else:
        train(model, embedder, chance, reader)
    if arguments.mean:
        model.load_state_dict({name: (weight + before[name]) / 2 for name, weight in model.state_dict().items()})
    path = arguments.out or line_reader.weights_of(arguments.encoder, reader)
    bert.save(new_weights(model), path)
    reader_calibration.main(arguments.encoder, path, reader)


if __name__ == "__main__":
    main()
