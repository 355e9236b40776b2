"""Write answers for LongMemEval's own judge script, and read its labels.

The script is `src/evaluation/evaluate_qa.py` of github.com/xiaowu0162/LongMemEval (Wu et al., ICLR 2025). It reads one
object a line, `{"question_id": "q17", "hypothesis": "In Porto."}`, asks a judging model about each, and writes
beside its input `<file>.eval-results-<model>`: the same lines with the label added,

    {"question_id": "q17", "hypothesis": "In Porto.", "autoeval_label": {"model": "gpt-4o-2024-08-06", "label": true}}

It has no third state: a reply without "yes" is labelled false.
"""

from pathlib import Path

from pydantic import BaseModel, StrictBool, ValidationError

from eval.types import Sample, Verdict
from memory.errors import MemoirError

DECLINED = "I don't know."
"""The hypothesis for an abstention without words; the script would label an empty one false."""


class UnreadableLabels(MemoirError):
    """The judge script's result is not in its format, or labels a question twice."""


class _Label(BaseModel):
    model: str
    label: StrictBool


class _Line(BaseModel):
    question_id: str
    autoeval_label: _Label


def hypothesis(sample: Sample) -> dict[str, str]:
    """The line of a sample in the script's input."""
    answer = sample.prediction.answer.strip() or (DECLINED if sample.prediction.abstained else "")
    return {"question_id": sample.probe.id, "hypothesis": answer}


def read_labels(path: Path) -> dict[str, Verdict]:
    """Read the script's verdicts by question id, signed with the full name of the judging model.

    Raises `UnreadableLabels` if the file is missing, a line is not as above, or a question is labelled twice.
    """
    verdicts: dict[str, Verdict] = {}
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as fault:
        raise UnreadableLabels(
            f"{path} cannot be read ({fault}). Run LongMemEval's evaluate_qa.py to make it"
        ) from fault
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        line = _read(path, number, text)
        if line.question_id in verdicts:
            raise UnreadableLabels(f"{path}, line {number}: {line.question_id!r} was labelled before. None was kept")
        label = line.autoeval_label
        verdicts[line.question_id] = Verdict("right" if label.label else "wrong", label.model)
    return verdicts


def _read(path: Path, number: int, text: str) -> _Line:
    try:
        return _Line.model_validate_json(text)
    except ValidationError as fault:
        first = fault.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the line"
        raise UnreadableLabels(
            f"{path}, line {number}: {place}: {first['msg']}; expected "
            '{"question_id": "...", "autoeval_label": {"model": "...", "label": true}}. None was kept'
        ) from fault
