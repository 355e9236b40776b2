"""The reader without a chat model: answer by quoting the hits, or abstain."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

from graph.language.patterns import phrasings
from graph.readers import composing, recaps
from graph.readers.counting import intervals, several
from graph.readers.counting.intervals import Comparison
from graph.readers.line_reader import Line
from graph.readers.notes import Evidence, notes_about, take_notes
from graph.readers.stating import answers, asks_of_past
from graph.replies.card import fill_names, is_program
from graph.replies.facts import answer_about_person
from graph.replies.phrases import manner
from graph.replies.second_person import first_person
from graph.state import SUFFICIENT, USER, Ask, Note, ReaderInput, ReaderOutput, Reading, Services, TraceLine
from graph.understanding import question
from graph.understanding.question import Question
from graph.understanding.sentences import split
from graph.understanding.times import is_of_time, may_tell_of_time, moment_of
from memory.bank.queries.told import known_period, name_told
from memory.dates.expressions import TimeExpression
from memory.embedding import minilm
from memory.types import SEMANTIC, TimeSpan

_FORMS = phrasings("question")

MOST_AGES = 3
"""Most ages that are given as possible."""

MOST = 40
"""Most sentences of a card that are read; each costs some 4 ms."""

QUOTED = "My description says: “{}”"


async def read(reader_input: ReaderInput) -> ReaderOutput:
    """Answer by quoting the hits, or abstain in the persona's manner."""
    ask, message, services = reader_input.ask, reader_input.message, reader_input.services
    asked, of_card = message.question.text, None
    reading = replace(await asyncio.to_thread(answer, reader_input), by="extractive")
    if reading.abstained and not ask.only_found and question.asks_of_persona(asked):
        of_card = await asyncio.to_thread(_read_card, asked, ask, services)
    if of_card is not None:
        reading = replace(of_card, notes=reading.notes)
    elif reading.abstained:
        spoken, said = manner(ask.persona.manner), reading.answer
        said = f"{spoken.unsure}\n{said}" if reading.citations else spoken.unknown.format(why=said)
        reading = replace(reading, answer=said)
    if message.person is not None and not ask.only_found:
        reading = await asyncio.to_thread(answer_about_person, message.person, ask, services, reading)
    best = max((note.relevance for note in reading.notes), default=0.0)
    line = TraceLine("read", f"{len(reading.notes)} notes, {reading.outcome}", {"best note": round(best, 3)})
    return ReaderOutput(reading, reader_input.hits, line)


def _read_card(wording: str, ask: Ask, services: Services) -> Reading | None:
    """The sentence of the persona's card that answers or, unsure, the nearest; None if none is near."""
    name = name_told(services.bank, ask.persona.id, ask.as_of)
    sentences = split(fill_names(ask.persona.description, ask.persona, name))[:MOST]
    if not sentences:
        return None
    read = services.line_reader.read(first_person(wording), None, [Line(text, USER) for text in sentences])
    found, text = max(zip(read, sentences, strict=True), key=lambda pair: pair[0].logit)
    if found.answers >= SUFFICIENT:
        return Reading(QUOTED.format(text), by="extractive")
    if found.answers < composing.SHOWN:
        return None
    unsure = f"{manner(ask.persona.manner).unsure}\n{QUOTED.format(text)}"
    return Reading(unsure, abstained=True, reason="found but does not say", by="extractive")


