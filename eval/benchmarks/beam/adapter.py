"""BEAM (Tavakoli et al. 2025, arXiv 2510.27246): chats of 128,000 to 10 million tokens, questions on ten abilities.

From https://github.com/mohammadtavakoli78/BEAM, folder chats/SIZE/NUMBER, where SIZE is 100K, 500K, 1M or 10M. A chat
is two files, chat.json and probing_questions/probing_questions.json:

    [{"batch_number": 1, "turns": [[{"role": "user", "id": 0, "time_anchor": "March-15-2024",
        "content": "I bought a canoe. ->-> 1,1"}, {"role": "assistant", "id": 1, "content": "Congratulations!"}]]}]

    {"information_extraction": [{"question": "What did I buy?", "answer": "A canoe", "rubric": ["A canoe"],
        "source_chat_ids": [0]}],
     "abstention": [{"question": "What did it cost?", "ideal_response": "You did not say."}]}

- history: a chat, under the names of its two folders ("100K-1"). The path is such a folder, or one that holds them.
- A batch is a session of the day of its first "time_anchor"; one without any is of the day of the batch before. The
  objects and lists around the batches are not read: the longest chats have several plans of batches.
- The mark at the end of a user's message ("->-> 1,1") belongs to the plan and is not remembered.
- asked_at: the end of the chat's last day; the questions have no date of their own.
- ability: the key of the list that a question stands in. Those of `ABSTENTION` have no answers; abstaining is right.
- gold.answers: the reference, which each ability names differently. Answers of summarization, instruction and
  preference following need a judge; words do not compare them.
- gold.rubric: the texts of "rubric", by which a judge scores (`eval.judging.rubric`); in "event_ordering" these are the
  events in their order.
- gold.turns: the messages of "source_chat_ids", in whatever lists and objects; gold.sessions: their batches. An id
  that the chat has not, or has twice, is left out and noted.
- populations: "all", and "answerable" for all but abstention.
- id: the chat's and a digest of question and reference.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from eval.benchmarks.reading import ALL, ANSWERABLE, ImportedHistory, UniqueIds, leaves, short_digest
from eval.types import Gold, History, Probe
from memory.errors import UnreadableFile
from memory.importers.reading.fields import EMPTY_SESSION, EMPTY_TURN, ROLES, Fields, list_items, parse_moment
from memory.importers.reading.json_stream import format_place, stream_values
from memory.types import PersonaDraft, SessionDraft, Skip, TurnDraft

TITLE = "BEAM"

CHATS = ("chat_trunecated.json", "chat.json")
"""The files of a chat, the first that exists is read, as the authors' `answer_generation.py` does (and spells it)."""
QUESTIONS = "probing_questions/probing_questions.json"

ABSTENTION, ORDERING = "abstention", "event_ordering"
REFERENCES = ("answer", "ideal_response", "ideal_answer", "ideal_summary", "expected_compliance")
"""Where the reference stands; each ability has one of them."""

_PLAN_MARK = re.compile(r"\s*->->[\s\d,.]*\Z")


def load(path: Path) -> Iterator[History]:
    """Yield the history of each chat in a folder; raises `UnreadableFile` if there is none, or a file breaks off."""
    folder = path if path.is_dir() else path.parent
    chats = [file.parent.parent for file in folder.glob(f"**/{QUESTIONS}")]
    if not chats:
        raise UnreadableFile(f"{path} has no chat of {TITLE}; expected {CHATS[-1]} and {QUESTIONS} in one folder.")
    # 2 comes before 10.
    for chat in sorted(chats, key=lambda c: (str(c.parent), int(c.name) if c.name.isdecimal() else 0, c.name)):
        yield _history(chat)


