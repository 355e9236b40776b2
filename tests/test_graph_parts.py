"""Messages typed in a hurry are split into statements, questions, small talk and news."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from graph.assistant import Assistant
from graph.nodes.classify import classify
from graph.replies import phrases
from graph.state import Ask
from graph.training.acts import messages
from graph.training.recognisers import sentences
from graph.understanding import acts
from graph.understanding.classifier import Recogniser
from graph.understanding.parts import tells
from memory.dates.expressions import find_times
from memory.types import PersonaDraft, TurnDraft

QUESTIONS = """whats my name
where do i live
when's ana coming
how many cats do i have
which school did my sister go to
who called me yesterday
did my sister call
is the car fixed yet
what time is the dentist
btw what did i say about the trip
any idea where i left my keys
was it friday or saturday
remind me what the vet said
in which city did i study
so what did the doctor say
can you tell me when my exam is
i forgot what my flat number is
do i have any allergies
whose birthday is next
why did i quit
does Ben like fish
who taught me piano
did priya like the film
has nora found her keys
I sold the canoe?""".splitlines()

STATEMENTS = """guess who got the job
when i got home the cat was gone
my sister called
mom is visiting on friday
started at the bakery on monday
have been feeling off all week
cant wait for friday
wonder if itll rain at the wedding
my grandma passed away this morning
my name is anna
its my birthday tomorrow
remind me to call ben
what i like about her is that she listens
where i work its always cold
dont forget i have the exam on the 3rd
will be in paris next week
was at the dentist today
ben and i are moving in together
didnt sleep at all
who knew it would be so hard""".splitlines()


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_asks(text):
    assert acts.said(text).asks


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_tells(text):
    assert acts.said(text).tells


@pytest.mark.parametrize("text", ["hi", "hi!", "Hallo!!", "hola", "good morning x", "heyyy"])
def test_a_greeting_is_no_news_however_loud(text):
    assert (acts.said(text).act, acts.said(text).tells) == ("greeting", False)


@pytest.mark.parametrize("text", ["Have Ben and I agreed on a price", "are Ana and Tom coming on friday"])
def test_an_auxiliary_before_two_names_asks(text):
    assert acts.said(text).asks


@pytest.mark.parametrize(
    "text", ["what a morning, ben called me from the boat", "wonder what mum will say to that", "guess who rang"]
)
def test_an_exclamation_is_met_as_something_told(chat, text):
    message, answer = chat(text)
    assert message.statements == (text,)
    assert not answer.reading.abstained


@pytest.fixture
def chat(services):
    """Says one message to a persona of a manner, as of noon, and gives the parsed message and the reply."""
    assistant = Assistant(services)

    def say(text, manner="plain", remember=True):
        persona = services.bank.create_persona(PersonaDraft("Otto", manner=manner))
        ask = Ask(persona, text, datetime(2026, 5, 4, 12, tzinfo=UTC), "chat", remember=remember)
        message = asyncio.run(classify({"ask": ask}, SimpleNamespace(context=services)))["message"]
        return message, assistant.ask(ask)

    return say


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_is_remembered_word_for_word(chat, services, text):
    _, answer = chat(text)
    persona = services.bank.personas()[-1]
    assert text in [memory.text for memory in services.bank.memories(persona.id, store="dialogue")]
    assert not answer.reading.abstained


@pytest.mark.parametrize(
    ("text", "intent"), [("thx!", "thanks"), ("who are you", "who_are_you"), ("tell me a joke", "joke")]
)
def test_small_talk_gets_a_reply_of_its_intent(chat, text, intent):
    message, answer = chat(text, "warm")
    assert (message.small_talk, message.statements) == (intent, ())
    variants = phrases.SMALL_TALK[intent]["warm"]
    assert any(answer.reading.answer.startswith(variant.split("{")[0]) for variant in variants)


def test_hard_news_gets_sympathy_before_anything_else(chat):
    message, answer = chat("my grandma passed away this morning", "playful")
    assert message.news == "loss"
    assert answer.reading.answer.startswith(tuple(phrases.NEWS["loss"]["playful"]))
    assert "book" not in answer.reading.answer


@pytest.mark.parametrize(
    ("text", "news"),
    [
        ("i got the job!!", "good"),
        ("my brother tom got engaged", "good"),
        ("rough day at work", "hard"),
        ("my landlord put the rent up again ugh", "hard"),
        ("i dont drink coffee", ""),
        ("i dont eat meat anymore", ""),
        ("my daughter emma is 7", ""),
        ("the final is on saturday", ""),
    ],
)
def test_news_gets_a_reaction_and_a_plain_fact_none(chat, text, news):
    message, answer = chat(text, "plain")
    assert message.news == news
    kinds = [phrases.NEWS[news]] if news else phrases.NEWS.values()
    reactions = tuple(text for kind in kinds for text in kind["plain"])
    assert answer.reading.answer.startswith(reactions) is bool(news)


def test_a_fragment_without_an_answer_is_remembered(chat, services):
    message, answer = chat("dentist friday")
    assert "dentist friday" in message.statements
    assert not answer.reading.abstained
    assert services.bank.counts(services.bank.personas()[-1].id)["dialogue"] == 1


@pytest.mark.parametrize("table", [phrases.SMALL_TALK, phrases.NEWS], ids=["small talk", "news"])
def test_every_intent_has_replies_in_every_manner_and_its_placeholders_are_known(table):
    known = dict.fromkeys(("name", "user", "part_of_day", "known"), "x")
    for replies in table.values():
        assert set(replies) == {"plain", "warm", "playful", "formal"}
        for variant in (text for variants in replies.values() for text in variants):
            assert variant.format(**known)


@pytest.mark.quality
def test_most_messages_that_were_held_out_are_recognised():
    held_out = messages(held_out=True)
    found = dict(zip(held_out, acts.recognise(list(held_out)), strict=True))
    for kinds, share in ((phrases.SMALL_TALK, 0.65), (phrases.NEWS, 0.5)):
        right = [found[text].act == act for text, act in held_out.items() if act in kinds]
        assert sum(right) >= share * len(right), (list(kinds), sum(right), len(right))
    for act in ("tells", "asks"):
        wrong = [text for text, kind in held_out.items() if kind == act and not getattr(found[text], act)]
        assert len(wrong) <= 0.05 * sum(kind == act for kind in held_out.values()), (act, wrong)


@pytest.mark.quality
def test_most_that_always_matters_is_told_from_the_rest(embedder):
    held_out, recogniser = sentences(held_out=True), Recogniser.load("matters", embedder.model)
    pairs = zip(held_out, embedder.encode(list(held_out)), strict=True)
    likely = {text: recogniser.probability(text, vector) > 0.5 for text, vector in pairs}
    right = {kind: [likely[t] == kind for t, told in held_out.items() if told == kind] for kind in (True, False)}
    assert sum(right[True]) >= 0.85 * len(right[True])
    assert sum(right[False]) >= 0.9 * len(right[False])


def test_for_a_model_without_weights_nothing_is_known_to_matter(embedder):
    assert Recogniser.load("matters", embedder.model) is not None
    assert Recogniser.load("matters", "some/other-model") is None


def test_a_reply_is_not_repeated_while_there_are_others(services):
    persona = services.bank.create_persona(PersonaDraft("Otto", manner="plain"))
    ask = Ask(persona, "thanks", datetime(2026, 5, 4, 12, tzinfo=UTC), "chat")
    said = []
    for _ in range(3):
        dialogue = tuple(TurnDraft("Otto", "assistant", text) for text in said)
        said.append(phrases.reply(phrases.SMALL_TALK["thanks"], replace(ask, dialogue=dialogue), services.bank))
    assert len(set(said)) == 3


@pytest.mark.parametrize(
    "text", ["thanks otto", "hellooo", "hi Otto!"], ids=["the persona's name", "a stretched word", "with a mark"]
)
def test_small_talk_with_the_personas_name_or_a_stretched_word_states_nothing(chat, text):
    assert chat(text)[0].statements == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("My boss Dana quit, what should I do?", True),
        ("I'm allergic to nuts, ok?", True),
        ("Ana called. Where did I put my keys?", True),
        ("Did Biscuit ever swim in the lake at Hallen?", False),
        ("so where did i put my keys", False),
        ("and her job?", False),
    ],
)
def test_what_only_asks_or_greets_tells_nothing(text, told):
    assert tells(text) is told


@pytest.mark.parametrize("manner", ["plain", "warm", "playful", "formal"])
def test_a_crisis_gets_a_serious_reply_in_every_manner(chat, manner):
    _, answer = chat("i want to kill myself", manner)
    assert answer.reading.answer in phrases.NEWS["crisis"][manner]


def test_thanks_before_a_question_do_not_replace_its_answer(chat):
    _, answer = chat("Thanks! Where did I park the car?")
    assert answer.reading.abstained
    assert not answer.reading.answer.startswith(tuple(phrases.SMALL_TALK["thanks"]["plain"]))


def test_a_feeling_is_one_without_its_subject_too(chat):
    assert chat("feeling a bit low today tbh, work is a lot")[0].news == "hard"


@pytest.mark.parametrize("text", ["do i smoke", "did i drink last night", "have i met anna"])
def test_a_question_about_ones_own_doings_is_no_small_talk(chat, text):
    message, answer = chat(text)
    assert message.small_talk == ""
    assert answer.reading.abstained


FELT = {
    "gutted, didn't get the promotion": "hard",
    "so chuffed about the new bike we found": "good",
    "i think i'm coming down with something": "hard",
    "ive got a horrible cold": "hard",
    "been sick since sunday": "hard",
    "my cat pepper is sick ugh": "hard",
    "our son's really poorly again": "hard",
    "i'm sick of this bus route": "hard",
    "i was ill in march, all good now": "good",
    "I was so excited but they cancelled the trip": "hard",
    "proud as a peacock is a saying": "",
    "the cold tap is loose again": "",
}


def test_a_feeling_or_an_illness_gets_the_reaction_of_its_kind(chat):
    found = {text: chat(text)[0].news for text in FELT}
    assert sum(found[text] == news for text, news in FELT.items()) >= 2 * len(FELT) / 3, found


@pytest.mark.parametrize("text", ["she is" + " only" * 60 + " here on friday", "ok " * 6_000 + "?", "." * 20_000])
def test_no_form_or_tense_takes_long_to_read(text):
    assert acts.said(text).act
    assert find_times(text, datetime(2026, 5, 4, 12, tzinfo=UTC)) is not None


def test_the_day_is_known_though_nothing_else_outside_is(marlow):
    assert marlow.say("What day is it today?").reading.answer.startswith(f"It is {marlow.now:%A}, ")
    assert not marlow.say("What is the weather today?").reading.answer.startswith("It is")
