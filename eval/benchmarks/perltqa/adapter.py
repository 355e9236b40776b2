"""PerLTQA (Du et al., SIGHAN 2024, arXiv 2402.16288): 8,593 questions on what 32 characters are, know and did.

From https://github.com/Elvin-Yiming-Du/PerLTQA, Dataset/{zh,en,en_v2}, CC BY-NC 4.0. Beside the memory bank
(perltmem*.json, see `memory.importers.benchmarks.perltqa`) lie its questions (perltqa*.json):

    [{"Pia Lund": {"profile": [{"Question": "What does Pia do?", "Answer": "She builds boats.",
        "Reference Memory": "Occupation", "Memory Anchors": [{"builds boats": [-1, -1]}]}, ...],
      "social_relationship": [{"9_1": [{..., "Reference Memory": "['9_1']", ...}]}, ...],
      "events": [{"9_1_0": [...]}, ...], "dialogues": [{"9_1_0#3": [...]}, ...]}}, ...]

Only English v2 was at hand, and of it one character. Of the others it is known from programs that read them that their
bank is a list of characters, named in the profile; that zh groups questions in objects, not lists; that field names are
English everywhere. In v2, 25 banks have relations written as Python and one character with questions is in no bank.

- history: a character who has questions. What is remembered is what the importer reads, without `profile_description`:
  it restates the profile, and no question refers to it.
- asked_at: the end of the day of the latest date of the history.
- ability: the section; store: profile, relationship, event, dialogue; gold.kind: semantic for the first two.
- gold.items: the ids of Reference Memory, a field's name or an event's id, of a dialogue its session. A field that is
  not in the bank is read as the only one that begins or ends so ("Awards" of "Awards and Role Models"). A question
  without a readable reference belongs to the memory it is grouped under; one whose memory the bank lacks is not asked.
- gold.anchors: the phrases of Memory Anchors. Their offsets are of no use in English and are not read.
  gold.anchor_ceiling: the share of them that the referenced memories hold; the English release has many that none does.
- HTML entities in question, answer and anchors are resolved. answers: the one reference.
- id: the character and a digest of the item. populations: "all", and "test" for those that our split of the file's
  questions keeps to test with (`split`); it counts those, too, that are not asked.
"""

import html
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Literal

from eval.benchmarks.reading import ALL, ImportedHistory, UniqueIds, find_file, gather, in_file, short_digest, texts
from eval.metrics.answers import anchor_map
from eval.types import TEST, Gold, History, Kind, Probe
from memory.bank.rows import clean
from memory.errors import UnreadableFile
from memory.importers.benchmarks import perltqa as importer
from memory.importers.reading.fields import Fields, json_type, stream_objects
from memory.importers.reading.json_stream import outline, stream_values
from memory.types import SEMANTIC, STORES, Skip, Store

TITLE = "PerLTQA"

BANK, QUESTIONS = "perltmem", "perltqa"
FILES = (f"*{QUESTIONS}*.json", f"*/*{QUESTIONS}*.json")
REFERENCE = "Reference Memory"

Part = Literal["training", "validation", "test"]

SIZES: Mapping[Part, int] = {"training": 5_155, "validation": 1_719, "test": 1_719}
"""Of the paper's split (section 4.1); which question is where is not published."""

SPLIT_SEED = "PerLTQA, 1"

SECTIONS: Mapping[str, Store] = {
    "profile": "profile",
    "social_relationship": "relationship",
    "events": "event",
    "dialogues": "dialogue",
}
"""The store that a part of a bank and of its questions is about."""


Labelled = tuple[str, Kind]
"""A question's text, and the kind of memory that it is about."""

Question = tuple[str, str, Fields]
"""A question: the section it stands in, the id of the memory it is grouped under, and its fields."""


def labelled_questions(path: Path) -> dict[Part, list[Labelled]]:
    """Read every question of the files by part, also those whose memory the bank lacks; raises as `load` does."""
    questions = _read_questions(_find_files(path)[0], [])
    found = [(_text(item, "Question"), _kind(SECTIONS[name])) for own in questions.values() for name, _, item in own]
    parts = split(text for text, _ in found if text)
    return {part: [(text, kind) for text, kind in found if parts.get(text) == part] for part in SIZES}


