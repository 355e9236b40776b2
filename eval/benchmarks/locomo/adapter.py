"""LoCoMo (Maharana et al., ACL 2024, arXiv 2402.17753): ten long conversations of two friends, 1,986 questions.

From https://github.com/snap-research/locomo, data/locomo10.json, CC BY-NC 4.0:

    [{"sample_id": "conv-1", "qa": [{"question": "Where does Pia row?", "answer": "On the lake",
        "evidence": ["D1:1"], "category": 4}, {..., "adversarial_answer": "On the sea", "category": 5}, ...],
      "conversation": {"speaker_a": "Pia", "session_1_date_time": "...", "session_1": [{"dia_id": "D1:1", ...}]}}, ...]

What is remembered is what `memory.importers.benchmarks.locomo` reads.

- history: a conversation. asked_at: the end of the day of its last session; the questions have no date of their own.
- ability: the category by name (1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial), as counted in
  the paper's table 5 and its evaluation script.
- Category 5 asks about something untrue. `adversarial_answer` is what must not be said, so the probe has no answers and
  is not answerable; the two such questions that also have an `answer` ("No") are scored the same way.
- gold.turns: the evidence's dia_ids, gold.sessions: the sessions they are in ("session_1"). Read without guessing:
  several ids in one text ("D8:6; D9:17"), a colon too many ("D:11:26"), a leading zero ("D30:05"). What is no id ("D"),
  or one that the conversation does not have, is left out. A question without evidence is scored by its answer only.
- populations: "all", and "answerable" for categories 1 to 4.
- Asked as by the authors (`task_eval/evaluate_gpts.py`), category 2 ends in a hint of the date and category 5 in two
  choices, which only a model that reads is shown: the search is for the question alone. Their order is random there,
  and here by a digest.
- id: the sample's and a digest of question, answer and evidence.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from eval.benchmarks.reading import ALL, ANSWERABLE, ImportedHistory, UniqueIds, find_file, gather, short_digest
from eval.types import Gold, History, Probe
from memory.importers.benchmarks import locomo as importer
from memory.importers.reading.fields import Fields, json_type, stream_objects
from memory.types import Skip

TITLE = "LoCoMo"

CATEGORIES = {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop", "5": "adversarial"}
ADVERSARIAL, TEMPORAL = "adversarial", "temporal"

DATE_HINT = "Use DATE of CONVERSATION to answer with an approximate date."
CHOOSE = "Select the correct answer: (a) {} (b) {}. "
NOT_MENTIONED = "Not mentioned in the conversation"

FILES = ("locomo*.json",)
BETWEEN_IDS = re.compile(r"[;,\s]+")
DIA_ID = re.compile(r"D:?([0-9]{1,6}):([0-9]{1,6})")

TurnsByNumber = Mapping[tuple[int, int], tuple[str, str]]
"""The ids of each turn of a conversation and of its session, by the numbers of session and turn."""


def load(path: Path, *, as_authors: bool = False) -> Iterator[History]:
    """Yield the history of each conversation, with questions as we ask them, or `as_authors` do.

    Raises `UnreadableFile` if the file is not LoCoMo's, or it breaks off.
    """
    file = find_file(path, FILES, TITLE, importer.sniff)
    samples = defaultdict[str, list[Fields]](list)
    for index, sample in stream_objects(file, []):
        # By the id that the importer gives it; what is wrong with it is noted in its own history.
        samples[sample.text("sample_id").strip() or f"conversation {index}"].append(replace(sample, skips=[]))
    for imported in gather(importer.read(file)):
        yield _history(imported, samples[imported.persona.external_id], as_authors)


def _history(imported: ImportedHistory, samples: list[Fields], as_authors: bool) -> History:
    name = imported.persona.external_id
    ids = UniqueIds()
    turns = {
        number: (turn.external_id, session.external_id)
        for session in imported.sessions
        for turn in session.turns
        if (number := _number(turn.external_id))
    }
    probes = []
    for sample in samples:
        for fields in sample.objects("qa"):
            if fields.values and (probe := _probe(fields, name, imported.end(), turns, ids)):
                probes.append(_as_authors(probe, fields) if as_authors else probe)
        imported.skips.extend(sample.skips)
    return imported.history(name, probes)


def _probe(fields: Fields, name: str, asked_at: datetime, turns: TurnsByNumber, ids: UniqueIds) -> Probe | None:
    ability = CATEGORIES.get(fields.text("category"), "")
    question, answer = fields.text("question"), fields.text("answer")
    is_answerable = ability != ADVERSARIAL
    if not question.strip() or not ability or (is_answerable and not answer.strip()):
        fields.report("", "expected a question, a category from 1 to 5 and, but for category 5, an answer; not asked")
        return None
    if answer and not is_answerable:
        fields.report("answer", "category 5 is scored as an abstention; the answer is not used")
    evidence = _evidence(fields, turns)
    digest = short_digest(question, answer, fields.text("adversarial_answer"), fields.values.get("evidence"))
    return Probe(
        ids.make(f"{name}-q{digest}"),
        question,
        asked_at,
        Gold(
            (answer,) if is_answerable else (),
            turns=tuple(evidence),
            sessions=tuple(dict.fromkeys(evidence.values())),
            answerable=is_answerable,
        ),
        ability,
        populations=(ALL, ANSWERABLE) if is_answerable else (ALL,),
    )


def _as_authors(probe: Probe, fields: Fields) -> Probe:
    if probe.ability == TEMPORAL:
        return replace(probe, shown=f"{probe.question} {DATE_HINT}")
    untrue = fields.text("adversarial_answer") or fields.text("answer")
    if probe.ability != ADVERSARIAL or not untrue:
        return probe
    right = int(short_digest(probe.id), 16) % 2
    choices = (NOT_MENTIONED, untrue) if right == 0 else (untrue, NOT_MENTIONED)
    shown = f"{probe.question} {CHOOSE.format(*choices)}"
    return replace(probe, shown=shown, choices=choices, gold=replace(probe.gold, choice=right))


def _evidence(fields: Fields, turns: TurnsByNumber) -> dict[str, str]:
    """The turns named as evidence, in any spelling, and their sessions; unusable and leniently read ids are noted."""
    evidence: dict[str, str] = {}
    values = list(fields.items("evidence"))
    if not values:
        fields.report("evidence", "no evidence is named; only the answer is scored")
    for value, place in values:
        if not isinstance(value, str):
            fields.skips.append(Skip(place, f"expected the id of a turn, found {json_type(value)}; left out"))
            continue
        usable: dict[str, str] = {}
        for part in filter(None, BETWEEN_IDS.split(value)):
            number = _number(part)
            if number and number in turns:
                turn, session = turns[number]
                usable[turn] = session
            else:
                fault = "is not in the conversation" if number else "is not the id of a turn"
                fields.skips.append(Skip(place, f"evidence {part[:60]!r} {fault}; left out"))
        if usable and [value] != list(usable):
            fields.skips.append(Skip(place, f"evidence {value[:60]!r} read as {', '.join(usable)}"))
        evidence |= usable
    return evidence


def _number(dia_id: str) -> tuple[int, int] | None:
    match = DIA_ID.fullmatch(dia_id.strip())
    return (int(match[1]), int(match[2])) if match else None
