"""Train the reader of `graph.readers.line_reader`: which words of a line answer a question, if any.

    python -m graph.training.reader open DATA --out START   published question-answering data, about 20 minutes
    python -m graph.training.reader chats START             our own chats, about an hour; writes assets/models
    python -m graph.training.reader plain START             plain questions about them, half an hour; writes there, too
    python -m graph.training.reader yes START               which lines say yes, five minutes; writes there, too

The first starts from all-MiniLM-L6-v2, the second from the first's weights or from its own of before, the third from
the second's, and the last fits one head of these. All print their figures on what is held out. The word embeddings stay
as they are: the encoder's package has them.
"""

import argparse
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from torch import nn
from transformers import BertModel

from graph.readers import line_reader
from graph.readers.line_reader import Calibration, Tokens, tokens_of
from graph.training import reader_calibration
from graph.training.network import autocast, descend, padded, weights_of
from graph.training.reader_data import (
    OF_SEVERAL_LINES,
    PLAIN,
    SAYS,
    Example,
    load_chats,
    of_chat,
    open_data,
    plain_of,
    questions_with_lines,
    yes_or_no_of,
)
from memory.embedding import bert, minilm
from memory.embedding.embedder import Embedder

SEED = 14
RATE, RATE_PLAIN = 1e-4, 5e-5
"""Highest learning rate, with open data and pairs and with plain questions."""
BATCH_TOKENS = 2048
EPOCHS_OPEN, EPOCHS_CHATS, EPOCHS_PLAIN = 1, 2, 1
KEPT = 5000
"""Questions of the chats that are trained on again beside the plain ones."""
STRENGTH_YES = 0.1
"""Inverse strength of the regularisation, by five folds of the chats."""
LAYERS_LEFT = 2
"""So many of the lowest layers are as the first stage left them: a fifth faster."""


@dataclass(frozen=True, slots=True)
class Row:
    """An example as tokens, and the places in them of the answer's first and last token; 0 if it has none.

    `answers` is 1 if the line answers, 0 if not, and NaN if it does with a value that another line has replaced.
    """

    tokens: Tokens
    start: int
    end: int
    answers: float
    says: int


Group = list[Row]
"""The rows of one question."""


class Reader(nn.Module):
    """MiniLM with three heads: whether the line answers and says yes (from [CLS]), and the answer's ends (tokens)."""

    def __init__(self) -> None:
        super().__init__()
        self.bert = BertModel.from_pretrained(str(minilm.folder()), add_pooling_layer=False)
        self.bert.embeddings.word_embeddings.requires_grad_(False)
        self.line = nn.Linear(bert.DIMENSIONS, 2)
        self.ends = nn.Linear(bert.DIMENSIONS, 2)

    def forward(self, rows: Sequence[Row]) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of answering and of saying yes, (rows, 2), and of first and last token, (rows, tokens, 2)."""
        states = self.states(rows)
        outside = torch.full((*states.shape[:2], 1), -1e4)
        for n, row in enumerate(rows):
            outside[n, row.tokens.first : row.tokens.first + len(row.tokens.offsets)] = 0
        return self.line(states[:, 0]), self.ends(states) + outside

    def states(self, rows: Sequence[Row]) -> torch.Tensor:
        """What the network makes of each token of the rows, (rows, tokens, 384)."""
        ids, is_token = padded([row.tokens.ids for row in rows])
        types, _ = padded([row.tokens.types for row in rows])
        with autocast():
            states = self.bert(input_ids=ids, token_type_ids=types, attention_mask=is_token).last_hidden_state
        result: torch.Tensor = states.float()
        return result


def row_of(example: Example) -> Row | None:
    """An example as tokens; None if its answer is beyond the tokens that are read."""
    tokens = tokens_of(example.question, example.asked_on, [example.line])[0]
    if example.answer is None:
        return Row(tokens, 0, 0, math.nan if example.outdated else 0.0, -1)
    start, end = example.answer
    inside = [n for n, (a, b) in enumerate(tokens.offsets) if a < end and b > start]
    if not inside or end > tokens.offsets[-1][1]:
        return None
    return Row(tokens, tokens.first + inside[0], tokens.first + inside[-1], 1.0, SAYS.get(example.says, -1))


def loss_of(model: Reader, groups: Sequence[Group]) -> torch.Tensor:
    """The mean loss: whether a line answers, which line of a question does, the answer's ends, and yes or no."""
    rows = [row for group in groups for row in group]
    line, ends = model(rows)
    answers = torch.tensor([row.answers for row in rows])
    known, held = ~answers.isnan(), answers == 1
    loss = nn.functional.binary_cross_entropy_with_logits(line[known, 0], answers[known])
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
        loss = loss + nn.functional.binary_cross_entropy_with_logits(line[says >= 0, 1], wanted) / 2
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


def train(model: Reader, groups: Sequence[Group], epochs: int, held_out: Sequence[Row], rate: float = RATE) -> None:
    """Train on the rows of questions, and print the figures on those held out."""
    chance = random.Random(SEED)
    plan = [batch for _ in range(epochs) for batch in batches(groups, chance)]
    descend(model, plan, partial(loss_of, model), rate)
    report(model, held_out)


@torch.inference_mode()
def predict(model: Reader, rows: Sequence[Row]) -> Iterator[tuple[float, float, int, int]]:
    """Of each row the logits of answering and of yes, and the likeliest first and last token of the answer."""
    model.eval()
    for begin in range(0, len(rows), 32):
        line, ends = model(rows[begin : begin + 32])
        for (answers, yes), logits in zip(line.tolist(), ends.numpy(), strict=True):
            yield answers, yes, *line_reader.best_ends(logits)[:2]