def answer(reader_input: ReaderInput) -> Reading:
    """The answer to a message's question from the hits."""
    ask, window, services = reader_input.ask, reader_input.window, reader_input.services
    own, parsed = _parse(reader_input)
    may_be_planned = recaps.asks_of_plans(reader_input.message.question.text, window, ask)
    is_ahead = all(time.span.start > ask.as_of for time in window)
    planned = recaps.of_times(window, ask, services) if may_be_planned and (parsed.only_time or is_ahead) else []
    told = (hit.memory for hit in reader_input.kept)
    if parsed.only_time and may_be_planned and (reading := recaps.whats_on(planned, told, window, ask, services)):
        return reading
    hits = reader_input.kept
    origins = services.bank.origins(ask.persona.id, [hit.memory.id for hit in hits])
    reader = services.yes_or_no_reader if parsed.expects == "yes or no" else services.line_reader
    evidence = Evidence(hits, origins, reader, ask.as_of)
    topic = _FORMS["of_topic"].search(own.replace("’", "'"))
    if topic is not None and (notes := notes_about(question.terms_of(topic["topic"]), hits, origins)):
        return composing.quote_all(parsed, notes, ask.as_of)
    compared = intervals.parse(reader_input.message.question.text)
    if compared and (reading := _compare(compared, evidence, reader_input)):
        return reading
    if parsed.only_time and not any(time.relation == "before" for time in window):
        of_then = [hit for hit in hits if any(may_tell_of_time(hit.memory, time.span) for time in window)]
        evidence = replace(evidence, hits=of_then)
    # "Did you write down when the twins are due?" asks a program for what it was told.
    if reader_input.message.small_talk or not is_program(ask.persona):
        evidence = replace(evidence, persona=ask.persona.name)
    notes = take_notes(parsed, evidence)
    if counted := _reckon(own, parsed, reader_input, evidence, notes):
        return counted
    asks_several = reader_input.message.classes.asks_several
    is_of_one = parsed.expects in ("yes or no", "time", "ago")
    notes = _put_current_first(notes, parsed, evidence, reader_input) if not asks_of_past(own) else notes
    # A turn of June may be about February: a time that some hit is of, or one to come, is not outside the known time.
    is_of_then = any(moment_of(hit.memory) and is_of_time(hit.memory, time.span) for time in window for hit in hits)
    known = None if is_of_then or is_ahead else _known_until(known_period(services.bank, ask.persona.id), ask.as_of)
    reading = composing.compose(parsed, notes, window=window, known=known, asked_at=ask.as_of)
    if reading.abstained and planned and not parsed.unknown_names:
        listed_plans = recaps.list_plans(planned, ask)
        reading = replace(listed_plans, notes=reading.notes, abstained=True, reason=reading.reason)
    if not minilm.reads(own) or (is_of_one and not asks_several):
        return reading
    return _several(asks_several, parsed, evidence, notes, reading) or reading


def _parse(reader_input: ReaderInput) -> tuple[str, Question]:
    """The question in its own words, and parsed.

    "And when was that?" is about the question before it, but its own words say what it expects, and are read first.
    """
    ask, asked = reader_input.ask, reader_input.message.question.text
    parsed = _parsed(asked, reader_input, [time.text for time in reader_input.window])
    own = ask.text if asked.endswith(ask.text) else asked
    if own == asked:
        return own, parsed
    before = asked.removesuffix(own).strip()
    answered = question.answer_to(before, ask.dialogue)
    return own, replace(parsed, expects=question.expected(own), text=f"{own} {before}", answered=answered)


def _parsed(text: str, reader_input: ReaderInput, times: Sequence[str] = ()) -> Question:
    ask, searcher = reader_input.ask, reader_input.services.searcher
    total, frequency = searcher.document_frequencies(ask.persona.id, question.terms_of(text), ask.as_of)
    return question.parse(text, total, frequency, times)


def _several(
    asks_several: bool, parsed: Question, evidence: Evidence, notes: Sequence[Note], reading: Reading
) -> Reading | None:
    """The list that is asked for, or the facts of one kind that answer, instead of the one `reading`."""
    if not asks_several:
        return several.list_notes(parsed, facts) if (facts := several.facts_alike(notes)) else None
    # Each line that names one of them counts, although none says how many.
    which, counted = re.subn(r"\bhow many\b", "which", parsed.text, flags=re.IGNORECASE)
    if reading.reason not in (None, "found but does not say") or (counted and several.tells_number(notes)):
        return None
    notes = take_notes(replace(parsed, text=which), evidence) if counted else notes
    return several.list_notes(parsed, notes, counted=bool(counted))


