"""The node `read`: the chat model replies; without one, questions are answered and statements acknowledged by rule."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from graph.learning.corrections import revise
from graph.models.calls import Completion, ModelFailed, ModelUnavailable
from graph.models.faults import UnknownModel
from graph.models.json_replies import UnusableReply
from graph.readers import extractive
from graph.readers.chain_of_note import reader as chain_of_note
from graph.readers.chain_of_note.reply_formats import RejectedAnswer
from graph.readers.recaps import recap
from graph.readers.talk.reply import speak
from graph.replies.facts import introduce_self, name_of_user
from graph.replies.phrases import NEWS, SMALL_TALK, acknowledge, confirm, manner, reply
from graph.replies.reminders import remind
from graph.state import (
    CITATION,
    Ask,
    Citation,
    Message,
    ReaderInput,
    ReaderOutput,
    Reading,
    Revision,
    Runtime,
    Services,
    Token,
    TraceLine,
    TurnState,
    drop,
)
from graph.understanding.acts import CRISIS, LOSS, is_marked
from graph.understanding.parts import ABOUT_PERSONA, ABOUT_USER, OUT_OF_REACH, WHO_ARE_YOU
from graph.understanding.question import asks_of_persona, expected, names_something
from graph.understanding.requests import parse_person
from graph.understanding.sentences import capitalise, split
from memory.bank.bank import Bank
from memory.errors import MemoirError
from memory.formatting import format_day, without_folders
from memory.types import Hit

PARAGRAPH_BREAK = "\n\n"
"""Separates the reply to a statement from the answer to a question."""


async def read(state: TurnState, runtime: Runtime) -> TurnState:
    """Let the chat model reply, or answer from notes on the hits, or acknowledge what was stated."""
    ask, message, services, write = state["ask"], state["message"], runtime.context, runtime.stream_writer
    if services.settings.reader == "none":
        return {"reading": Reading(""), "trace": (TraceLine("read", "no reader"),)}
    reader_input = ReaderInput(ask, message, state.get("window", ()), state.get("hits", ()), services)
    hits = reader_input.hits
    revision = await asyncio.to_thread(revise, message, ask, hits, services.bank) if ask.remember else None
    if talks(reader_input):
        try:
            output = await _spoken(reader_input, revision, write)
        except (ModelFailed, UnknownModel) as fault:
            output = await _without_model(reader_input, revision, fault)
            write(Token(output.reading.answer, restart=True))
    else:
        output = await _read(reader_input, revision)
        write(Token(output.reading.answer, restart=True))
    trace = (output.line, *output.more)
    return {"reading": output.reading, "hits": output.hits, "revision": revision, "trace": trace}


def talks(reader_input: ReaderInput) -> bool:
    """Whether the chat model replies in its own words: always, unless a method of reading is set for a question."""
    services, is_question = reader_input.services, reader_input.message.classes.is_question
    is_read = services.settings.method != "auto" and is_question and not reader_input.ask.handed_in
    return uses_chat_model(services) and not is_read


async def _spoken(reader_input: ReaderInput, revision: Revision | None, write: Callable[[Token], None]) -> ReaderOutput:
    """The chat model's reply; what the message corrects is carried out and said beside it, and help in a crisis."""
    output = await speak(reader_input, [memory.id for memory in revision.old] if revision else [], write)
    notices = [confirm(revision, reader_input.ask.persona.manner)] if revision else []
    if reader_input.message.news == CRISIS:
        notices.append(reply(NEWS[CRISIS], reader_input.ask, reader_input.services.bank))
    notice = PARAGRAPH_BREAK.join(filter(None, [*notices, output.reading.notice]))
    return replace(output, reading=replace(output.reading, notice=notice))


async def _without_model(reader_input: ReaderInput, revision: Revision | None, fault: MemoirError) -> ReaderOutput:
    """The reply that is made by rule where the chat model gave nothing; the user is told why."""
    settings = replace(reader_input.services.settings, reader="extractive")
    by_rule = replace(reader_input, services=replace(reader_input.services, model=None, settings=settings))
    return _fallen_back(await _read(by_rule, revision), fault, settings.model, {})