def _history(chat: Path) -> History:
    file = next((chat / name for name in CHATS if (chat / name).is_file()), None)
    if file is None:
        raise UnreadableFile(f"{chat} has questions, but no {' or '.join(CHATS)}.")
    name = f"{chat.parent.name}-{chat.name}"
    imported = ImportedHistory(PersonaDraft("Assistant", external_id=name))
    day: datetime | None = None
    # Batch by batch, so that only one batch of millions of tokens is held as JSON.
    for place, value in stream_values(file, lambda place: place[-1:] != ("turns",)):
        if place[-1:] == ("turns",):
            where = f"{file.name}, {format_place(place)}"
            turns, said_on = _read_turns(value, where, imported.skips)
            day = said_on or day
            if turns:
                imported.sessions.append(SessionDraft(turns, day, external_id=f"batch {len(imported.sessions) + 1}"))
            else:
                imported.skips.append(Skip(where, EMPTY_SESSION))
    if not imported.sessions:
        raise UnreadableFile(f"{file} does not look like {TITLE}. Nothing was read. Name the folder of a chat.")
    return imported.history(name, _read_probes(chat / QUESTIONS, name, imported))


def _read_turns(value: object, place: str, skips: list[Skip]) -> tuple[tuple[TurnDraft, ...], datetime | None]:
    """The messages of a batch, and the first day that one of them names."""
    turns: list[TurnDraft] = []
    day: datetime | None = None
    for exchange, where in list_items(value, place, skips):
        for message, at in list_items(exchange, where, skips):
            fields = Fields.of(message, at, skips)
            day = day or fields.optional_moment("time_anchor", lambda text: parse_moment(text, "%B-%d-%Y"))
            text = _PLAN_MARK.sub("", fields.text("content"))
            role = ROLES.get(fields.text("role"), "other")
            if text.strip():
                turns.append(TurnDraft(role.capitalize(), role, text, external_id=fields.text("id").strip()))
            elif fields.values:
                fields.report("content", EMPTY_TURN)
    return tuple(turns), day


def _read_probes(file: Path, name: str, imported: ImportedHistory) -> Iterator[Probe]:
    ids, asked_at, session_of = UniqueIds(), imported.end(), dict[str, str]()
    for session in imported.sessions:
        for turn in session.turns:  # an id that stands twice names no message
            session_of[turn.external_id] = "" if turn.external_id in session_of else session.external_id
    for place, value in stream_values(file):
        ability = str(place[0]) if place else ""
        for item, where in list_items(value, f"{file.name}, {format_place(place)}", imported.skips):
            fields = Fields.of(item, where, imported.skips)
            if fields.values and (gold := _gold(fields, ability, session_of)):
                question = fields.text("question")
                digest = short_digest(question, *gold.answers)
                populations = (ALL, ANSWERABLE) if gold.answerable else (ALL,)
                yield Probe(ids.make(f"{name}-{digest}"), question, asked_at, gold, ability, populations=populations)


def _gold(fields: Fields, ability: str, session_of: dict[str, str]) -> Gold | None:
    is_answerable = ability != ABSTENTION
    answer = next((text for key in REFERENCES if (text := fields.text(key).strip())), "")
    if not fields.text("question").strip() or (is_answerable and not answer):
        fields.report("", f"expected a question and one of {', '.join(REFERENCES)}; not asked")
        return None
    turns: list[str] = []
    named = (each for each in leaves(fields.values.get("source_chat_ids")) if type(each) in (str, int))
    for turn in dict.fromkeys(Fields({"id": each}, "").text("id").strip() for each in named):
        if session_of.get(turn):
            turns.append(turn)
        else:
            fault = "stands twice in the chat" if turn in session_of else "is not in the chat"
            fields.report("source_chat_ids", f"message {turn[:60]!r} {fault}; left out")
    sessions = tuple(dict.fromkeys(session_of[turn] for turn in turns))
    return Gold(
        (answer,) if is_answerable else (),
        tuple(turns),
        sessions,
        answerable=is_answerable,
        rubric=tuple(point for point, _ in fields.items("rubric") if isinstance(point, str) and point.strip()),
        in_order=ability == ORDERING,
    )