def report(model: Reader, rows: Sequence[Row]) -> None:
    """Print how well the model tells answering lines from others, and finds the answer in them."""
    answers = [row.answers for row in rows]
    predicted = list(predict(model, rows))
    overlap = [
        2 * max(0, min(end, row.end) - max(start, row.start) + 1) / (end - start + 1 + row.end - row.start + 1)
        for row, (_, _, start, end) in zip(rows, predicted, strict=True)
        if row.answers
    ]
    said = [(yes > 0) == row.says for row, (_, yes, _, _) in zip(rows, predicted, strict=True) if row.says >= 0]
    print(
        f"held out {len(rows)}: AUC {roc_auc_score(answers, [p[0] for p in predicted]):.3f},"
        f" F1 of the answer's tokens {np.mean(overlap):.3f} (n = {len(overlap)}),"
        f" yes or no {np.mean(said) if said else math.nan:.3f} (n = {len(said)})",
        flush=True,
    )


def rows_of(groups: Sequence[Sequence[Example]]) -> list[Group]:
    """The examples that are not too long, as tokens."""
    rows = [[row for row in map(row_of, group) if row is not None] for group in groups]
    return [group for group in rows if group]


def flat(groups: Sequence[Group]) -> list[Row]:
    """The rows of groups of which it is known whether they answer."""
    return [row for group in groups for row in group if not math.isnan(row.answers)]


def go_on(model: Reader, start: Path) -> None:
    """Take the weights of a file; word embeddings and lowest layers stay as they are."""
    model.load_state_dict({name: torch.from_numpy(weight) for name, weight in bert.load(start).items()}, strict=False)
    model.bert.encoder.layer[:LAYERS_LEFT].requires_grad_(False)
    model.bert.embeddings.requires_grad_(False)


def train_on_chats(model: Reader, embedder: Embedder) -> None:
    """Train on the pairs of the chats."""
    chats, held_out = load_chats()
    groups = rows_of([group for chat in chats for group in of_chat(chat, embedder)])
    random.Random(SEED).shuffle(groups)
    train(model, groups, EPOCHS_CHATS, flat(rows_of([group for chat in held_out for group in of_chat(chat)])))


def train_on_plain(model: Reader, embedder: Embedder) -> None:
    """Train on the plain questions about the chats, and on some of the pairs again; keep the mean of before and after.

    Few plain questions are about others in the third person, and the mean forgets less of them (Wortsman et al. 2022,
    "Robust fine-tuning of zero-shot models").
    """
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    questions, (chats, held_out) = questions_with_lines(PLAIN, OF_SEVERAL_LINES), load_chats()
    plain, tested = (
        rows_of([group for chat in part for group in plain_of(chat, questions[chat["id"]], embedder)])
        for part in (chats, held_out)
    )
    pairs = [group for chat in chats for group in of_chat(chat, embedder)]
    groups = [*plain, *rows_of(random.Random(SEED).sample(pairs, KEPT))]
    random.Random(SEED).shuffle(groups)
    report(model, flat(tested))
    train(model, groups, EPOCHS_PLAIN, flat(tested), RATE_PLAIN)
    model.load_state_dict({name: (weight + before[name]) / 2 for name, weight in model.state_dict().items()})


@torch.inference_mode()
def fit_yes(model: Reader) -> None:
    """Fit which lines say yes, by a logistic regression over what the network makes of them; all else stays."""
    questions, parts = questions_with_lines(PLAIN, OF_SEVERAL_LINES), load_chats()
    states, says = [], []
    model.eval()
    for part in parts:
        examples = [each for chat in part for each in yes_or_no_of(chat, questions[chat["id"]])]
        rows = [row for each in examples if (row := row_of(each)) is not None]
        firsts = [model.states(rows[n : n + 32])[:, 0].numpy() for n in range(0, len(rows), 32)]
        states.append(np.concatenate(firsts))
        says.append([SAYS[each.says] for each in examples])
    fitted = LogisticRegression(C=STRENGTH_YES, max_iter=3000).fit(states[0], says[0])
    print(f"held out {len(says[1])}: yes or no {fitted.score(states[1], says[1]):.3f}", flush=True)
    model.line.weight[1] = torch.from_numpy(fitted.coef_[0].astype(np.float32))
    model.line.bias[1] = float(fitted.intercept_[0])


def main() -> None:
    """Run one of the four stages."""
    parser = argparse.ArgumentParser(prog="python -m graph.training.reader", description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=("open", "chats", "plain", "yes"), help="what is trained on")
    parser.add_argument("path", type=Path, metavar="DATA|START", help="a folder of data, or the weights to go on from")
    parser.add_argument("--out", type=Path, help="the file that the stage open writes")
    arguments = parser.parse_args()
    if (arguments.stage == "open") != (arguments.out is not None):
        parser.error("--out names the file that the stage open writes; the other stages write assets/models")
    torch.manual_seed(SEED)
    model, embedder = Reader(), Embedder(minilm.NAME)
    if arguments.stage == "open":
        groups = rows_of(open_data(arguments.path, embedder))
        random.Random(SEED).shuffle(groups)
        train(model, groups[500:], EPOCHS_OPEN, flat(groups[:500]))
        save_file({n: w.contiguous() for n, w in model.state_dict().items()}, arguments.out)
        return
    go_on(model, arguments.path)
    if arguments.stage == "yes":
        fit_yes(model)
        bert.save(weights_of(model) | {"calibration": bert.load(arguments.path)["calibration"]}, line_reader.WEIGHTS)
        return
    (train_on_plain if arguments.stage == "plain" else train_on_chats)(model, embedder)
    bert.save(weights_of(model) | {"calibration": np.array(Calibration(), np.float32)}, line_reader.WEIGHTS)
    reader_calibration.main()


if __name__ == "__main__":
    main()