def _fallen_back(output: ReaderOutput, fault: Exception, model: str, figures: Mapping[str, float]) -> ReaderOutput:
    """What was replied by rule; the notice and the trace say why the chat model did not."""
    if isinstance(fault, RejectedAnswer):
        why = f"The chat model's answer was not used: {fault}"
    elif isinstance(fault, UnusableReply):
        why = f"{model} did not reply in the requested form ({fault}), even when asked again"
    else:
        why = capitalise(str(fault))
    why = without_folders(why)
    reading = replace(
        output.reading,
        notice=f"{why}. Memoir answered without the chat model.",
        unreachable=isinstance(fault, (ModelUnavailable, UnknownModel)),
    )
    figures = {**output.line.figures, **figures, "fallback": 1}
    line = replace(output.line, decided=f"without the chat model ({why}): {output.line.decided}", figures=figures)
    return replace(output, reading=reading, line=line)


async def _read(reader_input: ReaderInput, revision: Revision | None) -> ReaderOutput:
    """Carry out a correction, answer a question from notes on the hits, or acknowledge what was stated."""
    ask, message, hits, services = reader_input.ask, reader_input.message, reader_input.hits, reader_input.services
    if revision is not None:
        return _revised(ask, hits, revision)
    kind = None if ask.only_found else message.recap
    recapped = await asyncio.to_thread(recap, kind, ask, services) if kind is not None else None
    # What is small talk has a reply of its own for a bank that knows nothing.
    if recapped is not None and (recapped.citations or kind != "about me"):
        line = TraceLine("read", f"what was told ({kind}), {recapped.outcome}")
        return ReaderOutput(recapped, _unread(hits), line)
    if message.in_doubt and ask.remember:
        return await _in_doubt(reader_input)
    acknowledged = ""
    # After news, small talk may only be asked: "Bo moved in. do you think I should move, too?"
    is_news = message.statements and (not message.small_talk or is_marked(ask.text))
    is_told = is_news and (ask.remember or not message.classes.is_question)
    # A chat model answers in its own words; that the rest was stored is shown beside the message.
    if is_told and not uses_chat_model(services):
        acknowledged = acknowledge(message, ask, services.bank)
    if message.classes.is_question or message.person or _asks_of_life(message):
        output = await _answered_each(reader_input)
        is_one = len(split(ask.text)) == 1
        is_all = message.small_talk == ABOUT_USER or not message.classes.is_question or is_one
        # A chat model's own words stay.
        if message.small_talk and is_all and output.reading.by == "extractive" and not message.person:
            said = await asyncio.to_thread(_small_talk, ask, message, services.bank)
            # Asked who the user is, the reader on lines may take another's name.
            if output.reading.abstained or (message.small_talk == ABOUT_USER and said.citations and is_one):
                reading = replace(output.reading, answer=said.answer, citations=said.citations)
                reading = replace(reading, abstained=False, reason=None) if said.citations else reading
                output = replace(output, reading=reading)
    else:
        output = await asyncio.to_thread(_reminded, reader_input)
    answer = PARAGRAPH_BREAK.join(filter(None, [acknowledged, output.reading.answer]))
    return replace(output, reading=replace(output.reading, answer=answer))


def _asks_of_life(message: Message) -> bool:
    """Whether small talk asks what the persona's card or life may say; "who are you?" has a reply of its own."""
    asked = message.question.text
    is_introduction = message.small_talk == WHO_ARE_YOU and expected(asked) == "person"
    return message.small_talk in ABOUT_PERSONA and asks_of_persona(asked) and not is_introduction


async def _answered_each(reader_input: ReaderInput) -> ReaderOutput:
    """The answers to the questions of a message, one below the other."""
    message = reader_input.message
    if not message.questions or uses_chat_model(reader_input.services):
        return await _answered(reader_input)
    asked = [replace(message, question=view, person=parse_person(view.text)) for view in message.questions]
    outputs = [await _answered(replace(reader_input, message=each)) for each in asked]
    citations: list[Citation] = []
    answers: list[str] = []
    for reading in (output.reading for output in outputs):
        first = len(citations)
        answers.append(CITATION.sub(lambda found: f"[{int(found[1]) + first}]", reading.answer))  # noqa: B023
        citations += [replace(citation, number=citation.number + first) for citation in reading.citations]
    answered = next((output for output in outputs if not output.reading.abstained), outputs[0])
    notes = tuple(note for output in outputs for note in output.reading.notes)
    reading = replace(answered.reading, answer=PARAGRAPH_BREAK.join(answers), citations=tuple(citations), notes=notes)
    return replace(answered, reading=reading)