def _put_current_first(
    notes: Sequence[Note], parsed: Question, evidence: Evidence, reader_input: ReaderInput
) -> tuple[Note, ...]:
    """The notes; if what the best one told is over, or was edited since, the fact that replaced it comes first."""
    if not notes:
        return ()
    ask = reader_input.ask
    told = reader_input.services.bank.memories_from_same_turns(ask.persona.id, notes[0].memory.id)
    line = next(hit for hit in evidence.hits if hit.memory.id == notes[0].memory.id)
    versions = {m.superseded_by for m in told if m.retracted_at is not None and m.retracted_at <= ask.as_of}
    edited = [m for m in told if m.id in versions and m.store in SEMANTIC and m.retracted_at is None]
    if answers(notes[0]) and edited and notes[0].memory not in edited:
        lines = [replace(line, memory=memory) for memory in edited]
        latest = [note for note in take_notes(parsed, replace(evidence, hits=lines)) if answers(note)]
        ids = {note.memory.id for note in latest}
        notes = (*latest, *(note for note in notes if note.memory.id not in ids))
    ended = {m.attribute for m in told if m.attribute and m.valid_to is not None and m.valid_to <= ask.as_of}
    holds = [note for note in notes if note.memory.attribute in ended and note.memory.valid_to is None]
    return (*holds, *(note for note in notes if note not in holds))


def _compare(compared: Comparison, evidence: Evidence, reader_input: ReaderInput) -> Reading | None:
    """The answer to a question about two things and the time between them, from notes on each, if there is one."""
    questions = [_parsed(f"When was it: {side}?", reader_input) for side in compared.sides]
    return composing.compare(compared, [(each, take_notes(each, evidence)) for each in questions], evidence.asked_at)


def _reckon(
    own: str, parsed: Question, reader_input: ReaderInput, evidence: Evidence, notes: Sequence[Note]
) -> Reading | None:
    """The sum, age or duration that is asked for, reckoned from the notes; None if it is not asked for or not known."""
    if several.asks_total(own):
        if each := several.split_items(several.without_total(own)):
            return several.add_up_items([take_notes(replace(parsed, text=text), evidence) for text in each])
        return several.add_up(take_notes(replace(parsed, text=several.without_total(parsed.text)), evidence))
    # What was told at another time is what they are counted from.
    telling = (note for note in notes if note.relevance >= SUFFICIENT and not note.of_other)
    told = max(telling, key=lambda note: note.relevance, default=None)
    if told is None or told.memory.said_at is None:
        return None
    counted, told_on = None, told.memory.said_at.date()
    if intervals.ASKS_AGE.search(own):
        counted = _age(told, told_on, evidence.asked_at, reader_input.window)
    elif intervals.ASKS_LASTING.search(own):
        counted = intervals.duration_by_now(own, told.words, told_on, evidence.asked_at.date())
    return composing.derive(f"{counted}.", parsed, told, evidence.asked_at) if counted else None


def _age(told: Note, told_on: date, asked_at: datetime, window: Sequence[TimeExpression]) -> str | None:
    """The age on the day asked about, from a note that tells one; None if it tells none, or still holds."""
    # "12 December" is a birthday, and no age.
    age = None if any(told.words in time.text for time in told.dates) else intervals.age_in(told.words)
    if age is None or len(window) > 1 or not all(time.sure for time in window):
        return None
    span = window[0].span if window else TimeSpan(asked_at, asked_at + timedelta(days=1))
    days = span.start.date(), (span.end - timedelta(microseconds=1)).date()
    # "he's 11. ann turns 2 in may" tells the birthday of another.
    own = next((part for part in told.quote.split(". ") if told.words.rstrip(".") in part), told.quote)
    dates = [time for time in told.dates if time.text in own]
    named = dates[0].span.start.date() if len(dates) == 1 and dates[0].sure else None
    ages = intervals.ages_on(days, age, own, told_on, named)
    if not ages or len(ages) > MOST_AGES or (not window and age in ages):
        return None
    return " or ".join(map(str, ages))


def _known_until(known: TimeSpan | None, moment: datetime) -> TimeSpan | None:
    """The part of the known time up to a moment: an answer must not reveal how far the rest reaches."""
    if known is None or known.start > moment:
        return None
    return TimeSpan(known.start, min(known.end, moment + timedelta(microseconds=1)))
