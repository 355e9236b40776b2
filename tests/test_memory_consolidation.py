"""What is learned quotes its turns, is told once, corrected and taken back; the queue loses and repeats nothing."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.bank import learning_queue as consolidation
from memory.bank.bank import Bank
from memory.bank.corrections import mark_wrong
from memory.bank.queries.deletion import select_session
from memory.forgetting import forget
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, SessionDraft, TurnDraft

MAY = datetime(2023, 5, 8, tzinfo=UTC)
JUNE, JULY, AUGUST = (MAY + timedelta(days=days) for days in (30, 60, 90))
PORTO = "I live in Porto."
LISBON = "I moved to Lisbon."


@pytest.fixture
def bank(tmp_path):
    bank = Bank(tmp_path / "bank.db")
    bank.create_persona(PersonaDraft("Ana"))
    return bank


def home(place, said_at=MAY):
    return MemoryDraft("profile", f"Lives in {place}", said_at=said_at, attribute="home", speaker="You")


def tell(bank, text, *learned, at=MAY, name="a", source="import", taken_back=()):
    turn = TurnDraft("You", "user", text, at)
    draft = SessionDraft((turn,), at, external_id=name, source=source, learned=learned, retracts=taken_back)
    return bank.remember(1, [draft])


def profile(bank):
    return {m.text: m for m in bank.memories(1, store="profile")}


def test_what_quotes_nothing_that_was_said_is_refused(bank):
    made_up = LearnedMemory(home("Lisbon"), (Quote(0, "I live in Lisbon"),))
    elsewhere = LearnedMemory(home("Rome"), (Quote(3, PORTO),))
    nothing = LearnedMemory(home("Oslo"), (Quote(0, " "),))
    stored = tell(bank, PORTO, made_up, elsewhere, nothing, LearnedMemory(home("Porto"), (Quote(0, "live  in Porto"),)))
    assert (stored.memories, stored.refused) == (2, 3)  # one is the turn's own
    assert list(profile(bank)) == ["Lives in Porto"]


def test_a_fact_told_twice_is_one_memory_with_both_tellings(bank):
    tell(bank, PORTO, LearnedMemory(home("Porto"), (Quote(0, PORTO),)))
    stored = tell(
        bank,
        "Still, I live in Porto.",
        LearnedMemory(home("Porto", JUNE), (Quote(0, "I live in Porto"),)),
        at=JUNE,
        name="b",
    )
    assert (stored.known_memories, stored.memories) == (1, 1)
    (fact,) = profile(bank).values()
    assert (len(fact.turn_ids), fact.valid_from, fact.valid_to) == (2, MAY, None)
    first, second = bank.sessions(1)
    forget.forget_selected(bank, [1], select_session(first.id))
    assert [t.session_id for t in bank.sources(1, fact.id)] == [second.id]


def test_one_comes_back_to_where_one_lived_before(bank):
    for at, place, name in ((MAY, "Porto", "a"), (JUNE, "Lisbon", "b"), (JULY, "Porto", "c"), (AUGUST, "Porto", "d")):
        tell(
            bank,
            f"I live in {place}.",
            LearnedMemory(home(place, at), (Quote(0, f"I live in {place}"),)),
            at=at,
            name=name,
        )
    lived = sorted((m.valid_from, m.text, m.valid_to, len(m.turn_ids)) for m in bank.memories(1, store="profile"))
    assert lived == [
        (MAY, "Lives in Porto", JUNE, 1),
        (JUNE, "Lives in Lisbon", JULY, 1),
        (JULY, "Lives in Porto", None, 2),
    ]


def test_a_correction_takes_back_what_was_wrong_and_holds_from_the_same_day(bank):
    tell(bank, PORTO, LearnedMemory(home("Porto"), (Quote(0, PORTO),)))
    tell(bank, LISBON, LearnedMemory(home("Lisbon", JUNE), (Quote(0, LISBON),)), at=JUNE, name="b")
    wrong = profile(bank)["Lives in Lisbon"]
    right = MemoryDraft("profile", "Lives in Braga", said_at=JULY, valid_from=JUNE, attribute="home", speaker="You")
    tell(bank, "No, I said Braga.", LearnedMemory(right, (Quote(0, "Braga"),), replaces=wrong.id), at=JULY, name="c")
    held = profile(bank)
    assert (held["Lives in Lisbon"].retracted_at, held["Lives in Lisbon"].superseded_by) == (
        JULY,
        held["Lives in Braga"].id,
    )
    assert (held["Lives in Porto"].valid_to, held["Lives in Porto"].superseded_by) == (JUNE, held["Lives in Braga"].id)
    assert held["Lives in Braga"].valid_to is None


def test_forgetting_a_correction_brings_back_what_it_corrected(bank):
    test_a_correction_takes_back_what_was_wrong_and_holds_from_the_same_day(bank)
    (correction,) = [s.id for s in bank.sessions(1) if s.external_id == "c"]
    forget.forget_selected(bank, [1], select_session(correction))
    held = profile(bank)
    assert held["Lives in Lisbon"].retracted_at is None
    assert held["Lives in Porto"].superseded_by == held["Lives in Lisbon"].id
    assert held["Lives in Porto"].valid_to == JUNE


def test_what_is_taken_back_is_recalled_no_more_and_what_it_closed_holds_again(bank):
    tell(bank, PORTO, LearnedMemory(home("Porto"), (Quote(0, PORTO),)))
    tell(bank, LISBON, LearnedMemory(home("Lisbon", JUNE), (Quote(0, LISBON),)), at=JUNE, name="b")
    tell(bank, "Forget that.", at=JULY, name="c", taken_back=(profile(bank)["Lives in Lisbon"].id,))
    held = profile(bank)
    assert (held["Lives in Lisbon"].retracted_at, held["Lives in Porto"].valid_to) == (JULY, None)
    again = tell(bank, LISBON, LearnedMemory(home("Lisbon", JUNE), (Quote(0, LISBON),)), at=JUNE, name="b")
    assert (again.memories, again.known_memories) == (0, 1)  # what was taken back is not learned again of the same turn


def test_a_fact_closed_by_its_number_holds_again_when_what_closed_it_is_taken_back(bank):
    tell(bank, "I adore boats.", LearnedMemory(MemoryDraft("world", "Adores boats", said_at=MAY), (Quote(0, "boats"),)))
    (boats,) = bank.memories(1, store="world")
    changed = MemoryDraft("world", "Adores trains", said_at=JUNE)
    tell(bank, "Now it is trains.", LearnedMemory(changed, (Quote(0, "trains"),), closes=boats.id), at=JUNE, name="b")
    trains, closed = bank.memories(1, store="world")
    assert (closed.valid_to, closed.superseded_by, trains.valid_to) == (JUNE, trains.id, None)
    forget.forget_memories(bank, 1, [trains.id])
    assert bank.memory(1, boats.id).valid_to is None


def test_a_statement_closes_a_fact_by_its_number_until_it_is_taken_back(bank):
    tell(bank, "I adore boats.", LearnedMemory(MemoryDraft("world", "Adores boats", said_at=MAY), (Quote(0, "boats"),)))
    (boats,) = bank.memories(1, store="world")
    ended = MemoryDraft("world", "Adores boats", said_at=JUNE)
    no_more = LearnedMemory(ended, (Quote(0, "no more"),), closes=boats.id, ends=True)
    tell(bank, "Boats no more.", no_more, at=JUNE, name="b")
    (closed,) = bank.memories(1, store="world")
    statement = bank.memory(1, closed.superseded_by)
    assert (statement.text, closed.valid_to) == ("Boats no more.", JUNE)
    mark_wrong(bank, 1, statement.id)
    assert bank.memory(1, boats.id).valid_to is None


def test_what_a_fact_closed_by_its_number_stays_closed_when_the_fact_is_told_better(bank):
    stated = [("Adores boats", None, None), ("Adores trains", 1, None), ("Adores steam trains", None, 2)]
    ids = []
    for day, (text, closes, replaces) in enumerate(stated):
        at = MAY + timedelta(days=day)
        closed, replaced = (None if place is None else ids[place - 1] for place in (closes, replaces))
        draft = MemoryDraft("world", text, said_at=at)
        tell(bank, text, LearnedMemory(draft, (Quote(0, text),), replaced, closed), at=at, name=text)
        ids.append(bank.memories(1, store="world")[0].id)
    steam, trains, boats = bank.memories(1, store="world")
    assert (boats.valid_to, boats.superseded_by) == (MAY + timedelta(days=1), steam.id)
    assert (trains.superseded_by, trains.retracted_at, steam.valid_to) == (steam.id, steam.said_at, None)


def test_what_rests_on_a_closed_fact_is_stale(bank):
    because = "I live in Porto, so I take the tram."
    tram = MemoryDraft("world", "The tram is how You get to work", said_at=MAY)
    tell(
        bank,
        because,
        LearnedMemory(home("Porto"), (Quote(0, "I live in Porto"),)),
        LearnedMemory(tram, (Quote(0, because),), depends_on=(0,)),
    )
    (resting,) = bank.memories(1, store="world")
    assert resting.stale_since is None
    tell(bank, LISBON, LearnedMemory(home("Lisbon", JUNE), (Quote(0, LISBON),)), at=JUNE, name="b")
    (resting,) = bank.memories(1, store="world")
    assert resting.stale_since == JUNE


def test_what_was_put_together_of_two_turns_goes_with_either(bank):
    turns = (TurnDraft("You", "user", "It is on Monday."), TurnDraft("You", "user", "No, Tuesday."))
    both = (Quote(0, "It is on", alone=False), Quote(1, "Tuesday", alone=False))
    event = LearnedMemory(MemoryDraft("event", "It is on Tuesday.", said_at=MAY), both)
    bank.remember(1, [SessionDraft(turns, MAY, learned=(event,))])
    (second,) = [m for m in bank.memories(1) if m.text == "No, Tuesday."]
    assert forget.forget_memories(bank, 1, [second.id]).memories == 2
    assert [m.text for m in bank.memories(1)] == ["It is on Monday."]


# --- the queue


def test_an_import_is_due_at_once_and_a_chat_when_it_is_over(bank):
    tell(bank, "One.", name="imported")
    tell(bank, "Two.", name="chat", source="chat")
    now = datetime.now(UTC)
    named = {s.id: s.external_id for s in bank.sessions(1)}
    assert [named[d.id] for d in consolidation.pending_sessions(bank, now)] == ["imported"]
    assert len(consolidation.pending_sessions(bank, now + timedelta(minutes=31))) == 2
    consolidation.close_chats(bank, "another")
    assert len(consolidation.pending_sessions(bank, now)) == 1
    consolidation.close_chats(bank, "chat")
    assert len(consolidation.pending_sessions(bank, now)) == 2


def settled(bank, *learned):
    (session,) = consolidation.pending_sessions(bank, datetime.now(UTC))
    turns = [heard.turn for heard in consolidation.session_turns(bank, session)]
    return consolidation.store_learned(bank, session, turns, learned)


def test_a_session_is_learned_from_once_until_its_turns_change(bank):
    tell(bank, PORTO)
    assert settled(bank, LearnedMemory(home("Porto"), (Quote(0, PORTO),))).memories == 1
    assert consolidation.pending_sessions(bank, datetime.now(UTC)) == []
    bank.remember(1, [SessionDraft((TurnDraft("You", "user", "And more."),), MAY, external_id="a")])
    assert settled(bank, LearnedMemory(home("Porto"), (Quote(0, PORTO),))).known_memories == 1
    forget.forget_memories(bank, 1, [m.id for m in bank.memories(1) if m.text == "And more."])
    assert len(consolidation.pending_sessions(bank, datetime.now(UTC))) == 1


def test_of_two_who_learn_from_a_session_the_second_stores_nothing(bank):
    tell(bank, PORTO)
    (session,) = consolidation.pending_sessions(bank, datetime.now(UTC))
    turns = [heard.turn for heard in consolidation.session_turns(bank, session)]
    learned = [LearnedMemory(home("Porto"), (Quote(0, PORTO),))]
    assert consolidation.store_learned(bank, session, turns, learned) is not None
    assert consolidation.store_learned(bank, session, turns, learned) is None
    tell(bank, "Two.", name="b")
    (other,) = consolidation.pending_sessions(bank, datetime.now(UTC))
    forget.forget_selected(bank, [1], select_session(other.id))
    assert consolidation.store_learned(bank, other, [], []) is None


def test_a_new_summary_takes_the_place_of_the_old(bank):
    def summary(text):
        return LearnedMemory(
            MemoryDraft("event", text, said_at=MAY, attribute="summary"), (Quote(0, PORTO, alone=False),)
        )

    tell(bank, PORTO)
    settled(bank, summary("About Porto."))
    bank.remember(1, [SessionDraft((TurnDraft("You", "user", "And more."),), MAY, external_id="a")])
    settled(bank, summary("About Porto and more."))
    assert [m.text for m in bank.memories(1, store="event")] == ["About Porto and more."]


def test_questions_replies_and_what_was_taken_back_are_no_news(bank):
    turns = (
        TurnDraft("You", "user", PORTO),
        TurnDraft("Ana", "assistant", "You live in Porto [1]", recallable=False),
        TurnDraft("You", "user", LISBON),
    )
    bank.remember(1, [SessionDraft(turns, MAY)])
    (session,) = consolidation.pending_sessions(bank, datetime.now(UTC))
    assert [h.news for h in consolidation.session_turns(bank, session)] == [True, False, True]
    (lisbon,) = [m.id for m in bank.memories(1) if m.text == LISBON]
    tell(bank, "Forget that.", name="b", taken_back=(lisbon,))
    assert [h.news for h in consolidation.session_turns(bank, session)] == [True, False, False]


PLACES = st.sampled_from(["Porto", "Lisbon", "Braga"])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), PLACES), max_size=8, unique_by=lambda told: told[0]), st.randoms())
def test_in_whatever_order_homes_are_told_each_time_has_one(tmp_path_factory, told, draw):
    bank = Bank(tmp_path_factory.mktemp("b") / "bank.db")
    bank.create_persona(PersonaDraft("Ana"))
    draw.shuffle(told)
    for _ in range(2):  # telling all of it again adds nothing
        for day, place in told:
            at, text = MAY + timedelta(days=day), f"I live in {place}."
            tell(bank, text, LearnedMemory(home(place, at), (Quote(0, text),)), at=at, name=str(day))
    held = bank.memories(1, store="profile")
    for day, place in told:
        at = MAY + timedelta(days=day)
        (then,) = [m for m in held if m.valid_from <= at and (m.valid_to is None or m.valid_to > at)]
        assert then.text == f"Lives in {place}"