def _small_talk(ask: Ask, message: Message, bank: Bank) -> Reading:
    """The reply to small talk; who the persona or the user is, it says by the persona's life or the user's name.

    No program knows what is outside, but which day it is.
    """
    asked = message.question.text
    if message.small_talk == OUT_OF_REACH and expected(asked) == "time" and not names_something(asked):
        return Reading(f"It is {ask.as_of:%A}, {format_day(ask.as_of)}, {ask.as_of:%H:%M}.")
    of_somebody = {WHO_ARE_YOU: introduce_self, ABOUT_USER: name_of_user}.get(message.small_talk)
    own = of_somebody(ask, bank) if of_somebody else None
    return own or Reading(reply(SMALL_TALK[message.small_talk], ask, bank))


async def _in_doubt(reader_input: ReaderInput) -> ReaderOutput:
    """Answer what may be a question; if there is no answer, acknowledge it as a statement."""
    output = await _answered(reader_input)
    if not output.reading.abstained:
        return output
    acknowledged = acknowledge(reader_input.message, reader_input.ask, reader_input.services.bank)
    reading = Reading(acknowledged, notice=output.reading.notice, unreachable=output.reading.unreachable)
    line = replace(output.line, decided=f"treated as a statement; as a question: {output.line.decided}")
    return ReaderOutput(reading, _unread(output.hits), line)


def uses_chat_model(services: Services) -> bool:
    """Whether a chat model speaks; else the replies are made by rule."""
    return services.model is not None and services.settings.reader == "auto"


def _revised(ask: Ask, hits: Sequence[Hit], revision: Revision) -> ReaderOutput:
    """Say what a message corrects or takes back, which `persist` carries out."""
    reading = Reading(confirm(revision, ask.persona.manner))
    what = "corrected" if revision.text else "retracted" if revision.retracted else "too many to retract:"
    line = TraceLine("read", f"{what} {', '.join(f'memory {memory.id}' for memory in revision.old)}")
    return ReaderOutput(reading, _unread(hits), line)


def _reminded(reader_input: ReaderInput) -> ReaderOutput:
    """The reply where nothing is asked: one to small talk, the memory that the message brings up, or a greeting.

    Where something was said before, a greeting would be odd.
    """
    ask, message, hits, services = reader_input.ask, reader_input.message, reader_input.hits, reader_input.services
    if message.news in (LOSS, CRISIS) or message.small_talk:
        what = message.small_talk or message.news
        small_talk = _small_talk(ask, message, services.bank) if message.small_talk else Reading("")
        return ReaderOutput(small_talk, _unread(hits), TraceLine("read", f"nothing was asked ({what})"))
    reminder, why = remind(ask, message, reader_input.kept, services.bank, services.classifier)
    line = TraceLine("read", f"nothing was asked ({message.classes.likeliest_kind}); {why}")
    if reminder is not None:
        return ReaderOutput(reminder, _unread(hits, reminder.citations[0].memory.id), line)
    said = acknowledge(message, ask, services.bank) if ask.dialogue else manner(ask.persona.manner).greeting
    return ReaderOutput(Reading("" if message.statements else said), _unread(hits), line)


def _unread(hits: Sequence[Hit], brought_up: int | None = None) -> tuple[Hit, ...]:
    """The hits where nothing is asked: none is read but the memory that was brought up, by its id."""
    return drop(hits, lambda hit: hit.memory.id != brought_up, "unasked", "nothing was asked")


async def _answered(reader_input: ReaderInput) -> ReaderOutput:
    """The answer of the reader that is set; if a chat model fails, of the extractive one, with a notice."""
    services = reader_input.services
    if not uses_chat_model(services):
        return await extractive.read(reader_input)
    message = reader_input.message
    shown = reader_input.ask.with_choices or message.question.text
    message = replace(message, question=replace(message.question, text=shown))
    replies: list[Completion] = []
    try:
        return await chain_of_note.read(replace(reader_input, message=message), replies)
    except (UnusableReply, RejectedAnswer, MemoirError) as failed:
        fault = failed
    figures = {**sum(replies, Completion("")).cost, "unreadable": int(not isinstance(fault, RejectedAnswer))}
    return _fallen_back(await extractive.read(reader_input), fault, services.settings.model, figures)