def split(questions: Iterable[str]) -> dict[str, Part]:
    """The part of each question's text; the test and the validation part get at least one question each.

    The split is our own, so its test questions are not the authors'. Questions are ordered by a digest of their text,
    so that it is the same on every machine and in every order of the file, and equal texts are in one part. A file with
    another number of questions is split by the same shares.
    """
    alike: dict[str, list[str]] = defaultdict(list)
    for question in questions:
        alike[" ".join(question.split()).casefold()].append(question)
    total = sum(map(len, alike.values()))
    held_out = max(1, round(total * SIZES["test"] / sum(SIZES.values())))
    room: dict[Part, int] = {"test": held_out, "validation": held_out, "training": total}
    parts: dict[str, Part] = {}
    for text in sorted(alike, key=lambda text: sha256(f"{SPLIT_SEED}/{text}".encode()).digest()):
        part = next(part for part, left in room.items() if left >= len(alike[text]))
        room[part] -= len(alike[text])
        parts |= dict.fromkeys(alike[text], part)
    return parts


def load(path: Path) -> Iterator[History]:
    """Yield the history of each character with questions; raises `UnreadableFile` if files are missing or broken."""
    questions_file, bank = _find_files(path)
    notes: list[Skip] = []
    questions = _read_questions(questions_file, notes)
    parts = {text: part for part, labelled in labelled_questions(path).items() for text, _ in labelled}
    known = {
        importer.name_of(place, value) for place, value in stream_values(bank) if isinstance(value, dict) and value
    }
    if known.isdisjoint(questions):
        raise UnreadableFile(f"{bank} has none of the characters that {questions_file.name} asks about.")
    missing = [
        Skip(questions_file.name, f"{name} is not in the bank; none of their questions is asked")
        for name in questions
        if name not in known
    ]
    for place, value in stream_values(bank):
        name = importer.name_of(place, value)
        if name in questions and isinstance(value, dict) and value:
            (imported,) = gather(importer.read_character(place, value))
            probes = tuple(_probes(imported, questions.pop(name), parts))
            imported.skips.extend([*(in_file(questions_file, note) for note in notes), *missing])
            notes.clear()
            missing.clear()
            yield imported.history(name, probes)


def _find_files(path: Path) -> tuple[Path, Path]:
    if not path.is_dir() and BANK in path.name:
        path = _twin(path, BANK, QUESTIONS)

    def is_questions(head: bytes) -> bool:
        return any(place[0] == "[]" and len(place) == 3 and place[2] in SECTIONS for place in outline(head))

    questions = find_file(path, FILES, TITLE, is_questions)
    return questions, _twin(questions, QUESTIONS, BANK)


def _twin(file: Path, name: str, other: str) -> Path:
    twin = file.with_name(file.name.replace(name, other))
    if twin == file or not twin.is_file():
        raise UnreadableFile(
            f"{file} needs {file.name.replace(name, other)} in the same folder: bank and questions are two files."
        )
    return twin


def _read_questions(file: Path, notes: list[Skip]) -> dict[str, list[Question]]:
    """Read the questions of each character, by section, and skip the rest."""
    questions = defaultdict[str, list[Question]](list)
    for _, characters in stream_objects(file, notes):
        for name, sections in characters.object_entries():
            for section in SECTIONS:
                found = _items(sections.values.get(section), "", sections.place_of(section), notes)
                questions[name.strip()] += ((section, group, item) for item, group in found)
    return questions


def _text(item: Fields, name: str) -> str:
    return html.unescape(item.text(name)).strip()


def _kind(store: Store) -> Kind:
    return "semantic" if store in SEMANTIC else "episodic"


