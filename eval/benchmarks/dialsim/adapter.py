"""DialSim (Kim et al. 2024, arXiv 2406.13144): LongDialQA, questions on the scripts of three TV shows.

From https://github.com/jiho283/Simulator, one pickle for each show. The official files were not available when this was
written; the layout is that of the program that reads them, and what it does not fix is read leniently:

    {"<episode>": {1: {"date": "March 3, 2001", "script": "Pia: Where is the boat?\\nMo: Gone.",
        "hard_q": {"past": [{"questions": {"Mo": "<his words>", "default": "<anybody's>"},
                             "options": ["<five>", ...], "answer": "<one of them>"}]},
        "easy_q": {"ans_w_time": {0: {...}}}}}}

`<show>_dialsim.json` with the same layout is read, too: `python -m eval generate dialsim` makes such files.

A show is a history; the agent plays Ross, Sheldon or Michael, in another show the one with the most lines. Numbered
parts of an episode are sessions "<date>#<n>" (n counts a day's), their lines turns "<session>:<n>"; the names of
writers ("Teleplay:") are left out, lines in brackets are a turn of "Scene". A session without a readable date is kept,
its questions are not.

- ability: the type of the question. Those with "fu" (the future) or "unans" in it have no answer, nor has one whose
  answer is the choice "I don't know". populations: "hard" (temporal knowledge graph), "easy" (fan quiz).
- `MOST_OF_A_TYPE` questions of each type in a session are kept, drawn by a digest of their words: a show has half a
  million, the simulator asks one in a session. They stand in rounds, one of each session at a time, so that the first
  N are N sessions' own.
- gold.sessions: the sessions, up to the one it is asked in, of the days that `<show>_oracle_tkg.pickle` and
  `<show>_oracle_fan.pickle` beside it name, for what has an answer. Any of them may hold it. Empty without those files,
  and for "ans_wo_time", whose evidence is only said to lie in the episode.

A text corpus ("[Date: March 3, 2001, Session #1]" and the lines of a session) has no questions of its own:
`eval.making.questions.graph_history` makes some.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eval.benchmarks.dialsim.probes import ORACLES, entries, in_rounds, look_up, named, read_probes
from eval.benchmarks.dialsim.unpickle import read_pickle
from eval.benchmarks.reading import gather
from eval.types import History, Probe
from memory.bank.rows import clean
from memory.errors import UnreadableFile
from memory.importers.benchmarks import dialsim as script_format
from memory.importers.reading.dialogue import ChatLog
from memory.importers.reading.fields import json_type, parse_moment
from memory.importers.reading.json_stream import stream_values
from memory.importers.reading.source import clean_text, read_head
from memory.types import PersonaDraft, SessionDraft, Skip

TITLE = "DialSim"

AGENTS = {"friends": "Ross", "bigbang": "Sheldon", "theoffice": "Michael"}
"""The character that the agent plays (section 3.1.1)."""

MOST_SESSIONS = 20_000
"""Ten times more than the longest show has; a small pickle can claim any number by repeating one session."""

MOST_TEXT, FREE_TEXT = 4, 1 << 20
"""Characters that are read for each byte of the file at most, and from any file: sessions may share a script or a
question, but a small pickle can claim any amount of text by repeating one."""

_PICKLES, _JSON = (".pickle", ".pkl"), ".json"
_ORACLE = re.compile(rf"_oracle_(?:{'|'.join(ORACLES)})$")
_CREDITS = ("Teleplay: ", "Story: ")


def load(path: Path) -> Iterator[History]:
    """Yield the shows and scripts of a folder, or of one file.

    Raises `UnreadableFile` if it is neither, asks to run code, or holds nothing usable.
    """
    files = [path]
    if path.is_dir():
        files = [
            file
            for file in sorted(path.iterdir())
            if _is_show(file) or (file.suffix.lower() == ".txt" and script_format.sniff(read_head(file)))
        ]
    if not files:
        raise UnreadableFile(
            f"{path} has neither a pickle of DialSim (friends_dialsim.pickle) nor a script (.txt). Name the folder "
            "into which dialsim_v1.1.zip was unpacked."
        )
    for file in files:
        yield _show(file) if file.suffix.lower() in (*_PICKLES, _JSON) else _script(file)


def _is_show(file: Path) -> bool:
    is_made = file.name.endswith(f"_dialsim{_JSON}")
    return (file.suffix.lower() in _PICKLES or is_made) and not _ORACLE.search(file.stem)


def _read(file: Path) -> Any:  # noqa: ANN401  # whatever it holds
    is_json = file.suffix.lower() == _JSON
    return {place[0]: value for place, value in stream_values(file) if place} if is_json else read_pickle(file)


def _script(path: Path) -> History:
    (script,) = gather(script_format.read(path))
    if not script.sessions:
        raise UnreadableFile(f"{path.name} has no session; expected lines such as [Date: March 3, 2001, Session #1].")
    script.skips.append(Skip(path.name, "a script has no questions of its own; run it with --set questions=graph"))
    return script.history(script.persona.external_id, ())


def _show(path: Path) -> History:
    name = clean(path.stem.removesuffix("_dialsim"))
    data = _read(path)
    if not isinstance(data, dict):
        raise UnreadableFile(f"{path.name} holds {json_type(data)}; expected an object of episodes. Nothing was kept.")
    oracles = {part: path.with_name(f"{name}_oracle_{part}{path.suffix}") for part in ORACLES}
    room = max(FREE_TEXT, MOST_TEXT * path.stat().st_size)
    show = _Show(name, room, {part: _read(file) for part, file in oracles.items() if file.is_file()})
    for episode in list(data):
        # Release each episode once it is read: a whole show takes more than a gigabyte.
        show.read_episode(named(episode), episode, data.pop(episode))
    if not show.sessions:
        raise UnreadableFile(
            f"{path.name} has no session with a script; expected episode, session, then script, date, hard_q, easy_q."
        )
    speakers = Counter(turn.speaker for session in show.sessions for turn in session.turns)
    del speakers[script_format.SCENE_SPEAKER]
    most_lines = [speaker for speaker, _ in speakers.most_common(1)]
    persona = PersonaDraft(AGENTS.get(name) or next(iter(most_lines), name), name)
    probes = tuple(in_rounds(show.probes, show.sessions))
    return History(name, persona, tuple(show.sessions), (), probes, tuple(show.skips))


@dataclass(slots=True)
class _Show:
    """The sessions and probes of a show, while it is read."""

    name: str
    room: int
    oracles: Mapping[str, Any]
    sessions: list[SessionDraft] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    of_day: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    days: Counter[str] = field(default_factory=Counter)

    def read_episode(self, place: str, key: object, episode: object) -> None:
        """Add the sessions of an episode, in the order given."""
        for number, part in entries(episode):
            where = f"{place}, session {named(number)}"
            if len(self.sessions) >= MOST_SESSIONS:
                raise UnreadableFile(
                    f"{self.name} has more than {MOST_SESSIONS:,} sessions, more than any show. See {where}."
                )
            self.room -= _text_size(part, self.room)
            if self.room < 0:
                raise UnreadableFile(
                    f"{self.name} repeats its texts: it has over {MOST_TEXT} times as many as its file, at {where}."
                )
            if not isinstance(part, dict):
                self.skips.append(Skip(where, f"expected an object with script and date, found {json_type(part)}"))
                continue
            session = self._read_session(where, part)
            if session is None:
                continue
            self.sessions.append(session)
            evidence = {name: look_up(look_up(oracle, key), number) for name, oracle in self.oracles.items()}
            self.probes += read_probes(session, part, evidence, self.of_day, self.skips, where)

    def _read_session(self, where: str, part: Mapping[str, Any]) -> SessionDraft | None:
        date = named(part.get("date") or "").strip()
        moment = parse_moment(date, "%B %d, %Y")
        day = f"{moment:%Y-%m-%d}" if moment else date or "undated"
        self.days[day] += 1
        log = ChatLog(self.skips)
        log.begin(SessionDraft((), moment, date, f"{day}#{self.days[day]}", title=where), where)
        if moment is None:
            self.skips.append(
                Skip(where, f"no readable date ({date[:40]!r}); kept without one and without its questions")
            )
        script = part.get("script")
        for line in clean_text(script, where, self.skips).splitlines() if isinstance(script, str) else ():
            if (text := line.strip()) and not text.startswith(_CREDITS):
                script_format.add_line(log, text, where)
        for session in log.finish():
            name = session.external_id
            self.of_day[day].append(name)
            numbered = (replace(turn, external_id=f"{name}:{n}") for n, turn in enumerate(session.turns, start=1))
            return replace(session, turns=tuple(numbered))
        return None


def _text_size(value: object, most: int) -> int:
    """The characters of all texts in nested containers, and their items; any number over `most` if there are more."""
    size, left = 0, [value]
    while left and size <= most:
        each = left.pop()
        if isinstance(each, str | dict | list | tuple):
            size += len(each)
        if isinstance(each, dict | list | tuple) and size <= most:
            left.extend(each.values() if isinstance(each, dict) else each)
    return size
