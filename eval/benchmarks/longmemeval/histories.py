"""Compile histories of any length, as LongMemEval does (Wu et al., ICLR 2025, appendix A.2).

A question keeps its evidence sessions and gets as many fillers as wanted, drawn from pools of sessions. A source of
fillers has a share: ShareGPT 25 %, UltraChat 25 %, and half from sessions written for other questions. Evidence and
fillers are mixed at random, the evidence in the order of its dates. The dates of the evidence are kept. A filler is
dated between the evidence before and after it, or up to 30 days before the first or after the last (as in the authors'
data/custom_history/sample_haystack_and_timestamp.py), and never after the question. If no evidence is dated, all
sessions are of the eleven days before the question, or of 20 to 30 May 2023.

Deviations: no session occurs twice in a history. The authors draw no filler about the same attribute of the user; the
released files do not name it, so what is left out is the question's own evidence and its sisters ("answer_b_2",
"answer_b_abs_1" beside "answer_b_1"). A pool of other origin may contradict a question.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any

from eval.benchmarks.longmemeval.adapter import FILES, TITLE, read_moment
from eval.benchmarks.reading import UniqueIds, find_file
from memory.bank.rows import digest
from memory.errors import MemoirError
from memory.importers.benchmarks import longmemeval as importer
from memory.importers.detect import unpack
from memory.importers.reading.json_stream import stream_values
from memory.types import SessionDraft

Turns = Sequence[Mapping[str, Any]]

SHARES: Mapping[str, float] = {"sharegpt": 25, "ultrachat": 25, "user": 50}
"""The paper's sources of fillers. In the released files, the id of a session begins with the first two."""

AROUND = timedelta(days=30)
FIRST_DAY, LAST_DAY = datetime(2023, 5, 20, tzinfo=UTC), datetime(2023, 5, 31, tzinfo=UTC)

HAYSTACK = ("haystack_dates", "haystack_session_ids", "haystack_sessions")
EVIDENCE_PREFIX = "answer_"
_PART = re.compile(r"(?:_abs)?(?:_\d+)?(?:#\d+)?$")


@dataclass(frozen=True, slots=True)
class Filler:
    """A session that can fill a history; `family` is what the ids of sessions of one origin have in common."""

    id: str
    family: str
    text: str
    turns: Turns


@dataclass(frozen=True, slots=True)
class Plan:
    """How many fillers a history gets, from which sources, and the most characters of a history (0: no limit)."""

    fillers: int
    shares: Mapping[str, float]
    characters: int = 0
    seed: int = 0


def read_pools(pools: Iterable[tuple[str, Path]]) -> dict[str, list[Filler]]:
    """Read the sessions of files in any format that Memoir imports, by source; every text is taken once.

    A pool is a source and a file. Without a source, it is read from the id of a session. All sessions stay in memory.

    Raises `UnreadableFile` for a file in no such format.
    """
    fillers, ids, seen = defaultdict[str, list[Filler]](list), UniqueIds(), set[str]()
    for source, path in pools:
        unpacked = unpack(path)
        for session in (record for each in unpacked.sources for record in unpacked.importer.read(each)):
            if not isinstance(session, SessionDraft):
                continue
            turns = [
                {"role": turn.speaker if turn.role == "other" else turn.role, "content": turn.text}
                for turn in session.turns
            ]
            text = _text(turns)
            if text in seen:
                continue
            seen.add(text)
            name = (session.external_id or f"{path.stem}_{len(seen)}").removeprefix(EVIDENCE_PREFIX)
            origin = source or next((known for known in SHARES if name.startswith(known)), "user")
            fillers[origin].append(Filler(ids.make(name), _family(name), text, turns))
    return dict(fillers)


