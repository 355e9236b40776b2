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

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import Any

from eval.benchmarks.dialsim.unpickle import read_pickle
from eval.benchmarks.reading import gather, leaves
from eval.play.simulation.choices import dont_know
from eval.play.simulation.names import DEFAULT
from eval.types import Gold, History, Probe
from memory.bank.rows import clean
from memory.errors import UnreadableFile
from memory.importers.benchmarks import dialsim as script_format
from memory.importers.reading.dialogue import ChatLog
from memory.importers.reading.fields import json_type, number_text, parse_moment
from memory.importers.reading.json_stream import stream_values
from memory.importers.reading.source import clean_text, read_head
from memory.types import PersonaDraft, SessionDraft, Skip

TITLE = "DialSim"

AGENTS = {"friends": "Ross", "bigbang": "Sheldon", "theoffice": "Michael"}
"""The character that the agent plays (section 3.1.1)."""

MOST_OF_A_TYPE = 8
"""Most questions of one type that are kept in a session."""

PARTS = {"hard_q": ("hard", "tkg"), "easy_q": ("easy", "fan")}
"""The population of the questions of each part of a session, and the ending of the file with their evidence."""

MOST_SESSIONS = 20_000
"""Ten times more than the longest show has; a small pickle can claim any number by repeating one session."""

MOST_TEXT, FREE_TEXT = 4, 1 << 20
"""Characters that are read for each byte of the file at most, and from any file: sessions may share a script or a
question, but a small pickle can claim any amount of text by repeating one."""

_PICKLES, _JSON = (".pickle", ".pkl"), ".json"
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
    is_oracle = file.stem.endswith(tuple(f"_oracle_{oracle}" for _, oracle in PARTS.values()))
    return file.name.endswith(f"_dialsim{_JSON}") or (file.suffix.lower() in _PICKLES and not is_oracle)


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
    oracles = {part: path.with_name(f"{name}_oracle_{oracle}{path.suffix}") for part, (_, oracle) in PARTS.items()}
    room = max(FREE_TEXT, MOST_TEXT * path.stat().st_size)
    show = _Show(name, room, {part: _read(file) for part, file in oracles.items() if file.is_file()})
    for episode in list(data):
        # Release each episode once it is read: a whole show takes more than a gigabyte.
        show.read_episode(_named(episode), episode, data.pop(episode))
    if not show.sessions:
        raise UnreadableFile(
            f"{path.name} has no session with a script; expected episode, session, then script, date, hard_q, easy_q."
        )
    speakers = Counter(turn.speaker for session in show.sessions for turn in session.turns)
    del speakers[script_format.SCENE_SPEAKER]
    ((most_lines, _),) = speakers.most_common(1) or [(name, 0)]
    persona = PersonaDraft(AGENTS.get(name, most_lines), name)
    probes = tuple(_in_rounds(show.probes, show.sessions))
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
        for number, part in _entries(episode):
            where = f"{place}, session {_named(number)}"
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
            evidence = {name: _look_up(_look_up(oracle, key), number) for name, oracle in self.oracles.items()}
            self.probes += self._read_probes(session, part, evidence, where)

    def _read_session(self, where: str, part: Mapping[str, Any]) -> SessionDraft | None:
        date = _named(part.get("date") or "").strip()
        moment = parse_moment(date, "%B %d, %Y")
        day = f"{moment:%Y-%m-%d}" if moment else date or "undated"
        self.days[day] += 1
        log = ChatLog(self.skips)
        log.begin(SessionDraft((), moment, date, f"{day}#{self.days[day]}", title=where), where)
        if moment is None:
            self.skips.append(
                Skip(where, f"no readable date ({date[:40]!r}); kept without one and without its questions")
            )
        script, read = part.get("script"), list[SessionDraft]()
        for line in clean_text(script, where, self.skips).splitlines() if isinstance(script, str) else ():
            if (text := line.strip()) and not text.startswith(_CREDITS):
                read += script_format.add_line(log, text, where)
        for session in (*read, *log.finish()):
            name = session.external_id
            self.of_day[day].append(name)
            numbered = (replace(turn, external_id=f"{name}:{n}") for n, turn in enumerate(session.turns, start=1))
            return replace(session, turns=tuple(numbered))
        return None

    def _read_probes(
        self, session: SessionDraft, part: Mapping[str, Any], evidence: Mapping[str, object], where: str
    ) -> Iterator[Probe]:
        """Yield the questions of a session with their `evidence` by part; none of a session without a date."""
        if session.started_at is None:
            return
        for name, (population, _) in PARTS.items():
            for key, items in _entries(part.get(name)):
                ability = _named(key)
                dates, listed = _look_up(evidence.get(name), key), list(_entries(items))
                read = [(n, _probe(session, session.started_at, population, ability, n, item)) for n, item in listed]
                for number, probe in _choose(read, self.skips, f"{where}, {ability}"):
                    days = _days(_look_up(dates, number, probe.question)) if probe.gold.answerable else ()
                    sessions = dict.fromkeys(each for day in days for each in self.of_day.get(day, ()))
                    yield replace(probe, gold=replace(probe.gold, sessions=tuple(sessions)))


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


