"""What the user told one persona is known to the others, unless one is kept apart; nothing else crosses."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory import ingest
from memory.bank import corrections, journal, maintenance, schema
from memory.bank.bank import Bank
from memory.bank.queries.chats import past_chats
from memory.bank.queries.deletion import select_everything, select_session
from memory.bank.queries.told import facts_told, known_facts, known_period, known_relations, lines_told, name_told
from memory.embedding.embedder import Embedder
from memory.errors import MemoirError, UnknownMemory
from memory.exporting.export import write_export
from memory.forgetting.forget import forget_memories, forget_selected, preview_selected
from memory.search import indexer
from memory.search.scoring import SearchSettings
from memory.search.searcher import Searcher
from memory.tab.memory_card import render_sources
from memory.types import (
    SUMMARY,
    LearnedMemory,
    MemoryDraft,
    Persona,
    PersonaDraft,
    Quote,
    Relation,
    SessionDraft,
    TurnDraft,
)

EXPORTS, BROWSER = (Path(__file__).parent / "data" / name for name in ("exports", "browser"))
MAY, JUNE, JULY = (datetime(2023, month, 8, tzinfo=UTC) for month in (5, 6, 7))
BIKE = "I keep my bicycle in the boathouse."
LENA_BIKE = "My own bicycle rusts behind the tannery."


def home(place: str, at: datetime, speaker: str = "You") -> LearnedMemory:
    """Where the user lives, learned from the first turn of a chat."""
    relation = Relation(speaker, "home", place)
    draft = MemoryDraft(
        "profile", f"Lives in {place}", said_at=at, speaker=speaker, attribute="home", relation=relation
    )
    return LearnedMemory(draft, (Quote(0, f"I live in {place}"),))


def chat(name: str, at: datetime, *texts: str, learned: tuple[LearnedMemory, ...] = ()) -> SessionDraft:
    """User and persona in turns; both are recallable, as in an import."""
    turns = (TurnDraft(*(("Lena", "assistant") if n % 2 else ("You", "user")), t, at) for n, t in enumerate(texts))
    return SessionDraft(tuple(turns), at, "", name, texts[0][:80], "chat", learned)


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    return Bank(tmp_path / "bank.db")


@pytest.fixture
def lena(bank: Bank) -> Persona:
    """Whom the user told where the bicycle is; she told of her own, and has a life."""
    persona = bank.create_persona(PersonaDraft("Lena", kept_apart=False))
    summary = MemoryDraft("event", f"You: {BIKE} Lena: {LENA_BIKE}", said_at=MAY, attribute=SUMMARY)
    gist = LearnedMemory(summary, (Quote(0, BIKE, False), Quote(1, LENA_BIKE, False)))
    bank.remember(persona.id, [chat("a", MAY, BIKE, LENA_BIKE, learned=(gist,))])
    bank.add_memories(persona.id, [MemoryDraft("profile", "Owns a bicycle shop", speaker="Lena")])
    return persona


@pytest.fixture
def memoir(bank: Bank, lena: Persona) -> Persona:
    """The persona that is asked."""
    return bank.create_persona(PersonaDraft("Memoir", kept_apart=False))


def found(bank: Bank, persona: Persona, embedder: Embedder, question: str = "Where is the bicycle?") -> list[str]:
    """The texts that a search finds, best first."""
    indexer.embed_all(bank, embedder)
    searcher = Searcher(bank, embedder)
    return [hit.memory.text for hit in searcher.search(persona.id, searcher.views([question]), JULY)]


def test_the_users_words_are_found_by_another_persona_and_nothing_else(
    bank: Bank, lena: Persona, memoir: Persona, embedder: Embedder
) -> None:
    assert found(bank, memoir, embedder) == [BIKE]
    assert {BIKE, LENA_BIKE, "Owns a bicycle shop"} < set(found(bank, lena, embedder))
    bank.remember(memoir.id, [chat("b", JUNE, "The boathouse is painted green.", "Noted.")])
    assert found(bank, memoir, embedder)[0] == BIKE
    assert found(bank, lena, embedder, "Which colour is the boathouse?")[0] == "The boathouse is painted green."


@pytest.mark.parametrize("apart", ["Lena", "Memoir"])
def test_what_is_kept_apart_neither_knows_nor_is_known(
    bank: Bank, lena: Persona, memoir: Persona, embedder: Embedder, apart: str
) -> None:
    bank.remember(memoir.id, [chat("b", JUNE, "I live in Porto.", "Nice.", learned=(home("Porto", JUNE),))])
    bank.change_persona(bank.persona(apart).id, kept_apart=True)
    (bicycle,) = (m.id for m in bank.memories(lena.id) if m.text == BIKE)
    assert BIKE not in found(bank, memoir, embedder)
    assert "I live in Porto." not in found(bank, lena, embedder, "Where do I live?")
    assert facts_told(bank, lena.id, JULY) == []
    assert known_period(bank, memoir.id) == bank.time_range(memoir.id)
    with pytest.raises(UnknownMemory):
        bank.memory(memoir.id, bicycle)
    with pytest.raises(MemoirError):
        corrections.mark_wrong(bank, memoir.id, bicycle)
    assert forget_memories(bank, memoir.id, [bicycle]).memories == 0
    assert bank.sources(memoir.id, bicycle) == []
    bank.change_persona(bank.persona(apart).id, kept_apart=False)
    assert found(bank, memoir, embedder)[0] == BIKE
    assert {e.action for e in journal.read(bank)} >= {"kept apart", "shared"}


def test_a_persona_alone_scores_as_it_does_beside_those_that_are_kept_apart(
    bank: Bank, lena: Persona, embedder: Embedder
) -> None:
    def scores() -> list[tuple[int, float]]:
        searcher = Searcher(bank, embedder)
        hits = searcher.search(lena.id, searcher.views(["Where is the bicycle?"]), JULY)
        return [(hit.memory.id, hit.score) for hit in hits]

    indexer.embed_all(bank, embedder)
    alone = scores()
    other = bank.create_persona(PersonaDraft("Bo"))
    bank.remember(other.id, [chat("c", JUNE, "My bicycle is blue.", "Mine, too.")])
    indexer.embed_all(bank, embedder)
    assert scores() == alone


def test_a_personas_own_words_do_not_change_how_the_users_are_found(
    bank: Bank, lena: Persona, memoir: Persona, embedder: Embedder
) -> None:
    bank.remember(memoir.id, [chat("b", JUNE, "My bicycle has a basket.", "Noted.")])
    settings = SearchSettings(dense_weight=0)

    def scores() -> dict[str, float]:
        searcher = Searcher(bank, embedder)
        hits = searcher.search(memoir.id, searcher.views(["bicycle boathouse"]), JULY, settings)
        return {hit.memory.text: hit.scores["lexical"] for hit in hits}

    before = scores()
    bank.remember(lena.id, [chat("d", MAY, "Tell me of it.", "A bicycle in a boathouse is a bicycle lost.")])
    told = scores()
    assert {BIKE, "My bicycle has a basket."} <= set(before)
    bank.remember(lena.id, [SessionDraft((TurnDraft("Lena", "assistant", "The boathouse bicycle!", MAY),), MAY)])
    assert scores() == told


def test_the_source_says_to_whom_it_was_said_and_opens_there(bank: Bank, lena: Persona, memoir: Persona) -> None:
    (line,) = lines_told(bank, memoir.id, known_period(bank, memoir.id) or pytest.fail("no time"), 5)
    assert (line.text, line.told_to, line.speaker, line.persona_id) == (BIKE, "Lena", "You", lena.id)
    assert bank.memory(memoir.id, line.id) == line
    shown = render_sources(bank, line)
    assert BIKE in shown
    assert LENA_BIKE in shown  # the user's own conversation
    assert [turn.text for turn in bank.origins(memoir.id, [line.id])[line.id]] == [BIKE]
    assert bank.memory(lena.id, line.id).told_to == ""


def test_an_imported_history_calls_the_user_by_name_and_another_persona_does_not(bank: Bank, memoir: Persona) -> None:
    ola = bank.create_persona(PersonaDraft("Ola", kept_apart=False))
    turns = (TurnDraft("Noor Aziz", "user", "I live in Faro.", MAY), TurnDraft("Ola", "assistant", "I, too.", MAY))
    bank.remember(ola.id, [SessionDraft(turns, MAY, learned=(home("Faro", MAY, "Noor Aziz"),))])
    (fact,) = facts_told(bank, memoir.id, JULY)
    assert (fact.speaker, fact.relation, fact.told_to) == ("You", Relation("You", "home", "Faro"), "Ola")


def test_of_facts_told_to_several_the_latest_holds(
    bank: Bank, lena: Persona, memoir: Persona, embedder: Embedder
) -> None:
    bank.remember(lena.id, [chat("b", MAY, "I live in Porto.", "Nice.", learned=(home("Porto", MAY),))])
    bank.remember(memoir.id, [chat("c", JUNE, "I live in Faro.", "Nice.", learned=(home("Faro", JUNE),))])
    for persona in (lena, memoir):
        assert [m.text for m in facts_told(bank, persona.id, JULY)] == ["Lives in Faro"]
        assert "Lives in Porto" not in {m.text for m in known_facts(bank, persona.id, JULY)}
        assert "Lives in Porto" not in found(bank, persona, embedder, "Where do I live?")
        assert [m.text for m in facts_told(bank, persona.id, MAY)] == ["Lives in Porto"]
    bank.change_persona(memoir.id, kept_apart=True)
    assert [m.text for m in facts_told(bank, lena.id, JULY)] == ["Lives in Porto"]


def test_a_fact_told_twice_is_listed_once_and_names_and_relations_are_known(
    bank: Bank, lena: Persona, memoir: Persona
) -> None:
    for persona, at in ((lena, MAY), (memoir, JUNE)):
        sister = MemoryDraft("relationship", "Your sister is Ana", said_at=at, speaker="You")
        named = MemoryDraft("profile", "Name: Noor", said_at=at, speaker="You", attribute="name")
        learned = (
            LearnedMemory(replace(sister, relation=Relation("You", "sister", "Ana")), (Quote(0, "My sister is Ana."),)),
            LearnedMemory(replace(named, relation=Relation("You", "name", "Noor")), (Quote(0, "Noor"),)),
        )
        said = chat(f"f{persona.id}", at, "I am Noor. My sister is Ana.", "Hello.", learned=learned)
        bank.remember(persona.id, [said])
    other = bank.create_persona(PersonaDraft("Bo", kept_apart=False))
    assert sorted(m.text for m in facts_told(bank, other.id, JULY)) == ["Name: Noor", "Your sister is Ana"]
    assert name_told(bank, other.id, JULY) == "Noor"
    assert Relation("You", "sister", "Ana") in known_relations(bank, other.id, JULY)


def test_a_correction_reaches_what_was_told_to_another_and_undoing_it_too(
    bank: Bank, lena: Persona, memoir: Persona
) -> None:
    (bicycle,) = (m.id for m in bank.memories(lena.id) if m.text == BIKE)
    right = MemoryDraft("dialogue", "I keep my bicycle in the shed.", said_at=JUNE, speaker="You")
    fixed = LearnedMemory(right, (Quote(0, "No, in the shed.", alone=False),), replaces=bicycle)
    bank.remember(memoir.id, [chat("b", JUNE, "No, in the shed.", "Corrected.", learned=(fixed,))])
    assert bank.memory(lena.id, bicycle).retracted_at is not None
    (session,) = bank.sessions(memoir.id)
    forget_selected(bank, [memoir.id], select_session(session.id))
    assert bank.memory(lena.id, bicycle).retracted_at is None
    bank.remember(memoir.id, [chat("c", JUNE, "No, in the shed.", "Corrected.", learned=(fixed,))])
    gone = forget_memories(bank, memoir.id, [bicycle])
    assert gone.residue == 0
    assert "I keep my bicycle in the shed." not in {m.text for m in bank.memories(memoir.id)}


def test_marking_wrong_and_its_undo_belong_to_the_persona_that_was_told(
    bank: Bank, lena: Persona, memoir: Persona
) -> None:
    (bicycle,) = (m.id for m in bank.memories(lena.id) if m.text == BIKE)
    corrections.mark_wrong(bank, memoir.id, bicycle)
    assert bank.memory(lena.id, bicycle).retracted_at is not None
    assert corrections.last_change(bank, memoir.id) is None
    assert corrections.undo(bank, lena.id) == bicycle
    edited = corrections.edit(bank, replace(bank.memory(memoir.id, bicycle), text="My bicycle is in the attic."))
    assert bank.memory(memoir.id, edited.id).told_to == "Lena"


def answered(bank: Bank, persona: Persona, memory_id: int, reply: str) -> None:
    """Store a reply of a persona that cites a memory."""
    turns = (
        TurnDraft("You", "user", "Where is it?", JUNE),
        TurnDraft(persona.name, "assistant", reply, JUNE, recallable=False, cites=(memory_id,)),
    )
    bank.remember(persona.id, [SessionDraft(turns, JUNE, external_id="q", source="chat")])


@pytest.mark.parametrize("whole", [False, True])
def test_forgetting_takes_the_answers_of_other_personas_along(
    bank: Bank, lena: Persona, memoir: Persona, embedder: Embedder, whole: bool
) -> None:
    (bicycle,) = (m.id for m in bank.memories(lena.id) if m.text == BIKE)
    answered(bank, memoir, bicycle, f"You told Lena: {BIKE}")
    indexer.embed_all(bank, embedder)
    if whole:
        assert preview_selected(bank, [lena.id], select_everything).turns == 3
        gone = forget_selected(bank, [lena.id], select_everything)
    else:
        gone = forget_memories(bank, memoir.id, [bicycle])
    assert gone.residue == 0
    assert [t.text for s in bank.sessions(memoir.id) for t in bank.turns(memoir.id, s.id)] == ["Where is it?"]
    assert not any(b"boathouse" in path.read_bytes() for path in bank.path.parent.iterdir() if path.is_file())
    assert found(bank, memoir, embedder) == ["Where is it?"]
    assert maintenance.verify(bank, embedder.model) == []


def test_deleting_a_persona_reopens_the_facts_that_it_had_closed(bank: Bank, lena: Persona, memoir: Persona) -> None:
    bank.remember(lena.id, [chat("b", MAY, "I live in Porto.", "Nice.", learned=(home("Porto", MAY),))])
    (porto,) = (m.id for m in bank.memories(lena.id, store="profile") if m.attribute == "home")
    moved = MemoryDraft("profile", "Lives on a boat", said_at=JUNE, speaker="You")
    boat = LearnedMemory(moved, (Quote(0, "I live on a boat now."),), closes=porto)
    bank.remember(memoir.id, [chat("c", JUNE, "I live on a boat now.", "Nice.", learned=(boat,))])
    assert bank.memory(lena.id, porto).valid_to == JUNE
    forget_selected(bank, [memoir.id], select_everything)
    assert bank.memory(lena.id, porto).valid_to is None


def test_an_export_keeps_who_is_kept_apart_and_restores_each_persona_alone(
    bank: Bank, lena: Persona, memoir: Persona, tmp_path: Path
) -> None:
    (bicycle,) = (m.id for m in bank.memories(lena.id) if m.text == BIKE)
    answered(bank, memoir, bicycle, "In the boathouse [1].")
    right = MemoryDraft("dialogue", "I keep my bicycle in the shed.", said_at=JUNE, speaker="You")
    fixed = LearnedMemory(right, (Quote(0, "No, in the shed.", alone=False),), replaces=bicycle)
    bank.remember(memoir.id, [chat("b", JULY, "No, in the shed.", "Corrected.", learned=(fixed,))])
    bank.create_persona(PersonaDraft("Bo"))
    for personas in (bank.personas(), [lena], [memoir]):
        write_export(bank, personas, tmp_path / "bank.jsonl")
        other = Bank(tmp_path / f"other-{len(personas)}-{personas[0].id}.db")
        ingest.ingest(other, tmp_path / "bank.jsonl")
        assert {p.name: p.kept_apart for p in other.personas()} == {p.name: p.kept_apart for p in personas}
        assert maintenance.verify(other, "none") == []
        for persona in personas:
            assert other.counts(other.persona(persona.name).id) == bank.counts(persona.id)


def test_an_older_bank_shares_what_was_told_in_chats_and_keeps_imports_apart(bank: Bank, lena: Persona) -> None:
    history = bank.create_persona(PersonaDraft("History"))
    bank.remember(history.id, [replace(chat("h", MAY, "Hello.", "Hello."), source="import")])
    bank.create_persona(PersonaDraft("Ida", "sample"))
    with closing(sqlite3.connect(bank.path)) as conn:
        before = schema.FIRST_VERSION + list(schema.MIGRATIONS).index("kept_apart")
        conn.execute("ALTER TABLE personas DROP COLUMN kept_apart")
        conn.execute("ALTER TABLE personas DROP COLUMN picture")
        conn.execute("ALTER TABLE sessions DROP COLUMN hidden")
        conn.execute("ALTER TABLE turns DROP COLUMN unsupported")
        for table in schema.DIGESTED:
            conn.execute(f"ALTER TABLE {table} DROP COLUMN digest")
        conn.execute(f"PRAGMA user_version = {before}")
        conn.commit()
    older = Bank(bank.path)
    assert {p.name: p.kept_apart for p in older.personas()} == {"Lena": False, "History": True, "Ida": True}


def test_banks_share_nothing(bank: Bank, lena: Persona, tmp_path: Path, embedder: Embedder) -> None:
    other = Bank(tmp_path / "ben" / "bank.db")
    persona = other.create_persona(PersonaDraft("Memoir", kept_apart=False))
    assert found(other, persona, embedder) == []
    assert facts_told(other, persona.id, JULY) == []


@pytest.mark.parametrize(
    ("file", "is_chat", "may_share"),
    [
        (EXPORTS / "chatgpt.json", True, True),
        (EXPORTS / "whatsapp-iphone.txt", True, True),
        (EXPORTS / "card.json", False, True),
        (BROWSER / "two_talks.json", False, False),
    ],
)
def test_an_import_says_whether_it_may_be_the_users(file: Path, is_chat: bool, may_share: bool) -> None:
    contents = ingest.summarize(file)
    assert (contents.is_chat, contents.may_share) == (is_chat, may_share)


@pytest.mark.parametrize("kept_apart", [False, True])
def test_an_import_as_a_persona_of_its_own_is_kept_apart_or_not(
    bank: Bank, memoir: Persona, tmp_path: Path, kept_apart: bool
) -> None:
    ingest.ingest(bank, EXPORTS / "chatgpt.json", kept_apart=kept_apart)
    assert bank.persona("ChatGPT").kept_apart is kept_apart
    told = lines_told(bank, memoir.id, known_period(bank, memoir.id) or pytest.fail("no time"), 100)
    assert ("ChatGPT" in {line.told_to for line in told}) is not kept_apart
    write_export(bank, bank.personas(), tmp_path / "bank.jsonl")
    assert not ingest.summarize(tmp_path / "bank.jsonl").may_share


def test_forgetting_in_a_continued_import_takes_the_reply_along_and_no_line_of_the_import(
    bank: Bank, memoir: Persona
) -> None:
    ingest.ingest(bank, EXPORTS / "whatsapp-iphone.txt", persona="Memoir", user="Bo")
    past, _ = past_chats(bank, memoir.id, 50)[0]
    before = [turn.text for turn in bank.turns(memoir.id, past.id)]
    turns = (
        TurnDraft("You", "user", "The gate code is forty-four seventeen.", JULY),
        TurnDraft("Memoir", "assistant", "I noted: The gate code is forty-four seventeen.", JULY, recallable=False),
    )
    bank.remember(memoir.id, [SessionDraft(turns, JULY, external_id=past.chat_id, source="chat")])
    assert len(bank.turns(memoir.id, past.id)) == len(before) + 2
    (code,) = (m.id for m in bank.memories(memoir.id) if m.text.startswith("The gate code"))
    assert forget_memories(bank, memoir.id, [code]).residue == 0
    assert [turn.text for turn in bank.turns(memoir.id, past.id)] == before
    assert not any(b"forty-four" in path.read_bytes() for path in bank.path.parent.iterdir() if path.is_file())
