"""A bank that is exported and read back is equal: every row of every table but those that are derived."""

import hashlib
import json
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memory import ingest
from memory.bank import corrections as correcting
from memory.bank import learning_queue as consolidation
from memory.bank import maintenance as upkeep
from memory.bank import rows
from memory.bank.bank import Bank
from memory.bank.queries.deletion import select_session
from memory.errors import Cancelled, MemoirError, UnreadableFile
from memory.exporting import export
from memory.forgetting import forget
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, SessionDraft, TimeSpan, TurnDraft
from support.export_files import write_zip

MAY = datetime(2023, 5, 8, 10, 30, tzinfo=UTC)
PLACES = ("Porto", "Lisbon", "Rome", "Ōsaka 大阪")

KEPT = ("personas", "sessions", "turns", "memories", "sources", "rests_on", "cites", "changes")
NOT_KEPT = {"journal", "choices", "vectors", "segments", "revision", "sqlite_sequence", "sqlite_stat1"}
"""Derived, or of this file only."""


def told(db):
    """All that a bank holds but what is derived, with names in the place of numbers, and no digest of them."""
    tables = {t: list(db.query(f"SELECT * FROM {t} ORDER BY 1, 2")) for t in KEPT}
    persona = {r["id"]: r["name"] for r in tables["personas"]}
    session = {r["id"]: (persona[r["persona_id"]], r["identity"]) for r in tables["sessions"]}
    turn = {r["id"]: (session[r["session_id"]], r["identity"]) for r in tables["turns"]}
    spoken = {(r["memory_id"], rows.digest(t["session_id"], t["identity"]))
              for r in tables["sources"] for t in tables["turns"] if t["id"] == r["turn_id"]}  # fmt: skip
    nth, memory = Counter(), {None: None}
    for r in tables["memories"]:
        memory[r["id"]] = (persona[r["persona_id"]], nth[r["persona_id"]])
        nth[r["persona_id"]] += 1
        if (r["id"], r["identity"]) in spoken:
            r["identity"] = "its turn's"
    names = {"persona_id": persona, "session_id": {**session, None: None}, "turn_id": turn}
    names |= {"memory_id": memory, "basis_id": memory, "superseded_by": memory, "other_id": memory}
    for r in tables["changes"]:
        kind = turn if r["kind"] == "merge" else memory
        r["touched"] = sorted(str(kind.get(i)) for i in json.loads(r["touched"]) if i in kind)
    return {
        table: sorted(
            str({k: names[k][v] if k in names else v for k, v in row.items() if k not in ("id", "digest")})
            for row in found
        )
        for table, found in tables.items()
    }


def held(bank):
    with bank.reading() as db:
        return told(db)


def home(place, at):
    return MemoryDraft("profile", f"Lives in {place}", said_at=at, attribute="home", speaker="You")


tellings = st.fixed_dictionaries(
    {
        "who": st.integers(1, 2),
        "session": st.sampled_from("abc"),
        "source": st.sampled_from(["chat", "import"]),
        "place": st.sampled_from(PLACES),
        "day": st.integers(0, 40),
        "recallable": st.booleans(),
        "alone": st.booleans(),
        "learns": st.sampled_from(["", "fact", "correction", "end", "retraction", "dependent"]),
    }
)
additions = st.fixed_dictionaries({"who": st.integers(1, 2), "place": st.sampled_from(PLACES), "event": st.booleans()})
deeds = st.lists(
    tellings
    | additions
    | st.sampled_from(["forget", "forget session", "close", "settle", "edit", "wrong", "pin", "merge", "undo"]).flatmap(
        lambda deed: st.fixed_dictionaries({"deed": st.just(deed), "nth": st.integers(0, 30)})
    ),
    max_size=12,
)