def _probes(imported: ImportedHistory, questions: Iterable[Question], parts: Mapping[str, Part]) -> Iterator[Probe]:
    """Yield the questions that can be asked about a character, whose description is not remembered."""
    ids = UniqueIds()
    for memory in [each for each in imported.memories if each.external_id == importer.DESCRIPTION]:
        why = "restates the profile, and no question refers to it; not remembered"
        imported.skips.append(Skip(f"{imported.persona.external_id}.{importer.DESCRIPTION}", why))
        imported.memories.remove(memory)
    texts = {store: {m.external_id: m.text for m in imported.memories if m.store == store} for store in STORES}
    texts["dialogue"] = {s.external_id: "\n".join(turn.text for turn in s.turns) for s in imported.sessions}
    for section, group, item in questions:
        if probe := _probe(item, group, section, texts[SECTIONS[section]], imported, ids):
            yield replace(probe, populations=(ALL, TEST) if parts[probe.question] == "test" else (ALL,))


def _items(value: object, group: str, place: str, notes: list[Skip]) -> Iterator[tuple[Fields, str]]:
    """Yield each question with the id it is grouped under, from lists and objects."""
    if isinstance(value, dict) and "Question" in value:
        yield Fields(value, place, notes), group
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _items(inner, clean(key), f"{place}.{key}", notes)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _items(inner, group, f"{place}[{index}]", notes)
    elif value is not None:
        notes.append(Skip(place, f"expected questions, found {json_type(value)}"))


def _probe(
    item: Fields, group: str, section: str, bank: Mapping[str, str], imported: ImportedHistory, ids: UniqueIds
) -> Probe | None:
    """Read a question; `bank` has the text of each memory of its store."""
    store = SECTIONS[section]
    question, answer = _text(item, "Question"), _text(item, "Answer")
    if not question or not answer:
        item.report("", "expected a question and its answer; not asked")
        return None
    items = tuple(dict.fromkeys(filter(None, (_find(name, store, bank, item) for name in _references(item, group)))))
    if not items:
        item.report(REFERENCE, "refers to nothing in the bank; not asked")
        return None
    anchors = _anchors(item)
    if not anchors:
        item.report("Memory Anchors", "no anchors; not scored by them")
    ceiling = anchor_map("\n".join(bank[name] for name in items), anchors) if anchors else None
    return Probe(
        ids.make(f"{imported.persona.external_id}-{short_digest(section, question, answer, *items, *anchors)}"),
        question,
        imported.end(),
        Gold((answer,), items=items, anchors=anchors, anchor_ceiling=ceiling, kind=_kind(store)),
        section,
        store,
    )


def _references(item: Fields, group: str) -> list[str]:
    """The ids that an item refers to: a name, or a list of ids in Python syntax."""
    value = item.values.get(REFERENCE)
    text = value.strip() if isinstance(value, str) else ""
    listed = value if isinstance(value, list) else importer.literal(text) if text.startswith("[") else [text]
    named = texts(replace(item, values={REFERENCE: listed}), REFERENCE)
    names = [name.strip() for name, _ in named if name.strip()]
    if not names and group:
        item.report(REFERENCE, f"not readable; taken to be {group}, under which it stands")
        return [group]
    return names


def _find(name: str, store: Store, bank: Mapping[str, str], item: Fields) -> str:
    if name in bank:
        return name
    if store == "profile":
        longer = re.compile(rf"{re.escape(name)}\b.*|.*\b{re.escape(name)}", re.IGNORECASE | re.DOTALL)
        alike = [field for field in bank if longer.fullmatch(field)]
        if len(alike) == 1:
            item.report(REFERENCE, f"{name!r} is not in the bank; read as {alike[0]!r}")
            return alike[0]
    item.report(REFERENCE, f"{name!r} is not in the bank; left out")
    return ""


def _anchors(item: Fields) -> tuple[str, ...]:
    phrases: list[object] = []
    for value, _ in item.items("Memory Anchors"):
        phrases.extend(value if isinstance(value, dict) else [value])
    texts = (html.unescape(clean(phrase)).strip() for phrase in phrases if isinstance(phrase, str))
    return tuple(dict.fromkeys(filter(None, texts)))
