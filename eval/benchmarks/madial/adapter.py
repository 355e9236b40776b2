"""MADial-Bench (He et al., NAACL 2025, arXiv 2409.15240; first MemBench): 160 dialogues, each to bring up a memory in.

From https://github.com/hejunqing/MADial-Bench, data/en and data/ch, MIT; JSON Lines in spite of the names. A dialogue,
and the memory bank beside it:

    {"dialogue": ["<BOD>\\n", "<Bart>: \\"I row on Sunday.\\"\\n", "<Assistant>: \\"Like in May?\\"\\n", "<EOD>\\n"],
     "test-turn": [2], "relevant-id": [1, 78], "user-id": 1}
    {"1": {"time": "2023-05-25", "scene": "Activity", "emotion": "Happy", "event": "Bart rowed ...", "user-id": 1}}

What is remembered is what `memory.importers.benchmarks.madial` reads.

- history: a user, with that user's memories only. The English bank has no user-id: a memory is of the user whom its
  text names; one that names both or none goes to both.
- persona: the assistant with the traits that the authors' prompts give it (appendix G), in a talk with the user.
- asked_at: 2024-06-15, as in the authors' prompts; the dialogues have no date. One memory of Bart is later (2024-10-23,
  surely a slip, but candidates of three dialogues include it): his dialogues are asked at the end of that day.
- A probe a dialogue, asked at its first test-turn, an index into `dialogue` with its markers and blanks: question is
  what the user said last before it, dialogue what was said before that. Later test-turns ask for replies to a memory
  that was brought up already, and are not asked.
- answers: the reply at the test-turn, for comparison by words; there are many other good ones.
- gold.items: relevant-id as text. ability: "proactive" with the scene of the first of them ("proactive: Activity"). The
  official files do not say which dialogues are passive; generated ones do ("recall": "passive"), and then each kind of
  recall is a population.
- Asked as by the authors (`Embedding.py`), the search is for the dialogue up to the test-turn as it stands in the file,
  and a memory is indexed by its scene, emotion and event as Python prints them in a dictionary.
- An entry without a speaker ('"Great!"', "<Great!>") is said by the other one than the entry before it.
- id: the user and a digest of the dialogue. populations: "all".
- candidates: the memories that the authors' settings give the model, without those that are not in the user's bank.
  setting 1: the first relevant memory alone. setting 2: that one, and the first four that retrieval found and that are
  not relevant. setting 3: the first five that retrieval (text-embedding-3-large) found: four at most are relevant.

For English, candidates are made from what retrieval found, in en_openai_top_20_bottom.json, as the authors'
make_setting_candidates.py does it; for Chinese, they are published with the dialogues again:

    {"test-turn": [2], "relevant-id": [1, 78], "user-id": 1, "top-20-ids": [105, 1, ...], "bottom-10-ids": [99, ...]}
    {"dialogue": [...], "test-turn": [2], "relevant-id": [1, 78], "user-id": 1, "memory_ids": [105, 169, 1, 130, 51]}

The names of the two Chinese files are the wrong way round: "-setting2" has what retrieval found, and "-setting3" the
first relevant memory among four others. So a file is known by its content, not by its name.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from eval.benchmarks.reading import ALL, ImportedHistory, UniqueIds, find_file, gather, in_file, short_digest, texts
from eval.types import Gold, History, Probe
from memory import read_table
from memory.errors import UnreadableFile
from memory.importers.benchmarks import madial as importer
from memory.importers.reading.fields import Fields, read_objects
from memory.importers.reading.json_stream import outline
from memory.importers.reading.source import read_head
from memory.types import MemoryDraft, PersonaDraft, Skip, TurnDraft

TITLE = "MADial-Bench"

USERS = {"1": "Bart", "2": "Lisa"}
"""The users' names by user-id, for files in which one of them says nothing."""