def tell(bank, who, session, source, place, day, recallable, alone, learns):
    at, text = MAY + timedelta(days=day), f"I live in {place}."
    known = [m.id for m in bank.memories(who, store="profile")]
    fact = LearnedMemory(home(place, at), (Quote(0, f"live in {place}", alone), Quote(1, "Really", alone)))
    learned = {
        "": (),
        "fact": (fact,),
        "correction": (LearnedMemory(fact.memory, fact.quotes, replaces=known[0] if known else None),),
        "end": (LearnedMemory(fact.memory, fact.quotes, ends=True),),
        "retraction": (),
        "dependent": (
            fact,
            LearnedMemory(MemoryDraft("world", f"{place} is near", said_at=at), fact.quotes, depends_on=(0,)),
        ),
    }[learns]
    turns = (
        TurnDraft("You", "user", text, at, f"{at:%d %B}", f"t{day}", recallable),
        TurnDraft("Iris", "assistant", "Really?", at, recallable=False, cites=tuple(known)),
    )
    taken_back = tuple(known[:1]) if learns == "retraction" else ()
    draft = SessionDraft(turns, at, "in May", session, f"About {place}", source, learned, taken_back)
    bank.remember(who, [draft])


def do(bank, what):
    if "learns" in what:
        tell(bank, **what)
    elif "event" in what:
        span = TimeSpan(MAY, MAY + timedelta(hours=3)) if what["event"] else None
        drafts = [MemoryDraft("event", f"A trip to {what['place']}", f"trip {what['place']}", span, "last May", MAY)]
        bank.add_memories(what["who"], drafts)
    elif what["deed"] == "close":
        consolidation.close_chats(bank)
    elif what["deed"] == "settle":
        for due in consolidation.pending_sessions(bank, datetime.now(UTC))[:1]:
            turns = [h.turn for h in consolidation.session_turns(bank, due)]
            summary = MemoryDraft("event", "They spoke of towns", said_at=MAY, attribute=consolidation.SUMMARY)
            consolidation.store_learned(bank, due, turns, [LearnedMemory(summary, (Quote(0, turns[0].text, False),))])
    else:
        whose = [(p.id, m) for p in bank.personas() for m in bank.memories(p.id)]
        who, memory = whose[what["nth"] % len(whose)] if whose else (0, None)
        if memory and what["deed"] == "forget":
            forget.forget_memories(bank, who, [memory.id])
        elif memory and what["deed"] in ("edit", "wrong", "pin", "merge", "undo"):
            with suppress(MemoirError):
                correct(bank, who, memory, what["deed"])
        elif memory and memory.session_id:
            forget.forget_selected(bank, [who], select_session(memory.session_id))


def correct(bank, who, memory, deed):
    if deed == "edit":
        correcting.edit(bank, replace(memory, text=f"{memory.text} Indeed."))
    elif deed == "wrong":
        correcting.mark_wrong(bank, who, memory.id)
    elif deed == "pin":
        correcting.pin(bank, who, memory.id, pinned=True)
    elif deed == "merge":
        others = [m.id for m in bank.memories(who) if m.id != memory.id][:1]
        correcting.merge(bank, who, memory.id, others)
    else:
        correcting.undo(bank, who)


@pytest.fixture
def two(tmp_path):
    """A bank of two personas who know some things, and an empty one."""
    return pair(tmp_path)


def pair(folder):
    bank = Bank(folder / "one" / "bank.db")
    bank.create_persona(PersonaDraft("Iris", "iris-1", "Gardens.", ("dry", "kind"), "terse", proactive=False))
    bank.create_persona(PersonaDraft("Bo"))
    return bank, Bank(folder / "two" / "bank.db")


@pytest.fixture
def lived(two):
    bank, other = two
    for day, place, learns in ((1, "Porto", "fact"), (2, "Lisbon", "dependent"), (3, "Porto", "fact")):
        tell(bank, 1, "abc"[day - 1], "chat", place, day, True, True, learns)
    tell(bank, 2, "a", "import", "Rome", 4, True, False, "fact")
    return bank, other


def exported(bank, folder, *names):
    file = folder / "bank.jsonl"
    export.write_export(bank, [p for p in bank.personas() if not names or p.name in names], file)
    return file


def telling(who, day, recallable, learns):
    place, flags = PLACES[day % len(PLACES)], {"recallable": recallable, "alone": True}
    return {"who": who, "session": "a", "source": "chat", "place": place, "day": day, "learns": learns, **flags}


