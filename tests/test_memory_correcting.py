"""What the user puts right is a new version, the old one kept; all can be undone, and two windows do not clash."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import gradio as gr
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.tab.chat_box import RememberedPanel
from graph.tab.messages import Chat
from memory.bank import corrections as correcting
from memory.bank import journal
from memory.bank import learning_queue as consolidation
from memory.bank.bank import Bank
from memory.dates.expressions import read_date
from memory.errors import MemoirError
from memory.forgetting import forget
from memory.search import indexer
from memory.search.searcher import Searcher
from memory.tab.memory_card import MemoryDetail
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, SessionDraft, TurnDraft

MAY = datetime(2023, 5, 8, tzinfo=UTC)
JUNE, JULY = MAY + timedelta(days=30), datetime(2033, 7, 1, tzinfo=UTC)


def made(path):
    bank = Bank(path / "bank.db")
    bank.create_persona(PersonaDraft("Ana"))
    return bank


@pytest.fixture
def bank(tmp_path):
    return made(tmp_path)


def tell(bank, text, place="", at=MAY):
    fact = MemoryDraft("profile", f"Lives in {place}", said_at=at, attribute="home", speaker="You")
    learned = (LearnedMemory(fact, (Quote(0, text),)),) if place else ()
    turns = (TurnDraft("You", "user", text, at),)
    bank.remember(1, [SessionDraft(turns, at, external_id=f"{text}{at}", learned=learned)])
    return {m.text: m for m in bank.memories(1)}


def edited(memory, text, event=None, event_text="", valid_from=None, valid_to=None):
    times = {"event": event, "event_text": event_text, "valid_from": valid_from, "valid_to": valid_to}
    return replace(memory, text=text, **times)


def alive(bank):
    return sorted(m.text for m in bank.memories(1) if m.retracted_at is None)


@pytest.mark.parametrize(
    "change",
    [
        lambda bank, old: correcting.edit(bank, edited(old, "A kayak.")),
        lambda bank, old: correcting.mark_wrong(bank, 1, old.id),
    ],
)
def test_a_summary_can_be_changed_and_the_change_undone(bank, change):
    tell(bank, "I bought a kayak.")
    consolidation.close_chats(bank)
    (due,) = consolidation.pending_sessions(bank, JULY)
    turns = [known.turn for known in consolidation.session_turns(bank, due)]
    summary = MemoryDraft("event", "They spoke of boats", said_at=MAY, attribute=consolidation.SUMMARY)
    consolidation.store_learned(bank, due, turns, [LearnedMemory(summary, (Quote(0, turns[0].text, False),))])
    (old,) = (memory for memory in bank.memories(1) if memory.attribute == consolidation.SUMMARY)
    change(bank, old)
    assert "They spoke of boats" not in alive(bank)
    correcting.undo(bank, 1)
    assert alive(bank) == ["I bought a kayak.", "They spoke of boats"]


def test_an_edit_is_a_new_version_and_the_old_one_is_kept(bank):
    old = tell(bank, "I bought a kayak.")["I bought a kayak."]
    new = correcting.edit(bank, edited(old, "I bought a canoe.", read_date("May 2023"), "May 2023"))
    assert (new.text, new.event_text, new.turn_ids, new.said_at) == ("I bought a canoe.", "May 2023", old.turn_ids, MAY)
    kept = bank.memory(1, old.id)
    assert (kept.text, kept.superseded_by) == ("I bought a kayak.", new.id)
    assert kept.retracted_at is not None


def test_a_new_answer_reflects_the_edit_at_once(bank, embedder):
    old = tell(bank, "I bought a kayak.")["I bought a kayak."]
    searcher = Searcher(bank, embedder)
    indexer.embed_all(bank, embedder)
    correcting.edit(bank, edited(old, "I bought a canoe."))
    indexer.embed_all(bank, embedder)
    found = [hit.memory.text for hit in searcher.search(1, searcher.views(["What boat did I buy?"]), JULY)]
    assert found == ["I bought a canoe."]


def test_what_was_drawn_from_the_old_words_is_stale_until_the_edit_is_undone(bank):
    told = tell(bank, "I live in Porto.", "Porto")
    correcting.edit(bank, edited(told["I live in Porto."], "I live in Braga."))
    (fact,) = bank.memories(1, store="profile")
    assert fact.stale_since is not None
    correcting.undo(bank, 1)
    (fact,) = bank.memories(1, store="profile")
    assert fact.stale_since is None
    assert alive(bank) == ["I live in Porto.", "Lives in Porto"]


def test_an_edited_version_is_not_out_of_date_itself_nor_is_what_was_said_beside_it(bank):
    told = tell(bank, "I live in Porto.", "Porto")
    new = correcting.edit(bank, edited(told["Lives in Porto"], "Lives in Braga", valid_from=MAY))
    assert [bank.memory(1, i).stale_since for i in (new.id, told["I live in Porto."].id)] == [None, None]


def test_an_edited_fact_closes_what_the_old_one_closed(bank):
    tell(bank, "I live in Porto.", "Porto")
    lisbon = tell(bank, "I moved to Lisbon.", "Lisbon", JUNE)["Lives in Lisbon"]
    new = correcting.edit(bank, edited(lisbon, "Lives in Braga", valid_from=MAY + timedelta(days=20)))
    held = {m.text: m for m in bank.memories(1, store="profile")}
    assert (held["Lives in Porto"].valid_to, held["Lives in Porto"].superseded_by) == (new.valid_from, new.id)
    correcting.undo(bank, 1)
    held = {m.text: m for m in bank.memories(1, store="profile")}
    assert (held["Lives in Porto"].valid_to, held["Lives in Porto"].superseded_by) == (JUNE, lisbon.id)
    assert set(held) == {"Lives in Porto", "Lives in Lisbon"}


@pytest.mark.parametrize("text", ["", "  ", "\x00"])
def test_a_memory_needs_words(bank, text):
    old = tell(bank, "I bought a kayak.")["I bought a kayak."]
    with pytest.raises(MemoirError, match="cannot be empty"):
        correcting.edit(bank, edited(old, text))
    assert alive(bank) == ["I bought a kayak."]


def test_a_fact_cannot_end_before_it_begins(bank):
    fact = tell(bank, "I live in Porto.", "Porto")["Lives in Porto"]
    with pytest.raises(MemoirError, match="must be after the beginning"):
        correcting.edit(bank, edited(fact, "Lives in Porto", valid_from=JUNE, valid_to=MAY))


def test_of_two_windows_that_edit_one_memory_the_second_is_told(bank):
    old = tell(bank, "I bought a kayak.")["I bought a kayak."]
    correcting.edit(bank, edited(old, "I bought a canoe."))
    for change in (
        lambda: correcting.edit(bank, edited(old, "I bought a raft.")),
        lambda: correcting.mark_wrong(bank, 1, old.id),
        lambda: correcting.pin(bank, 1, old.id, pinned=True),
    ):
        with pytest.raises(MemoirError, match="changed or marked wrong"):
            change()
    assert alive(bank) == ["I bought a canoe."]


def test_what_was_forgotten_meanwhile_is_not_brought_back(bank):
    old = tell(bank, "I bought a kayak.")["I bought a kayak."]
    new = correcting.edit(bank, edited(old, "I bought a canoe."))
    forget.forget_memories(bank, 1, [new.id])
    assert bank.memories(1) == []
    with pytest.raises(MemoirError, match="nothing to undo"):
        correcting.undo(bank, 1)
    with pytest.raises(MemoirError, match="forgotten"):
        correcting.mark_wrong(bank, 1, old.id)


def test_another_personas_memory_cannot_be_changed(bank):
    old = tell(bank, "I bought a kayak.")["I bought a kayak."]
    other = bank.create_persona(PersonaDraft("Bea")).id
    for change in (
        lambda: correcting.edit(bank, edited(replace(old, persona_id=other), "Mine.")),
        lambda: correcting.mark_wrong(bank, other, old.id),
        lambda: correcting.pin(bank, other, old.id, pinned=True),
        lambda: correcting.merge(bank, other, old.id, [old.id]),
        lambda: correcting.undo(bank, other),
    ):
        with pytest.raises(MemoirError):
            change()
    assert alive(bank) == ["I bought a kayak."]


def test_what_is_marked_wrong_is_recalled_again_when_that_is_undone(bank):
    tell(bank, "I live in Porto.", "Porto")
    lisbon = tell(bank, "I moved to Lisbon.", "Lisbon", JUNE)["Lives in Lisbon"]
    correcting.mark_wrong(bank, 1, lisbon.id)
    assert {m.text: m.valid_to for m in bank.memories(1, store="profile")}["Lives in Porto"] is None
    correcting.undo(bank, 1)
    assert {m.text: m.valid_to for m in bank.memories(1, store="profile")}["Lives in Porto"] == JUNE


def test_duplicates_are_merged_with_both_tellings_and_parted_again(bank):
    bank.add_memories(1, [MemoryDraft("profile", "lives in porto", speaker="You")])
    told = tell(bank, "I live in Porto.", "Porto")
    keep, other = told["Lives in Porto"], told["lives in porto"]
    assert [m.id for m in correcting.duplicates(bank, 1, other.id)] == [keep.id]
    correcting.merge(bank, 1, other.id, [keep.id])
    assert alive(bank) == ["I live in Porto.", "lives in porto"]
    assert bank.memory(1, other.id).turn_ids == keep.turn_ids
    correcting.undo(bank, 1)
    assert bank.memory(1, other.id).turn_ids == ()
    assert alive(bank) == ["I live in Porto.", "Lives in Porto", "lives in porto"]


def test_what_is_pinned_is_looked_at_whatever_is_asked(bank, embedder):
    for n in range(30):
        tell(bank, f"The kayak race number {n} was fun.")
    allergic = tell(bank, "I am allergic to nuts.")["I am allergic to nuts."]
    correcting.pin(bank, 1, allergic.id, pinned=True)
    indexer.embed_all(bank, embedder)
    searcher = Searcher(bank, embedder)
    found = [hit.memory for hit in searcher.search(1, searcher.views(["How was the kayak race?"]), JULY)]
    assert allergic.id in {m.id for m in found if m.pinned}
    assert bank.memories(1, limit=1)[0].id == allergic.id
    correcting.undo(bank, 1)
    found = [hit.memory.id for hit in searcher.search(1, searcher.views(["How was the kayak race?"]), JULY)]
    assert allergic.id not in found


def test_what_was_not_known_yet_is_not_shown_though_it_is_pinned(bank, embedder):
    later = tell(bank, "I am allergic to nuts.", at=JUNE)["I am allergic to nuts."]
    correcting.pin(bank, 1, later.id, pinned=True)
    searcher = Searcher(bank, embedder)
    assert searcher.search(1, searcher.views(["What am I allergic to?"]), MAY) == ()


def state(bank):
    """All of the bank that a change touches, without what only counts."""
    with bank.reading() as db:
        memories = "SELECT id, text, valid_from, valid_to, superseded_by, taken_back, pinned FROM memories ORDER BY id"
        return [
            db.conn.execute(query).fetchall()
            for query in (memories, "SELECT * FROM sources ORDER BY 1, 2", "SELECT * FROM rests_on ORDER BY 1, 2")
        ]


CHANGES = st.lists(st.tuples(st.sampled_from(["edit", "wrong", "pin", "merge"]), st.integers(0, 5)), max_size=6)


@settings(max_examples=40, deadline=None)
@given(CHANGES)
def test_undoing_everything_leaves_the_bank_as_it_was(tmp_path_factory, changes):
    bank = made(tmp_path_factory.mktemp("b"))
    tell(bank, "I live in Porto.", "Porto")
    tell(bank, "I moved to Lisbon.", "Lisbon", JUNE)
    bank.add_memories(1, [MemoryDraft("profile", "LIVES IN PORTO", speaker="You")])
    before, done = state(bank), 0
    for kind, which in changes:
        now = [m for m in bank.memories(1) if m.retracted_at is None]
        memory = now[which % len(now)] if now else None
        if memory is None:
            continue
        if kind == "edit":
            correcting.edit(bank, edited(memory, f"{memory.text}!", memory.event, "", memory.valid_from))
        elif kind == "wrong":
            correcting.mark_wrong(bank, 1, memory.id)
        elif kind == "pin":
            correcting.pin(bank, 1, memory.id, pinned=not memory.pinned)
        else:
            others = [m.id for m in correcting.duplicates(bank, 1, memory.id)]
            correcting.merge(bank, 1, memory.id, others)
            done += len(others) - 1
        done += 1
    for _ in range(done):
        correcting.undo(bank, 1)
    assert state(bank) == before
    assert correcting.last_change(bank, 1) is None


def test_the_journal_tells_of_changes_in_numbers(bank):
    kayak = tell(bank, "I bought a kayak.")["I bought a kayak."]
    correcting.pin(bank, 1, kayak.id, pinned=True)
    with journal.requested_by("Chat tab"):
        correcting.edit(bank, edited(kayak, "I bought a canoe."))
        correcting.undo(bank, 1)
    told = [(entry.action, entry.request, entry.memories) for entry in journal.read(bank, 3)]
    assert told == [("undid", "Chat tab", "1"), ("edited", "Chat tab", "1"), ("pinned", "app", "1")]
    assert "kayak" not in journal.to_csv(journal.read(bank))


def test_the_journal_names_the_tab_that_a_change_was_made_in(bank):
    memory = tell(bank, "I bought a kayak.")["I bought a kayak."]
    turn = next(iter(bank.turns(1, 1)))
    event = SimpleNamespace(action="edit", memory=memory.id, text="I bought a canoe.", turn=turn.external_id)
    with gr.Blocks():
        panel = RememberedPanel(bank, gr.State(None))
        detail = MemoryDetail(bank, gr.Dropdown())
    panel.show(Chat(id="chat-1", persona_id=1), event)
    detail.undo_last(1, None)
    detail.mark_wrong(1, memory.id)
    assert [entry.request for entry in journal.read(bank, 3)] == ["Memory tab", "Memory tab", "Chat tab"]


def test_a_version_without_changes_says_what_the_memory_says(bank):
    memory = tell(bank, "I bought a kayak.")["I bought a kayak."]
    new = correcting.edit(bank, memory)
    assert (new.text, new.event, new.event_text) == ("I bought a kayak.", None, "")
    assert (new.valid_from, new.valid_to) == (MAY, None)
    assert len(consolidation.pending_sessions(bank)) == 1