DIALOGUE, BANK = "-dialogue", "-memory.json"
FILES = (f"*{DIALOGUE}.json", f"*/*{DIALOGUE}.json")

ASSISTANT = "Assistant"

TRAITS = tuple(read_table(__file__, "traits.toml")["traits"])
"""The assistant in the authors' prompts (appendix G)."""

ASKED_AT = datetime(2024, 6, 15, 23, 59, 59, 999_999, UTC)
"""The day of the conversation in the authors' prompts, at its end."""

MARKER = re.compile(r"<\s*/?\s*(?:BOD|EOD)\s*>?", re.IGNORECASE)
END = re.compile(r"\s*<\s*/?\s*EOD\s*>?\s*$", re.IGNORECASE)
UTTERANCE = re.compile(r"[\"“”]?<(?P<speaker>[^<>:：\"“”]{1,40})>\s*[:：](?P<text>.*)", re.DOTALL)
MARKS = '"“”'

RETRIEVED = "top-20-ids"
"""What retrieval found for a dialogue, best first."""

GIVEN = 5
"""Memories that settings 2 and 3 give."""

Turns = dict[int, TurnDraft]
"""The turns of a dialogue by their index in the file's list, which also counts markers and blank entries."""

Memories = dict[tuple[str, ...], tuple[str, ...]]
"""The memories that a file of candidates has for a dialogue, by what its line shares with the dialogue's (`_key`)."""


def load(path: Path, *, as_authors: bool = False) -> Iterator[History]:
    """Yield the history of each user with dialogues, searched for as we do, or `as_authors` do.

    Raises `UnreadableFile` for missing, ambiguous or broken files.
    """
    if path.name.endswith(BANK) and not path.is_dir():
        path = path.with_name(path.name.removesuffix(BANK) + f"{DIALOGUE}.json")
    file = find_file(path, FILES, TITLE, lambda head: {("dialogue",), ("test-turn",)} <= outline(head))
    skips: list[Skip] = []
    lines = [replace(line, skips=[]) for line in read_objects(file, skips)]
    bank = gather(importer.read(_find_bank(file)))
    candidates = _read_candidates(file)
    dialogues = [(line, line.text("user-id").strip(), _read_dialogue(line)) for line in lines]
    names = USERS | {user: name for _, user, turns in dialogues if user and (name := _who_speaks(turns))}
    users_by_name = {name: user for user, name in reversed(names.items())}
    users = defaultdict[str, list[tuple[Fields, Turns]]](list)
    for line, user, turns in dialogues:
        users[user or users_by_name.get(_who_speaks(turns), "")].append((line, turns))
    for line, _ in users.pop("", ()):
        line.report("", "neither a user-id nor a known user; not asked")
        skips.extend(line.skips)
    skips = [*(skip for part in bank for skip in part.skips), *(in_file(file, skip) for skip in skips)]
    for user, own in users.items():
        imported = _imported_for(bank, user, names)
        imported.skips.extend(skips)
        skips = []
        yield _history(imported, file, own, names.get(user, user), candidates, as_authors)


def _find_bank(dialogues: Path) -> Path:
    """Find the memory bank in the folder of the dialogues: of the same name, or the only one."""
    twin = dialogues.with_name(dialogues.name.split(DIALOGUE)[0] + BANK)
    banks = [twin] if twin.is_file() else sorted(dialogues.parent.glob(f"*{BANK}"))
    if len(banks) != 1:
        names = ", ".join(bank.name for bank in banks) or "none"
        raise UnreadableFile(
            f"the memory bank of {dialogues} is missing: expected {twin.name} in the same folder, found {names}."
        )
    if not importer.sniff(read_head(banks[0])):
        raise UnreadableFile(f"{banks[0]} does not look like a memory bank of {TITLE}. Nothing was read.")
    return banks[0]