MERGED_INTO_AN_UTTERANCE = [
    *(telling(2, 7, True, "dependent"), telling(1, 6, False, "end"), telling(1, 28, True, "dependent")),
    {"deed": "merge", "nth": 2},
]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(deeds)
@example(MERGED_INTO_AN_UTTERANCE)
@example([telling(1, 0, False, ""), {"deed": "close"}, {"deed": "settle", "nth": 0}, {"deed": "edit", "nth": 0}])
def test_whatever_a_bank_went_through_it_comes_back_equal_and_twice_adds_nothing(tmp_path_factory, happened):
    folder = tmp_path_factory.mktemp("moving")
    bank, other = pair(folder)
    for deed in happened:
        do(bank, deed)
    file = exported(bank, folder)
    first = ingest.ingest(other, file)
    assert held(other) == held(bank)
    again = ingest.ingest(other, file)
    assert held(other) == held(bank)
    assert [(h.stored.sessions, h.stored.turns, h.stored.memories) for h in again.histories] == [(0, 0, 0)] * 2
    assert sum(h.stored.turns for h in first.histories) == sum(h.found_turns for h in first.histories)
    with other.reading() as db:
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    assert upkeep.verify(bank, "none") == upkeep.verify(other, "none") == []


def test_no_table_is_left_out(lived):
    with lived[0].reading() as db:
        assert set(db.table_names()) - NOT_KEPT == set(KEPT)


def test_one_persona_goes_alone_and_one_of_several_is_chosen(lived, tmp_path):
    bank, other = lived
    ingest.ingest(other, exported(bank, tmp_path, "Bo"))
    assert [p.name for p in other.personas()] == ["Bo"]
    file = exported(bank, tmp_path)
    found = ingest.summarize(file).histories
    assert [(f.name, f.sessions, f.turns, f.memories) for f in found] == [("Iris", 3, 6, 4), ("Bo", 1, 2, 1)]
    report = ingest.ingest(other, file, choose=["IRIS-1", "nobody"])
    assert [h.persona.name for h in report.histories] == ["Iris"]
    assert report.missing == ("nobody",)
    assert held(other) == held(bank) or [p.name for p in other.personas()] == ["Bo", "Iris"]
    with pytest.raises(UnreadableFile, match="has no history nobody; it has iris-1, Bo"):
        ingest.ingest(other, file, choose=["nobody"])


def test_what_is_merged_is_settled_with_what_was_known(lived, tmp_path):
    bank, other = lived
    iris = other.create_persona(PersonaDraft("Iris", "iris-1"))
    tell(other, iris.id, "z", "chat", "Rome", 30, True, True, "fact")
    ingest.ingest(other, exported(bank, tmp_path, "Iris"))
    lives = {m.text: m for m in other.memories(iris.id, store="profile") if m.valid_to is None}
    assert list(lives) == ["Lives in Rome"]
    before = held(other)
    ingest.ingest(other, exported(bank, tmp_path, "Iris"))
    assert held(other) == before


def test_what_was_edited_elsewhere_can_be_edited_and_undone_here(lived, tmp_path):
    bank, other = lived
    iris = next(m for m in bank.memories(1, store="profile"))
    new = correcting.edit(bank, replace(iris, text="Lives by the sea"))
    ingest.ingest(other, exported(bank, tmp_path, "Iris"))
    while max(m.id for m in other.memories(1)) <= new.id:
        other.add_memories(1, [MemoryDraft("world", f"Fact {len(other.memories(1))}")])
        newest = max(other.memories(1), key=lambda m: m.id)
        correcting.edit(other, replace(newest, text=f"{newest.text}, edited"))
    while correcting.last_change(other, 1):
        correcting.undo(other, 1)
    assert not [m for m in other.memories(1) if "sea" in m.text or "edited" in m.text]


def test_turns_that_a_known_session_lacks_come_after_its_own(lived, tmp_path):
    bank, other = lived
    ingest.ingest(other, exported(bank, tmp_path, "Iris"))
    tell(bank, 1, "a", "chat", "Rome", 9, True, True, "")
    ingest.ingest(other, exported(bank, tmp_path, "Iris"))
    (session,) = (s for s in other.sessions(1) if s.external_id == "a")
    assert [t.text for t in other.turns(1, session.id)] == [
        *("I live in Porto.", "Really?"),
        "I live in Rome.",
    ]
    assert [t.position for t in other.turns(1, session.id)] == [0, 1, 2]