def compile_histories(questions: Path, fillers: Mapping[str, Sequence[Filler]], plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield each question of a LongMemEval file with a new history, as its adapter reads it.

    A history depends on the seed and its question only, not on the other questions of the file.

    Raises `MemoirError` if a source has too few, and `UnreadableFile` if the file is not LongMemEval's.
    """
    file = find_file(questions, FILES, TITLE, importer.sniff)
    for place, question in stream_values(file):
        if place and isinstance(question, dict):
            sessions = sorted(_compile(question, fillers, plan), key=itemgetter(0))
            dates = [moment.strftime("%Y/%m/%d (%a) %H:%M") for moment, _, _ in sessions]
            columns = dates, [name for _, name, _ in sessions], [turns for _, _, turns in sessions]
            yield question | dict(zip(HAYSTACK, columns, strict=True))


def _compile(
    question: Mapping[str, Any], fillers: Mapping[str, Sequence[Filler]], plan: Plan
) -> list[tuple[datetime, str, Turns]]:
    """The sessions of a question's new history, each with its moment and id."""
    draw = Random(f"{plan.seed} {question.get('question_id')}")
    asked_at = read_moment(str(question.get("question_date", "")))
    evidence = list(_evidence(question))
    drawn = _draw(fillers, plan, [(name, turns) for _, name, turns in evidence], draw)
    first, last = (asked_at - (LAST_DAY - FIRST_DAY), asked_at) if asked_at else (FIRST_DAY, LAST_DAY)
    dated = [(moment or _between(first, last, draw), name, turns) for moment, name, turns in evidence]
    dated.sort(key=itemgetter(0))
    anchors = [moment for moment, _, _ in dated]
    if any(moment for moment, _, _ in evidence):
        first, last = anchors[0] - AROUND, anchors[-1] + AROUND
    edges = [min(edge, asked_at) if asked_at else edge for edge in (first, *anchors, last)]
    moments = _moments(edges, len(drawn), draw)
    return [*dated, *((moment, each.id, each.turns) for moment, each in zip(moments, drawn, strict=True))]


def _draw(
    fillers: Mapping[str, Sequence[Filler]], plan: Plan, evidence: Sequence[tuple[str, Turns]], draw: Random
) -> list[Filler]:
    families, texts = {_family(name) for name, _ in evidence}, {_text(turns) for _, turns in evidence}
    drawn = list[Filler]()
    sources = draw.choices(list(plan.shares), list(plan.shares.values()), k=plan.fillers)
    for source, wanted in Counter(sources).items():
        free = [f for f in fillers.get(source, ()) if f.family not in families and f.text not in texts]
        if len(free) < wanted:
            raise MemoirError(
                f"{wanted} sessions of {source!r} are needed for one history, and the pools have {len(free)} that are "
                "not its evidence. Add a pool, ask for fewer fillers, or change the shares"
            )
        drawn += draw.sample(free, wanted)
    draw.shuffle(drawn)
    if not plan.characters:
        return drawn
    sizes = accumulate((_size(f.turns) for f in drawn), initial=sum(_size(turns) for _, turns in evidence))
    return [f for f, size in zip(drawn, list(sizes)[1:], strict=True) if size <= plan.characters]


def _moments(edges: Sequence[datetime], count: int, draw: Random) -> list[datetime]:
    """Moments of `count` fillers: each is put before, between or after the inner edges, the dates of the evidence.

    With two pieces of evidence and two fillers, [filler, evidence, filler, evidence] is one of the six orders: the
    fillers get moments between the first and the second edge, and between the second and the third.
    """
    is_evidence = [True] * (len(edges) - 2) + [False] * count
    draw.shuffle(is_evidence)
    bounds = list(pairwise(edges))
    before = accumulate(is_evidence, initial=0)
    return [_between(*bounds[n], draw) for n, place in zip(before, is_evidence, strict=False) if not place]


def _evidence(question: Mapping[str, Any]) -> Iterator[tuple[datetime | None, str, Turns]]:
    wanted = {str(name) for name in question.get("answer_session_ids", ())}
    rows = zip(*(question.get(name, ()) for name in HAYSTACK), strict=False)
    for date, name, turns in rows:
        if str(name) in wanted:
            wanted.remove(str(name))
            yield read_moment(str(date)), str(name), turns


def _family(name: str) -> str:
    """The name without its mark as evidence and its number: "answer_b_abs_1" and "b_2" are of the family "b"."""
    return _PART.sub("", name.removeprefix(EVIDENCE_PREFIX))


def _text(turns: Turns) -> str:
    contents = (str(turn.get("content", "")).strip() for turn in turns)
    return digest(*(content for content in contents if content))


def _size(turns: Turns) -> int:
    return sum(len(str(turn.get("content", ""))) for turn in turns)


def _between(first: datetime, last: datetime, draw: Random) -> datetime:
    return first + draw.random() * (last - first)