def _who_speaks(turns: Turns) -> str:
    """The name of the first who speaks with the assistant; empty if nobody with a name does."""
    return next((turn.speaker for turn in turns.values() if turn.role == "other" and turn.speaker), "")


def _imported_for(bank: Iterable[ImportedHistory], user: str, names: dict[str, str]) -> ImportedHistory:
    talk = f"You are talking with {names.get(user, user)}."
    persona = PersonaDraft(ASSISTANT, external_id=f"madial-{user}", traits=TRAITS, scenario=talk)
    own = ImportedHistory(persona)
    for part in bank:
        if part.persona.external_id == persona.external_id:
            own.memories.extend(part.memories)
        elif part.persona.external_id == "madial":
            own.memories.extend(memory for memory in part.memories if _is_of(memory, user, names, own.skips))
    return own


def _is_of(memory: MemoryDraft, user: str, names: dict[str, str], notes: list[Skip]) -> bool:
    """Whether a memory without a user-id belongs to this user."""
    # Chinese has no spaces around names, and its characters count as word characters, so \b does not work.
    patterns = {number: rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])" for number, name in names.items()}
    named = {number for number, pattern in patterns.items() if re.search(pattern, memory.text)}
    if len(named) != 1:
        whom = "several users" if named else "no user"
        notes.append(Skip(f"memory {memory.external_id}", f"names {whom}; given to each of them"))
    return user in named or not named


def _history(
    imported: ImportedHistory,
    file: Path,
    dialogues: Iterable[tuple[Fields, Turns]],
    name: str,
    candidates: tuple[Memories, Memories],
    as_authors: bool,
) -> History:
    ids, probes = UniqueIds(), []
    for line, turns in dialogues:
        for index, turn in turns.items():
            if turn.speaker in ("", name):
                turns[index] = replace(turn, speaker=name, role="user")
        if probe := _probe(line, turns, imported, candidates):
            probes.append(replace(probe, id=ids.make(probe.id), query=probe.query if as_authors else ""))
        imported.skips.extend(in_file(file, note) for note in line.skips)
    if as_authors:
        keys = (str({"scene": m.scene, "emotion": m.emotion, "event": m.text}) for m in imported.memories)
        imported.memories[:] = [replace(m, key=key) for m, key in zip(imported.memories, keys, strict=True)]
    return imported.history(imported.persona.external_id, probes)


def _probe(
    line: Fields, turns: Turns, imported: ImportedHistory, candidates: tuple[Memories, Memories]
) -> Probe | None:
    memories = {memory.external_id: memory for memory in imported.memories}
    first = next((value for value, _ in line.items("test-turn")), None)
    test_turn = first if isinstance(first, int) else -1
    before = [turn for index, turn in turns.items() if index < test_turn]
    asked = max((n for n, turn in enumerate(before) if turn.role == "user"), default=None)
    if asked is None:
        line.report("test-turn", "expected the place of a reply after something that the user says; not asked")
        return None
    reply = turns.get(test_turn)
    answers = (reply.text,) if reply and reply.role == "assistant" else ()
    if not answers:
        line.report("test-turn", "the assistant says nothing there; only the memories are scored")
    items = _relevant(line, memories)
    marked = line.text("recall").strip()
    recall = marked or "proactive"
    given = _candidates(line, items, *candidates)
    return Probe(
        f"{imported.persona.external_id}-{short_digest(line.values.get('dialogue'), test_turn)}",
        before[asked].text,
        max(ASKED_AT, imported.end()),
        Gold(answers, items=items),
        f"{recall}: {memories[items[0]].scene}" if items else recall,
        populations=(ALL, marked) if marked else (ALL,),
        dialogue=tuple(before[:asked]),
        candidates={setting: tuple(m for m in names if m in memories) for setting, names in given.items()},
        query="".join(map(str, line.values["dialogue"][:test_turn])),
    )