def test_a_long_session_stands_on_several_lines(lived, tmp_path, monkeypatch):
    bank, other = lived
    tell(bank, 1, "a", "chat", "Rome", 9, True, True, "")
    monkeypatch.setattr(export, "LINE_TURNS", 1)
    file = exported(bank, tmp_path)
    assert file.read_text(encoding="utf-8").count('{"session"') == 9
    assert [f.sessions for f in ingest.summarize(file).histories] == [3, 1]
    ingest.ingest(other, file)
    assert held(other) == held(bank)


def zipped(*files, **more):
    members = {each.name: each.read_bytes() for each in files}
    return write_zip(files[0].with_suffix(".zip"), {**members, **more})


def test_an_export_in_an_archive_makes_the_same_equal_bank(lived, tmp_path):
    bank, other = lived
    file = zipped(exported(bank, tmp_path), **{"read me.md": "Made on a Monday."})
    assert [h.name for h in ingest.summarize(file).histories] == ["Iris", "Bo"]
    shares = []
    report = ingest.ingest(other, file, progress=shares.append)
    assert held(other) == held(bank)
    assert shares == sorted(shares)
    assert shares[-1] > 0.9
    assert [(h.persona.name, [s.place for s in h.skips]) for h in report.histories] == [
        ("Iris", ["read me.md"]),
        ("Bo", []),
    ]
    again = ingest.ingest(other, file)
    assert [(h.stored.sessions, h.stored.turns, h.stored.memories) for h in again.histories] == [(0, 0, 0)] * 2


def test_several_exports_in_an_archive_are_refused_and_change_nothing(lived, tmp_path):
    bank, other = lived
    (tmp_path / "more").mkdir()
    file = zipped(exported(bank, tmp_path, "Bo"), **{"b.jsonl": exported(bank, tmp_path / "more", "Iris").read_text()})
    for read in (lambda: ingest.ingest(other, file), lambda: ingest.summarize(file)):
        with pytest.raises(UnreadableFile, match=r"2 files of Memoir \(bank\.jsonl, b\.jsonl\).*each by itself"):
            read()
    assert other.personas() == []


@pytest.mark.parametrize("after", ["nothing", "Iris"])
def test_an_import_that_is_stopped_keeps_whole_personas(lived, tmp_path, after):
    bank, other = lived
    file = exported(bank, tmp_path)
    lines = lines_of(file)
    bo = next(n for n, line in enumerate(lines) if '"name":"Bo"' in line)
    # Up to 0.3 the file is read, from there it is stored.
    limit = 0.3 if after == "nothing" else 0.3 + 0.69 * sum(map(len, lines[: bo + 2])) / file.stat().st_size

    def stop(share):
        if share >= limit:
            raise Cancelled("enough")

    told = {
        "nothing": "Nothing of bank.jsonl was stored",
        "Iris": "Stored completely: Iris. Nothing of the rest was stored",
    }[after]
    with pytest.raises(Cancelled, match=told):
        ingest.ingest(other, file, progress=stop)
    assert [p.name for p in other.personas()] == ([] if after == "nothing" else ["Iris"])
    ingest.ingest(other, file)
    assert held(other) == held(bank)


def lines_of(file):
    return file.read_text(encoding="utf-8").splitlines(keepends=True)


