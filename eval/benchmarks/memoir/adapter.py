"""Memoir's own benchmarks: invented lives, and questions about them; assets/benchmark and assets/conversations.

The former are three lives of a year each; the latter are everyday users who type in lower case, with typos, in
passing. Of the first eight, by the SHA-256 of their names, four are for development and four report; nine more, by
other writers, are for development, too. Each half is a folder. A life is two files, NAME.jsonl in Memoir's own format
(see memory/importers/README.md) and NAME.probes.jsonl:

    {"id": "pia-p01", "ability": "multi-session", "question": "How many boats did I buy?", "answers": ["two", "2"],
     "asked_at": "2026-10-04T18:00:00+00:00", "evidence": ["pia-s03-t04", "pia-s09-t01"],
     "dialogue": [{"speaker": "Pia", "role": "user", "text": "..."}], "why": "for people who read the file"}

- history: a life, under its file's name. asked_at: as given, the end of the day if it has no clock time.
- ability: as given. Probes of `UNANSWERABLE` abilities have no answers and no evidence; abstaining is right.
- gold.turns: the evidence, turns and memories alike, in the order given (of a changed fact the newest first);
  gold.sessions: the sessions of the turns among it. Evidence later than asked_at cannot be recalled and is left out.
- populations: "all", and "answerable" for what has an answer.
- A probe of the ability `STATEMENT` asks nothing, and so has neither answers nor evidence.
- "dialogue" is what was said just before, "after" lists the questions that are asked just before in the same chat;
  "why" is not read.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from eval.benchmarks.reading import ALL, ANSWERABLE, UniqueIds, gather, in_file, read_asked_at, texts
from eval.types import STATEMENT, Gold, History, Probe
from memory.errors import UnreadableFile
from memory.importers.generic import memoir as importer
from memory.importers.reading.fields import EMPTY_TURN, ROLES, Fields, read_objects
from memory.types import Skip, TurnDraft

TITLE = "Memoir's own benchmark"

PROBES = ".probes.jsonl"
UNANSWERABLE = frozenset({"false-premise", "never-mentioned", "unanswerable"})

Known = dict[str, tuple[str, datetime | None]]
"""The session (empty for none) and the time of each turn and memory, by its id."""


def load(path: Path) -> Iterator[History]:
    """Yield each life in a folder, or that of one of its files; raises `UnreadableFile` for missing or broken ones."""
    files = sorted(path.glob(f"*{PROBES}"))
    if not path.is_dir():
        files = [path.with_name(path.name.removesuffix(PROBES).removesuffix(".jsonl") + PROBES)]
    if not files:
        raise UnreadableFile(f"{path} has no probes; expected NAME.jsonl and NAME{PROBES}.")
    for file in files:
        yield _history(file)


def _history(probes_file: Path) -> History:
    name = probes_file.name.removesuffix(PROBES)
    life = probes_file.with_name(f"{name}.jsonl")
    for file in (life, probes_file):
        if not file.is_file():
            raise UnreadableFile(f"{file} is missing; a life is NAME.jsonl and NAME{PROBES} in one folder.")
    lives = gather(importer.read(life))
    if not lives:
        raise UnreadableFile(f"{life} has no persona; expected Memoir's own format.")
    imported = lives[0]
    imported.skips.extend(
        Skip(life.name, f"a second persona, {other.persona.name}, is left out") for other in lives[1:]
    )
    ids, skips = UniqueIds(), list[Skip]()
    known: Known = {m.external_id: ("", m.said_at or m.valid_from) for m in imported.memories}
    known |= {t.external_id: (s.external_id, t.said_at or s.started_at) for s in imported.sessions for t in s.turns}
    probes = [probe for line in read_objects(probes_file, skips) if (probe := _probe(line, known, ids))]
    imported.skips.extend(in_file(probes_file, skip) for skip in skips)
    return imported.history(name, probes)


def _probe(fields: Fields, known: Known, ids: UniqueIds) -> Probe | None:
    needed = ("id", "ability", "question")
    if not all(fields.required_text(each, "missing; the probe is not asked") for each in needed):
        return None
    asked_at = read_asked_at(fields.text("asked_at"))
    if asked_at is None:
        fields.report("asked_at", "no readable date; the probe is not asked")
        return None
    ability = fields.text("ability")
    answers, evidence = _texts(fields, "answers"), _evidence(fields, known, asked_at)
    is_answerable = ability not in UNANSWERABLE
    if (is_answerable and ability != STATEMENT) != bool(answers):
        expected = "expected an answer" if is_answerable else f"expected no answer to what is {ability}"
        fields.report("answers", f"{expected}; the probe is not asked")
        return None
    return Probe(
        ids.make_in(fields, "id", fields.text("id")),
        fields.text("question"),
        asked_at,
        Gold(
            answers,
            turns=evidence,
            sessions=tuple(dict.fromkeys(known[i][0] for i in evidence if known[i][0])),
            answerable=is_answerable,
        ),
        ability,
        populations=(ALL, ANSWERABLE) if is_answerable else (ALL,),
        dialogue=tuple(_read_dialogue(fields)),
        after=_texts(fields, "after"),
    )


def _evidence(fields: Fields, known: Known, asked_at: datetime) -> tuple[str, ...]:
    found = []
    for name in _texts(fields, "evidence"):
        _, said_at = known.get(name, ("", None))
        if name not in known:
            fields.report("evidence", f"{name!r} is not a turn or memory of this life; left out")
        elif said_at and said_at > asked_at:
            fields.report("evidence", f"{name!r} is later than the question; left out")
        else:
            found.append(name)
    return tuple(dict.fromkeys(found))


def _read_dialogue(fields: Fields) -> Iterator[TurnDraft]:
    for turn in fields.objects("dialogue"):
        role = ROLES.get(turn.text("role"), "other")
        if turn.text("text").strip():
            yield TurnDraft(turn.text("speaker") or role, role, turn.text("text"))
        elif turn.values:
            turn.report("text", EMPTY_TURN)


def _texts(fields: Fields, name: str) -> tuple[str, ...]:
    return tuple(text for text, _ in texts(fields, name) if text.strip())
