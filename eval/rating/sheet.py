"""The rating sheet: a CSV file with a line for each reply, which a rater fills in without knowing whose reply it is.

reply       id of the line: a digest, from which a rater cannot tell the run
question    number of what the reply answers; the replies to one question stand together, in random order
said        the dialogue before, and what the user says
memories    what the memory had found for any of the replies to the question, the same on all their lines
expected    the benchmark's own reply or answer; empty where that is itself rated
text        the reply
naturalness, style, memory, support, emotion      filled in: a number from 0 to 3, or nothing
closest     filled in: x at the reply that feels closest to a friend's, or tie at any of them (section 3.3.3)
remembers   filled in: x if the reply uses a memory
"""

import csv
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from eval.runs.run import Run
from eval.types import ProbeKey
from memory import read_table
from memory.errors import MemoirError
from memory.formatting import csv_text, safe_cell

REFERENCE = "reference"
"""Stands for a run: the benchmark's own replies, rated like any other."""

CRITERIA = {name: "; ".join(points) for name, points in read_table(__file__, "criteria.toml").items()}
"""What each criterion's three points ask of a reply."""
HIGHEST = 3.0
"""The most a criterion gives: three points of 1."""

SHOWN = ("reply", "question", "said", "memories", "expected", "text")
SCORES = tuple(CRITERIA)
COLUMNS_TO_FILL = {
    **{name: f"0 to {HIGHEST:g}, up to 1 for each: {points}" for name, points in CRITERIA.items()},
    "closest": "x at the reply to a question that feels closest to a friend's, or tie at any of them",
    "remembers": "x if the reply uses a memory",
}
"""The columns that a rater fills in, and how."""
COLUMNS = (*SHOWN, *COLUMNS_TO_FILL)

YES, NO = ("x", "yes", "1"), ("", "no", "0")


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply to rate: of which run (or `REFERENCE`), to which probe of which history."""

    run: str
    history: str
    probe: str
    said: str
    memories: tuple[str, ...]
    expected: str
    text: str

    @property
    def question(self) -> ProbeKey:
        """What it replies to, which other runs reply to as well."""
        return self.history, self.probe

    @property
    def id(self) -> str:
        """Its line in a sheet."""
        return sha256("\0".join((self.run, self.history, self.probe)).encode()).hexdigest()[:12]


Rating = Mapping[str, Any]
"""What one rater filled in of a line, by column: numbers, "x" or "tie" as `closest`, and whether it `remembers`."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A sheet that was filled in: whose, the ratings that can be used by reply, and what could not be read."""

    rater: str
    ratings: Mapping[str, Rating]
    faults: tuple[str, ...]


def replies_of(runs: Sequence[Run], *, reference: bool = False) -> list[Reply]:
    """The replies of runs to the questions that all of them answered, and the benchmark's own if `reference`.

    Raises `MemoirError` if runs are of different benchmarks, or have no reply in common.
    """
    if len({run.spec.benchmark for run in runs}) > 1:
        named = ", ".join(f"{run.name} ({run.spec.benchmark})" for run in runs)
        raise MemoirError(f"a sheet is for runs of one benchmark; these are of several: {named}")
    answered = {run.name: {s.key: s for s in run.samples() if s.prediction.answer} for run in runs}
    common = set.intersection(*map(set, answered.values()))
    if not common:
        named = " and in ".join(answered)
        raise MemoirError(f"no question was replied to in {named}. Runs without a reader reply nothing")
    samples = [(run, s) for run, of_run in answered.items() for key, s in of_run.items() if key in common]
    # The same memories on every line: a run without memory would be known by having none.
    memories: dict[ProbeKey, dict[str, None]] = defaultdict(dict)
    for _, sample in samples:
        shown = (f"{hit.said_at[:10]} {hit.text}".strip() for hit in sample.prediction.shown if hit.kept)
        memories[sample.key] |= dict.fromkeys(shown)
    if reference:
        samples += [(REFERENCE, s) for run, s in samples if run == runs[0].name and s.probe.gold.answers]
    replies = []
    for run, sample in samples:
        said = [f"{turn.speaker}: {turn.text}" for turn in sample.probe.dialogue] + [sample.probe.question]
        right = (sample.probe.gold.answers or ("",))[0]
        text, expected = right if run == REFERENCE else sample.prediction.answer, "" if reference else right
        replies.append(Reply(run, *sample.key, "\n".join(said), tuple(memories[sample.key]), expected, text))
    return replies


def by_question(replies: Iterable[Reply]) -> Mapping[ProbeKey, list[Reply]]:
    """The replies to each question."""
    questions: dict[ProbeKey, list[Reply]] = defaultdict(list)
    for reply in replies:
        questions[reply.question].append(reply)
    return questions