HARMS = {
    "cut in a line": (lambda lines: "".join(lines)[:-300], "its last line, with the checksum, is missing"),
    "cut between lines": (lambda lines: "".join(lines[:-1]), "its last line, with the checksum, is missing"),
    "only begun": (lambda lines: lines[0], "its last line, with the checksum, is missing"),
    "a line less": (lambda lines: "".join(lines[:3] + lines[4:]), "was changed since it was exported"),
    "a word changed": (lambda lines: "".join(lines).replace("Porto", "Braga"), "was changed since it was exported"),
    "other line ends": (lambda lines: "".join(lines).replace("\n", "\r\n"), "was changed since it was exported"),
    "something after": (lambda lines: "".join(lines) + "{}\n", "its last line, with the checksum, is missing"),
    "something before": (lambda lines: "\n" + "".join(lines), "was changed since it was exported"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("harm", HARMS)
def test_a_file_that_was_cut_off_or_changed_is_refused_and_changes_nothing(lived, tmp_path, harm, packed):
    bank, other = lived
    file = exported(bank, tmp_path)
    other.create_persona(PersonaDraft("Zoe"))
    before = held(other)
    change, why = HARMS[harm]
    file.write_bytes(change(lines_of(file)).encode())
    if packed:
        file = zipped(file)
    for read in (lambda: ingest.ingest(other, file), lambda: ingest.summarize(file)):
        with pytest.raises(UnreadableFile, match=why):
            read()
    assert held(other) == before


def sealed(file, change):
    """The file with the fields of its lines changed and sealed again, as somebody would who means harm."""
    values = [json.loads(line) for line in lines_of(file)[:-1]]
    change(values)
    body = "".join(json.dumps(value) + "\n" for value in values)
    end = {"end": {"sha256": hashlib.sha256(body.encode()).hexdigest()}}
    file.write_text(body + json.dumps(end), encoding="utf-8")


def memory_of(values):
    return next(v["memory"] for v in values if "memory" in v and v["memory"]["store"] == "profile")


FORGERIES = {
    "a memory of no turn": lambda v: memory_of(v)["sources"].append({"turn": 999}),
    "a memory of no session": lambda v: memory_of(v).update(session=999),
    "followed by nothing": lambda v: memory_of(v).update(superseded_by=999),
    "an unknown store": lambda v: memory_of(v).update(store="attic"),
    "an unknown field": lambda v: memory_of(v).update(scope="; DROP TABLE memories"),
    "a time without a zone": lambda v: memory_of(v).update(said_at="2024-05-01T10:00:00"),
    "a time off the calendar": lambda v: memory_of(v).update(said_at="0001-01-01T00:00:00+14:00"),
    "an event that ends first": lambda v: memory_of(v).update(event_start="2024-05-01T00:00Z", event_end="2023Z"),
    "a number too large": lambda v: memory_of(v).update(n=2**60),
    "two turns at one place": lambda v: v[1]["session"]["turns"][1].update(position=0),
    "a text that is a list": lambda v: memory_of(v).update(text=["no"]),
    "half a surrogate pair": lambda v: memory_of(v).update(text="\ud800"),
    "no persona first": lambda v: v.insert(0, v.pop(3)),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_file_is_refused_and_changes_nothing_of_its_persona(lived, tmp_path, forgery):
    bank, other = lived
    file = exported(bank, tmp_path, "Iris")
    sealed(file, FORGERIES[forgery])
    with pytest.raises(MemoirError, match=r"stored|kept|imported"):
        ingest.ingest(other, file)
    assert held(other) == held(Bank(tmp_path / "empty.db"))


def test_a_file_of_a_later_version_is_refused_with_the_remedy(lived, tmp_path):
    bank, other = lived
    file = exported(bank, tmp_path)
    sealed(file, lambda v: v[0].update(memoir=3))
    with pytest.raises(UnreadableFile, match="version 3 of Memoir's format; this Memoir reads versions 1 and 2"):
        ingest.ingest(other, file)


def test_zeros_in_a_text_do_not_reach_the_bank(lived, tmp_path):
    bank, other = lived
    file = exported(bank, tmp_path, "Bo")
    sealed(file, lambda v: memory_of(v).update(text="a\0b"))
    ingest.ingest(other, file)
    assert "ab" in {m.text for m in other.memories(1)}


def test_what_is_written_meanwhile_is_not_half_in_the_file(lived):
    bank, _ = lived
    before = list(export.export_lines(bank, bank.personas()))
    started = export.export_lines(bank, bank.personas())
    first = next(started)
    tell(bank, 2, "later", "chat", "Rome", 20, True, True, "fact")
    assert [first, *started] == before


def test_one_named_persona_takes_everything(lived, tmp_path):
    bank, other = lived
    other.create_persona(PersonaDraft("Zoe"))
    report = ingest.ingest(other, exported(bank, tmp_path), persona="zoe")
    assert [p.name for p in other.personas()] == ["Zoe"]
    assert {h.persona.name for h in report.histories} == {"Zoe"}
