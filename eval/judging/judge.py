"""Judge answers with a chat model: right, wrong, unreadable or unscored; and score them by a benchmark's criteria.

A reply of the judge that cannot be parsed is unreadable and counts as wrong, but no score is made of it. An answer is
unscored if there is no reply, or no gold answer. Both are counted, and the reason is kept. Judging again with the same
model costs nothing: replies are cached by the SHA-256 of the model's name and the whole prompt.
"""

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from eval.judging import rubric
from eval.types import ChatModel, Prediction, Probe, Verdict
from graph.models.calls import ModelFailed, complete
from graph.models.json_replies import REASONING, UnusableReply
from memory.errors import MemoirError

VERDICTS: Mapping[str, Literal["right", "wrong"]] = {"right": "right", "wrong": "wrong"}

SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"verdict": {"type": "string", "enum": list(VERDICTS)}}}

MAX_TOKENS = 64
"""Most tokens of a verdict, which takes 10."""

BUSY_SECONDS = 60.0
"""How long one process waits for another that writes to the cache."""

_FIRST_WORD = re.compile(r"\A[\"'*_`]*(right|wrong)\b", re.IGNORECASE)


@dataclass
class Spent:
    """What judging has cost so far: prompts `asked` of the model, taken from the cache, and `failed` without a reply.

    `unreadable` counts the replies, asked for or from the cache, that state no verdict or no score.
    Tokens are those of the prompts asked; a cached reply costs none.
    """

    asked: int = 0
    cached: int = 0
    failed: int = 0
    unreadable: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far judges or raters of the same things agree, over the `n` that two or more of them scored.

    `share` is the share of equal verdicts of two judges, and `kappa` Cohen's (1960), which corrects it for chance; the
    mean over pairs of raters. `alpha` is Krippendorff's for numbers (2004), whatever the number of raters. None where
    it is not measured, or all marks are the same, so that there is nothing to agree on.
    """

    n: int
    share: float | None = None
    kappa: float | None = None
    alpha: float | None = None


@dataclass
class Judge:
    """Judges answers with one chat model; `name` signs its verdicts, `cache` is an SQLite file.

    Processes may share the cache. With `criteria`, each answer is scored by these, too, which takes one more reply.
    """

    model: ChatModel
    name: str
    cache: Path
    criteria: Mapping[str, str] = field(default_factory=dict)
    spent: Spent = field(default_factory=Spent)

    def judge(self, probe: Probe, prediction: Prediction) -> Verdict:
        """Judge an answer; where the judge gives no verdict, the reply or the reason is kept in its place.

        A reader's reply that could not be read is wrong, and has scores of 0, without asking.

        Raises `MemoirError` if the cache's file cannot be read or written.
        """
        by_rubric = bool(probe.gold.rubric)
        if probe.gold.answerable and not probe.gold.answers and not by_rubric:
            return Verdict("unscored", self.name, "there is no gold answer to compare with")
        if prediction.unreadable:
            reason, score = "the reader's reply could not be read", 0.0 if by_rubric else None
            return Verdict("wrong", self.name, reason, score, dict.fromkeys(self.criteria, 0.0))
        verdict = self._verdict(probe, prediction)
        if verdict.state == "unscored" or not self.criteria:
            return verdict
        try:
            scores, reply = rubric.score_criteria(probe, prediction, self.criteria, self._reply)
        except ModelFailed:
            self.spent.failed += 1
            return verdict
        self.spent.unreadable += None in scores.values()
        return replace(verdict, reply=f"{verdict.reply}\n{reply}", criteria=scores)

    def _verdict(self, probe: Probe, prediction: Prediction) -> Verdict:
        try:
            if probe.gold.rubric:
                score, reply, reported = rubric.score(probe, prediction, self._reply)
                return Verdict("right" if score == 1 else "wrong", self.name, reply, score, reported)
            reply = self._reply(judging_prompt(probe, prediction), SCHEMA, MAX_TOKENS)
            if (state := read_verdict(reply)) is None:
                raise UnusableReply(reply)
            return Verdict(state, self.name, reply)
        except UnusableReply as fault:
            self.spent.unreadable += 1
            return Verdict("unreadable", self.name, f"the judge's reply states no verdict: {fault}")
        except ModelFailed as fault:
            self.spent.failed += 1
            return Verdict("unscored", self.name, str(fault))

    def _reply(self, prompt: str, schema: Mapping[str, Any], max_tokens: int) -> str:
        key = hashlib.sha256(json.dumps([self.name, prompt]).encode()).hexdigest()
        if cached := self._execute("SELECT reply FROM replies WHERE key = ?", key):
            self.spent.cached += 1
            return str(cached[0])
        self.spent.asked += 1
        reply = complete(self.model, prompt, schema=schema, max_tokens=max_tokens)
        self.spent.tokens_in += reply.tokens_in
        self.spent.tokens_out += reply.tokens_out
        row = (key, self.name, reply.text, reply.tokens_in, reply.tokens_out)
        self._execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?)", *row)
        return reply.text

    def _execute(self, sql: str, *values: str | int) -> tuple[Any, ...] | None:
        """Run a statement on the cache, which is opened for it alone, so that processes can share it; one row, if any.

        Raises `MemoirError` if the file cannot be read or written.
        """
        try:
            self.cache.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.cache, timeout=BUSY_SECONDS, isolation_level=None)) as cache:
                cache.execute(
                    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, model TEXT, reply TEXT, "
                    "tokens_in INTEGER, tokens_out INTEGER) STRICT"
                )
                row: tuple[Any, ...] | None = cache.execute(sql, values).fetchone()
                return row
        except (sqlite3.Error, OSError) as fault:
            raise MemoirError(
                f"{self.cache}: the judge's cache of replies cannot be used ({fault}). Earlier verdicts are in the "
                "run's own file. Free disk space, wait for the other process, or move the file away to start a new one"
            ) from fault


def judging_prompt(probe: Probe, prediction: Prediction) -> str:
    """The texts, a line each, then the instructions and the form of the reply.

    The question, the gold answers and the answer are untrusted. Each is a JSON string on a line of its own without any
    `<`, so that nothing in it can end the line.
    """
    said = [f"{turn.speaker}: {turn.text}" for turn in probe.dialogue]
    answer = prediction.answer.strip() or rubric.NO_ANSWER
    return rubric.fill_in(rubric.TEXTS["verdict"], probe=probe, said=said, answer=answer, **rubric.TEXTS)


def read_verdict(reply: str) -> Literal["right", "wrong"] | None:
    """Parse a reply: its only JSON object, `{"verdict": "right"}`, or its first word; None if neither is a verdict."""
    bare = REASONING.sub("", reply).strip()
    if rubric.OBJECT.search(bare):
        verdict = rubric.read_object(reply).get("verdict")
        return VERDICTS.get(verdict.strip().casefold()) if isinstance(verdict, str) else None
    word = _FIRST_WORD.match(bare)
    return VERDICTS[word[1].casefold()] if word else None


def agreement(pairs: Iterable[tuple[Verdict, Verdict]]) -> Agreement:
    """How far two judges agree, over the pairs in which both give a verdict."""
    states = [(a.state, b.state) for a, b in pairs if {a.state, b.state} <= {"right", "wrong"}]
    share = sum(a == b for a, b in states) / len(states) if states else None
    return Agreement(len(states), share, kappa(states))


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa of two raters' marks; None where all are the same."""
    from sklearn.metrics import cohen_kappa_score

    differ = len({mark for pair in pairs for mark in pair}) > 1
    return float(cohen_kappa_score(*zip(*pairs, strict=True))) if differ else None