def empty(replies: Sequence[Reply], *, seed: int = 0, limit: int | None = None) -> list[dict[str, object]]:
    """The lines of an empty sheet, of `limit` questions at most, in random order."""
    questions, shuffled = by_question(replies), random.Random(seed)
    order = shuffled.sample(sorted(questions), len(questions))[:limit]
    sheet: list[dict[str, object]] = []
    for number, question in enumerate(order, start=1):
        for reply in shuffled.sample(questions[question], len(questions[question])):
            texts = {"said": reply.said, "memories": "\n".join(reply.memories), "expected": reply.expected}
            cells = {name: safe_cell(text) for name, text in (texts | {"text": reply.text}).items()}
            sheet.append({"reply": reply.id, "question": number, **cells})
    return sheet


def check_is_new(file: Path) -> None:
    """Raise `MemoirError` if the file exists: it may be somebody's work."""
    if file.exists():
        raise MemoirError(f"{file} exists already. Name a new file: this one may hold ratings")


def write(lines: Sequence[Mapping[str, object]], file: Path) -> None:
    """Write a sheet; raises `MemoirError` if the file exists."""
    check_is_new(file)
    try:
        with file.open("x", encoding="utf-8", newline="") as out:
            out.write(to_csv(lines))
    except OSError as fault:
        raise MemoirError(f"{file} cannot be written: {fault.strerror}") from fault


def to_csv(lines: Sequence[Mapping[str, object]]) -> str:
    """The text of a sheet, after the mark by which spreadsheets know UTF-8."""
    return "\ufeff" + csv_text(COLUMNS, ([line.get(name, "") for name in COLUMNS] for line in lines))


def filled(file: Path, ratings: Mapping[str, Rating]) -> list[dict[str, object]]:
    """The lines of a sheet with these ratings filled in; raises `MemoirError` as `read`."""
    marks = {reply: {**own, "remembers": "x" if own.get("remembers") else ""} for reply, own in ratings.items()}
    return [{**line, **marks.get(line["reply"], {})} for _, line in lines(file)]


def read(file: Path, replies: Iterable[Reply]) -> Filled:
    """Read a sheet that was filled in; its rater is called like the file.

    A cell that cannot be used is left out, and so is a line of another sheet or one that stands there twice; `faults`
    names them. Raises `MemoirError` if the file is no rating sheet.
    """
    known = {reply.id: reply for reply in replies}
    ratings: dict[str, Rating] = {}
    faults: list[str] = []
    closest: dict[ProbeKey, int] = {}
    for number, line in lines(file):
        where, reply = f"{file.name}, line {number}", known.get(line["reply"])
        if reply is None:
            faults.append(f"{where}: reply {line['reply']!r} is of none of these runs; the line is left out")
        elif reply.id in ratings:
            faults.append(f"{where}: reply {reply.id} stands there a second time; the first line is kept")
        else:
            rating = _cells(line, where, faults)
            if "closest" in rating and closest.setdefault(reply.question, number) != number:
                earlier = closest[reply.question]
                faults.append(f"{where}, closest: line {earlier} is marked for the same question; this is left out")
                del rating["closest"]
            if rating:
                ratings[reply.id] = rating
    return Filled(file.stem, ratings, tuple(faults))


def lines(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The lines of a sheet with their numbers in the file, from 2: one cell may hold several lines of text."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            first = text.readline(4096)
            text.seek(0)
            # Some spreadsheets save with semicolons, as is the custom where a comma stands in numbers.
            delimiter = ";" if first.count(";") > first.count(",") else ","
            reader = csv.DictReader(text, delimiter=delimiter, restval="")
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise MemoirError(f"{file} is no rating sheet: its first line lacks {', '.join(missing)}")
            before = reader.line_num
            for line in reader:
                yield before + 1, line
                before = reader.line_num
    except (OSError, ValueError, csv.Error) as fault:
        raise MemoirError(f"{file} cannot be read: {fault}") from fault


def _score(text: str) -> float | None:
    score = float(text.replace(",", ".")) if text else None
    if score is not None and not 0 <= score <= HIGHEST:
        raise ValueError(text)
    return score


CELLS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    **dict.fromkeys(SCORES, (f"a number from 0 to {HIGHEST:g}", _score)),
    "closest": ("x, tie or nothing", {**dict.fromkeys(YES, "x"), **dict.fromkeys(NO, ""), "tie": "tie"}.__getitem__),
    "remembers": ("x or nothing", {**dict.fromkeys(YES, True), **dict.fromkeys(NO, False)}.__getitem__),
}
"""What is expected in a cell of each column to fill in, and what reads it."""


def _cells(line: Mapping[str, str], where: str, faults: list[str]) -> dict[str, Any]:
    """The value of each cell that was filled in and can be used; `faults` names those that cannot."""
    values: dict[str, Any] = {}
    for name, (expected, read) in CELLS.items():
        cell = line[name].strip()
        try:
            values[name] = read(cell.casefold())
        except (ValueError, KeyError):
            faults.append(f"{where}, {name}: expected {expected}, found {cell!r}; it is left out")
    filled_in = {name: value for name, value in values.items() if value not in (None, "")}
    # On a line without scores, an empty cell is one that was not filled in.
    if not filled_in.get("remembers") and filled_in.keys().isdisjoint(SCORES):
        filled_in.pop("remembers", None)
    return filled_in
