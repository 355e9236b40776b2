"""Compile histories for LongMemEval's questions into a file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from eval.benchmarks.longmemeval.histories import SHARES, Plan, compile_histories, read_pools
from eval.cli.output import show
from eval.runs.evaluator import Evaluator
from memory.errors import MemoirError


def compile_file(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Write LongMemEval's questions with new histories; on an error the file is removed."""
    if arguments.file.exists():
        raise MemoirError(f"{arguments.file} exists already. Name a new file, or delete it")
    plan = Plan(arguments.fillers, _shares(arguments.shares), arguments.characters, arguments.seed)
    fillers = read_pools(map(_pool, arguments.pool))
    written = sessions = 0
    try:
        with arguments.file.open("x", encoding="utf-8") as file:
            for question in compile_histories(arguments.questions, fillers, plan):
                file.write(",\n" if written else "[\n")
                json.dump(question, file, ensure_ascii=False)
                written += 1
                sessions += len(question["haystack_sessions"])
            file.write("\n]\n" if written else "[]\n")
    except BaseException:
        arguments.file.unlink(missing_ok=True)
        raise
    counts = {source: len(found) for source, found in sorted(fillers.items())}
    pools = ", ".join(f"{n} of {source}" for source, n in counts.items())
    text = f"wrote {written} questions with {sessions} sessions to {arguments.file}; the pools have {pools}"
    return show(arguments, {"questions": written, "sessions": sessions, "pools": counts}, text)


def _pool(text: str) -> tuple[str, Path]:
    source, sign, file = text.partition("=")
    return (source, Path(file)) if sign else ("", Path(text))


def _shares(text: str) -> dict[str, float]:
    if not text:
        return dict(SHARES)
    shares = {}
    for part in text.split(","):
        source, _, share = part.partition("=")
        try:
            shares[source.strip()] = float(share)
        except ValueError:
            shares[source.strip()] = -1.0
    if min(shares.values()) < 0 or not 0 < sum(shares.values()) < float("inf"):
        raise MemoirError(f"--shares {text!r}: expected numbers from 0 up, as in sharegpt=25,ultrachat=25,user=50")
    return shares