# --- questions


def _in_rounds(probes: Sequence[Probe], sessions: Sequence[SessionDraft]) -> Iterator[Probe]:
    """Order probes in rounds: one question of each session at a time, of mixed types."""
    of_session: defaultdict[str, list[Probe]] = defaultdict(list)
    for probe in sorted(probes, key=lambda p: sha256(p.id.encode()).digest()):
        of_session[probe.asked_in].append(probe)
    rounds = zip_longest(*(of_session[session.external_id] for session in sessions))
    return (probe for asked in rounds for probe in asked if probe)


def _entries(value: object) -> Iterator[tuple[Any, Any]]:
    """The entries of a dict or list, with key or index; none of anything else."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)


def _look_up(value: object, *keys: object) -> Any:  # noqa: ANN401  # whatever it holds
    """The value of the first key that exists; None if none does."""
    entries = dict(_entries(value))
    return next((entries[key] for key in keys if isinstance(key, str | int) and key in entries), None)


def _named(key: object) -> str:
    """Write a key as a part of an id."""
    return clean(number_text(key))


def _choose(read: Sequence[tuple[object, Probe | None]], skips: list[Skip], place: str) -> list[tuple[object, Probe]]:
    """The questions of one type that are kept, in an order that depends on their words."""
    usable = [(number, probe) for number, probe in read if probe]
    if len(usable) < len(read):
        skips.append(Skip(place, f"{len(read) - len(usable)} questions without wording, options or answer among them"))
    if len(usable) > MOST_OF_A_TYPE:
        skips.append(Skip(place, f"{len(usable)} questions, {MOST_OF_A_TYPE} kept: one is asked in a session"))
    return sorted(usable, key=lambda pair: sha256(f"{pair[1].question}\0{pair[0]}".encode()).digest())[:MOST_OF_A_TYPE]


def _probe(
    session: SessionDraft, asked_at: datetime, population: str, ability: str, number: object, item: object
) -> Probe | None:
    """Read one question; None if it cannot be asked or its answer is not among its options."""
    if not isinstance(item, dict):
        return None
    given, options, answer = item.get("questions"), item.get("options"), item.get("answer")
    given = {DEFAULT: given} if isinstance(given, str) else given
    if not isinstance(given, dict) or not isinstance(options, list | tuple) or not isinstance(answer, str):
        return None
    spoken = {_named(who): clean(text).strip() for who, text in given.items() if isinstance(text, str)}
    wordings = {who: text for who, text in spoken.items() if text}
    choices = tuple(_named(option).strip() for option in options)
    right = [n for n, choice in enumerate(choices) if choice.casefold() == clean(answer).strip().casefold()]
    if not wordings or len(choices) < 2 or not right:
        return None
    has_no_answer = not {"fu", "unans"}.isdisjoint(ability.casefold().split("_"))
    answerable = not has_no_answer and right[0] != dont_know(choices)
    return Probe(
        f"{session.external_id}/{population}/{ability}/{_named(number)}",
        wordings.get(DEFAULT) or next(iter(wordings.values())),
        asked_at,
        Gold((choices[right[0]],), choice=right[0], answerable=answerable),
        ability,
        populations=(population,),
        choices=choices,
        asked_in=session.external_id,
        askers=wordings,
    )


def _days(value: object) -> list[str]:
    """The dates of evidence, as ISO dates; "past" and "fu..." are not dates."""
    moments = (parse_moment(each, "%B %d, %Y") for each in leaves(value) if isinstance(each, str))
    return [f"{moment:%Y-%m-%d}" for moment in moments if moment]
