"""The beginnings of lives of Memoir's own benchmark, with questions that they answer; a run of them takes seconds."""

import json

from eval.runs.evaluator import OWN_FILES


def write_short_lives(folder, names, sessions, probes):
    """Write some lives into a folder: their first sessions, and the first questions that those answer."""
    for name in names:
        persona, *life = _lines(f"{name}.jsonl")
        told = {turn["id"] for line in life[:sessions] for turn in json.loads(line)["session"]["turns"]}
        asked = [line for line in _lines(f"{name}.probes.jsonl") if told.issuperset(json.loads(line)["evidence"])]
        (folder / f"{name}.jsonl").write_text("\n".join([persona, *life[:sessions]]) + "\n", "utf-8")
        (folder / f"{name}.probes.jsonl").write_text("\n".join(asked[:probes]) + "\n", "utf-8")
    return folder


def _lines(file):
    return (OWN_FILES["memoir"] / file).read_text("utf-8").splitlines()
