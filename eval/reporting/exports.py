"""Write a run's answers and rankings in the formats that other programs read."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.benchmarks import BENCHMARKS
from eval.benchmarks.dialsim.metrics import answer_log
from eval.benchmarks.locomo.metrics import qa_line
from eval.benchmarks.longmemeval.metrics import hypothesis, retrieval_log_line
from eval.metrics.evidence import item_ranking, session_ranking
from eval.metrics.scores import Scored, score
from eval.play.systems.contract import MEMOIR
from eval.reporting.report import report
from eval.runs.run import Run
from eval.types import Sample
from memory.errors import MemoirError


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the only benchmark whose runs have it, or "" if all have, what it is, and its lines.

    A line is text, or the values of a line of JSON.
    """

    benchmark: str
    about: str
    lines: Callable[[Sequence[Sample], Run], Iterable[object]]


def write(run: Run, file: Path, name: str = "") -> tuple[str, int]:
    """Write a run in a format, or in the first one of its benchmark; returns the format's name and the lines written.

    Text is escaped to ASCII, since the authors' scripts open their input in the machine's preferred encoding.

    Raises `MemoirError` if the format is of another benchmark, none is named and the benchmark has none of its own, or
    the run has more than the file can hold.
    """
    benchmark = run.spec.benchmark
    name = name or next((each for each, found in FORMATS.items() if found.benchmark == benchmark), "")
    if not name or FORMATS[name].benchmark not in ("", benchmark):
        fit = ", ".join(each for each, found in FORMATS.items() if found.benchmark in ("", benchmark))
        raise MemoirError(f"{run.name} is a run of {benchmark}. Name a format that it has, with --format: {fit}")
    found = FORMATS[name].lines(run.samples(), run)
    lines = [line if isinstance(line, str) else json.dumps(line, default=str) for line in found]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return name, len(lines)


def _chat(samples: Sequence[Sample], _: Run) -> list[dict[str, list[dict[str, str]]]]:
    """The answers of one chat by ability, in the order of its file: the script finds their rubrics by their places."""
    chats = list(dict.fromkeys(sample.prediction.history_id for sample in samples))
    if len(chats) > 1:
        raise MemoirError(f"the script reads a file for each chat. Run one alone, with --only: {', '.join(chats)}")
    answers: dict[str, list[dict[str, str]]] = {}
    for sample in samples:
        answer = {"question": sample.probe.question, "llm_response": sample.prediction.answer}
        answers.setdefault(sample.probe.ability, []).append(answer)
    return [answers]


def _rankings(samples: Sequence[Sample], run: Run) -> Iterator[tuple[str, Sequence[str], list[str]]]:
    """The id of each probe with evidence, the ids that were found, best first, and those that are relevant."""
    level = BENCHMARKS[run.spec.benchmark].scoring.level
    for sample in samples:
        found, relevant = (session_ranking if level == "sessions" else item_ranking)(sample)
        if relevant:
            yield _word(sample.probe.id), [_word(name) for name in found], sorted(map(_word, relevant))


def _trec_run(samples: Sequence[Sample], run: Run) -> Iterator[str]:
    for probe, found, _ in _rankings(samples, run):
        yield from (f"{probe} Q0 {name} {rank} {1 / rank:.6f} memoir" for rank, name in enumerate(found, start=1))


def _trec_qrels(samples: Sequence[Sample], run: Run) -> Iterator[str]:
    for probe, _, relevant in _rankings(samples, run):
        yield from (f"{probe} 0 {name} 1" for name in relevant)


def _word(name: str) -> str:
    """An id without spaces, which divide the columns of TREC's files."""
    return "_".join(name.split()) or "_"


def _inspect(samples: Sequence[Sample], run: Run) -> list[dict[str, Any]]:
    """An EvalLog of version 2; all figures of a probe are one score, since each has some dozens."""
    spec, done, n = run.spec, report(run), len(samples)
    model = str(spec.settings.get("model", "none"))
    about = {"portion": spec.portion, "code": spec.code, "checksum": spec.checksum, "machine": run.machine}
    task = {"run_id": run.name, "created": run.created, "task": spec.benchmark, "task_args": spec.settings}
    task |= {"model": model, "config": {}, "packages": spec.versions, "metadata": about}
    task["dataset"] = {"name": spec.benchmark, "location": spec.data, "samples": n}
    means = {name: {"mean": {"name": "mean", "value": figure.value}} for name, figure in done.metrics.items()}
    figures = [{"name": name, "scorer": MEMOIR, "metrics": mean} for name, mean in means.items()]
    scored = score(samples, BENCHMARKS[spec.benchmark].scoring, answered=run.has_reader)
    log: dict[str, Any] = {
        "version": 2,
        "status": "success" if run.is_done else "cancelled",
        "eval": task,
        "results": {"total_samples": n, "completed_samples": n, "scores": figures},
        "stats": {"model_usage": {model: _usage(done.tokens["in"], done.tokens["out"])}},
        "samples": [_inspect_sample(one, model) for one in scored],
    }
    return [log]


def _inspect_sample(one: Scored, model: str) -> dict[str, Any]:
    probe, gold, said, verdict = one.sample.probe, one.sample.probe.gold, one.sample.prediction, one.sample.verdict
    choice = {"message": {"role": "assistant", "content": said.answer}, "stop_reason": "stop"}
    usage = _usage(said.tokens_in, said.tokens_out)
    found = [{"units": hit.units, "score": hit.score, "place": hit.place} for hit in said.found]
    judged = {"verdict": verdict.state, "by": verdict.by} if verdict else {}
    told = {"answer": said.answer, "explanation": verdict and verdict.reply, "metadata": judged}
    return {
        "id": f"{said.history_id}/{probe.id}",
        "epoch": 1,
        "input": probe.shown or probe.question,
        "choices": list(probe.choices) or None,
        "target": list(gold.answers),
        "output": {"model": said.reader or model, "choices": [choice], "usage": usage},
        "scores": {MEMOIR: {"value": one.scores, **told}},
        "metadata": {
            "ability": probe.ability,
            "asked_at": probe.asked_at,
            "evidence": probe.gold.evidence,
            "found": found,
        },
        "total_time": said.response_ms / 1000,
    }


def _usage(tokens_in: int, tokens_out: int) -> dict[str, int]:
    return {"input_tokens": tokens_in, "output_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}


FORMATS = {
    "hypotheses": Format(
        "longmemeval", "for LongMemEval's evaluate_qa.py", lambda samples, _: map(hypothesis, samples)
    ),
    "retrieval-log": Format(
        "longmemeval",
        "for LongMemEval's print_retrieval_metrics.py",
        lambda samples, _: filter(None, map(retrieval_log_line, samples)),
    ),
    "qa": Format(
        "locomo",
        "for eval_question_answering of LoCoMo's task_eval/evaluation.py",
        lambda samples, _: [{"qa": [qa_line(sample) for sample in samples]}],
    ),
    "answers": Format(
        "dialsim",
        "for judge_eq of DialSim's post_processing/process_answer.py",
        lambda samples, _: [answer_log(samples)],
    ),
    "chat": Format("beam", "for BEAM's run_evaluation.py, of one chat", _chat),
    "trec-run": Format("", "a TREC run of sessions, or of memories where these are ranked", _trec_run),
    "trec-qrels": Format("", "the relevance judgements for it", _trec_qrels),
    "inspect": Format("", "for Inspect's viewer and read_eval_log, into a file that ends in .json", _inspect),
}
"""By name; the first of a benchmark is the one that is written if none is named."""