def _relevant(line: Fields, memories: Mapping[str, MemoryDraft]) -> tuple[str, ...]:
    named = {text.strip(): place for text, place in texts(line, "relevant-id")}
    for name, place in named.items():
        if name not in memories:
            line.skips.append(Skip(place, f"memory {name!r} is not in the bank of this user; left out"))
    return tuple(name for name in named if name in memories)


def _read_dialogue(line: Fields) -> Turns:
    """Read the turns of a dialogue. Everybody but the assistant has the role "other", the user also without a name."""
    turns: Turns = {}
    before = ASSISTANT
    for index, (entry, _) in enumerate(texts(line, "dialogue")):
        if not entry.strip() or MARKER.fullmatch(entry.strip()):
            continue
        match = UTTERANCE.match(entry.strip())
        # An entry without a speaker is said by the other one than the entry before it.
        speaker = match["speaker"].strip() if match else "" if before == ASSISTANT else ASSISTANT
        if text := unquote(match["text"] if match else entry):
            turns[index] = TurnDraft(speaker, "assistant" if speaker == ASSISTANT else "other", text)
            before = speaker
    return turns


def unquote(text: str) -> str:
    """Remove the quotation marks around an utterance, also a single one; marks inside it stay."""
    text = END.sub("", text).strip()
    if text.startswith("<") and text.endswith(">"):
        text = text[1:-1].strip()
    is_odd = sum(text.count(mark) for mark in MARKS) % 2 == 1
    opens, closes = text[:1] in MARKS and bool(text), text[-1:] in MARKS and bool(text)
    if len(text) > 1 and opens and closes and not is_odd:
        return text[1:-1].strip()
    if is_odd and (opens or closes):
        return (text[1:] if opens else text[:-1]).strip()
    return text


# --- candidates


def _read_candidates(dialogues: Path) -> tuple[Memories, Memories]:
    """What retrieval found, and the first relevant memory among others, from the files beside the dialogues.

    Raises `UnreadableFile` if one of them ends in the middle of a line.
    """
    retrieved, mixed = Memories(), Memories()
    for file in sorted(dialogues.parent.glob("*top_20*.json")):
        if (RETRIEVED,) in outline(read_head(file)):
            retrieved |= {_key(line): _ids(line, RETRIEVED) for line in read_objects(file, [])}
    for file in sorted(dialogues.parent.glob(f"{dialogues.name.split(DIALOGUE)[0]}{DIALOGUE}-setting*.json")):
        lines = list(read_objects(file, []))
        found = {_key(line): _ids(line, "memory_ids") for line in lines}
        relevant = [[name for name in _ids(line, "memory_ids") if name in _ids(line, "relevant-id")] for line in lines]
        is_mixed = all(own == [*_ids(line, "relevant-id")[:1]] for line, own in zip(lines, relevant, strict=True))
        (mixed if is_mixed else retrieved).update(found)
    return retrieved, mixed


def _candidates(
    line: Fields, relevant: Sequence[str], retrieved: Memories, mixed: Memories
) -> dict[str, Sequence[str]]:
    """The candidates for the line of a dialogue by setting; settings without a file are missing."""
    first, key = relevant[:1], _key(line)
    by_setting: dict[str, Sequence[str]] = {"setting-1": first} if first else {}
    if found := retrieved.get(key):
        others = [name for name in found if name not in relevant]
        if first and len(found) > GIVEN:
            by_setting["setting-2"] = [*first, *others[: GIVEN - 1]]
        by_setting["setting-3"] = found[:GIVEN]
    return by_setting | ({"setting-2": mixed[key]} if key in mixed else {})


def _key(line: Fields) -> tuple[str, ...]:
    """What a line shares with the line of its dialogue; in the official files, no two dialogues have all of it."""
    return tuple(repr(line.values.get(field)) for field in ("test-turn", "relevant-id", "user-id"))


def _ids(line: Fields, name: str) -> tuple[str, ...]:
    return tuple(str(value) for value, _ in line.items(name))
