"""LongMemEval (Wu et al., ICLR 2025, arXiv 2410.10813): 500 questions, each with a chat history of its own.

From https://github.com/xiaowu0162/LongMemEval, MIT; S, M and oracle, as first released or cleaned, have one schema:

    [{"question_id": "q7_abs", "question_type": "multi-session", "question": "Which boat did I buy?",
      "question_date": "2024/05/30 (Thu) 23:40", "answer": "The red one", "answer_session_ids": ["answer_b_1"],
      "haystack_dates": ["2024/05/01 (Wed) 09:30"], "haystack_session_ids": ["answer_b_1"],
      "haystack_sessions": [[{"role": "user", "content": "I bought a boat.", "has_answer": true}, ...], ...]}, ...]

What is remembered is what `memory.importers.benchmarks.longmemeval` reads. One question is in memory at a time.

- history: a question. asked_at: question_date, the end of the day if it has no clock time; one that cannot be read puts
  the question after the last session.
- answers: the answer as text (some are numbers). ability: question_type. answerable: no "_abs" in the id; a question
  without an answer is not counted in the totals of evidence.
- populations: "all"; "no_abs" (470 of 500); "user_side" (419), the no_abs with a has_answer turn by the user in an
  evidence session, since the official script indexes what the user says only (run_retrieval.py).
- gold.sessions: answer_session_ids that are in the haystack. gold.turns: their turns with has_answer, as
  "<session id>_<n>" from 1, whoever speaks. Evidence dated after the question can never be recalled, so it is left out
  of both levels, as is evidence without text. The question stays.
- gold.user_turns, gold.user_sessions: what the official script counts as evidence: turns with has_answer by the user,
  and their sessions. It ignores dates.
- Where a session id occurs twice, the first session is the evidence.
"""

from collections.abc import Iterator, Set
from datetime import datetime
from pathlib import Path

from eval.benchmarks.reading import ALL, ImportedHistory, UniqueIds, find_file, gather, read_asked_at, texts
from eval.types import Gold, History, Probe
from memory.importers.benchmarks import longmemeval as importer
from memory.importers.reading.fields import Fields, json_type, list_objects, parse_with_format
from memory.importers.reading.json_stream import format_place, stream_values
from memory.types import Skip

TITLE = "LongMemEval"

FILES = ("longmemeval*.json", "longmemeval_s", "longmemeval_m", "longmemeval_oracle")


def load(path: Path) -> Iterator[History]:
    """Yield the history of each question, in the file's order.

    Raises `UnreadableFile` if the file is not LongMemEval's, or it breaks off (after the questions before the break).
    """
    file = find_file(path, FILES, TITLE, importer.sniff)
    ids, early_skips = UniqueIds(), list[Skip]()
    for place, value in stream_values(file):
        if not place or not isinstance(value, dict) or not isinstance(place[0], int):
            early_skips.append(Skip(format_place(place), f"expected a question, found {json_type(value)}"))
            continue
        (imported,) = gather(importer.read_question(place[0], value))
        imported.skips.extend(early_skips)
        early_skips.clear()
        fields = Fields(value, format_place(place), imported.skips)
        name = ids.make_in(fields, "question_id", imported.persona.external_id)
        probe = _probe(fields, imported, name)
        yield imported.history(name, [probe] if probe else [])


def _probe(fields: Fields, imported: ImportedHistory, name: str) -> Probe | None:
    needed = ("question_id", "question", "question_type", "answer")
    if not all(fields.required_text(each, "missing; the question is not asked") for each in needed):
        return None
    asked_at = read_moment(fields.text("question_date"))
    if asked_at is None:
        plain, asked_at = importer.without_weekday(fields.text("question_date")), imported.end()
        reason = f"no readable date ({plain[:40]!r}); asked at the end of the last day, {asked_at}"
        fields.report("question_date", reason)
    evidence = _evidence(fields, {turn.external_id for session in imported.sessions for turn in session.turns})
    kept = [session for session in evidence if _can_be_recalled(session, fields, imported, asked_at)]
    is_abs = "_abs" in name
    user_turns = tuple(turn for turns in evidence.values() for turn, role in turns.items() if role == "user")
    populations = [ALL]
    if not is_abs:
        populations += ["no_abs", "user_side"] if user_turns else ["no_abs"]
    return Probe(
        name,
        fields.text("question"),
        asked_at,
        Gold(
            (fields.text("answer"),),
            turns=tuple(turn for session in kept for turn in evidence[session]),
            sessions=tuple(kept),
            user_turns=user_turns,
            user_sessions=tuple(session for session, turns in evidence.items() if "user" in turns.values()),
            answerable=not is_abs,
        ),
        fields.text("question_type"),
        populations=tuple(populations),
        counted=not is_abs,
    )


def read_moment(text: str) -> datetime | None:
    """Read a date as these files write it: a moment, or the end of a day."""
    plain = importer.without_weekday(text)
    return parse_with_format(plain, "%Y/%m/%d %H:%M") or read_asked_at(plain)


def _evidence(fields: Fields, stored: Set[str]) -> dict[str, dict[str, object]]:
    """The haystack sessions named as evidence, with the role of each stored turn that is marked, by its official id.

    Named sessions that are missing are noted.
    """
    unreported = Fields(fields.values, "")
    ids = [name for name, _ in texts(unreported, "haystack_session_ids")]
    sessions = [session for session, _ in unreported.items(importer.SESSIONS)]
    found: dict[str, dict[str, object]] = {}
    for name, place in texts(fields, "answer_session_ids"):
        times = ids.count(name)
        if not times:
            fields.skips.append(Skip(place, f"evidence {name!r} is not in the haystack; left out"))
            continue
        if times > 1:
            fields.skips.append(Skip(place, f"evidence {name!r} is {times} times in the haystack; the first is meant"))
        number = ids.index(name)
        turns = list_objects(sessions[number] if number < len(sessions) else None, "", [])
        marked = {
            f"{name}_{n}": turn.values for n, turn in enumerate(turns, start=1) if turn.values.get("has_answer") is True
        }
        found[name] = {turn: values.get("role") for turn, values in marked.items() if turn in stored}
    return found


def _can_be_recalled(name: str, fields: Fields, imported: ImportedHistory, asked_at: datetime) -> bool:
    """Whether a session of evidence is stored and not dated after the question."""
    session = next((each for each in imported.sessions if each.external_id == name), None)
    if session is None:
        fields.report("answer_session_ids", f"evidence {name!r} has no text; left out")
        return False
    if session.started_at and session.started_at > asked_at:
        late = f"evidence {name!r} is dated {session.started_text}, after the question; left out"
        fields.report("answer_session_ids", late)
        return False
    return True
