"""Parse a message into a `Message`: its kind, what it states, what it asks, and about whom and when."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from graph.state import Ask, Message, Services, TraceLine
from graph.understanding import acts
from graph.understanding.aliases import names_by_kind, with_names
from graph.understanding.classifier import Classification, Kind
from graph.understanding.llm_classifier import JudgedStores, judge_stores
from graph.understanding.parts import KNOWN_OF_USER, OUT_OF_REACH, read_parts
from graph.understanding.question import expected, names_only_time, names_something, refers_back, stands_alone
from graph.understanding.requests import parse_person, parse_recap, parse_retraction
from graph.understanding.sentences import split
from graph.understanding.times import stated_time, times_in
from memory.bank.queries.told import known_relations
from memory.search.names import is_about_others, is_about_self, possible_names, to_first_person
from memory.search.scoring import Subject
from memory.search.searcher import View

MAX_SENTENCES = 6
"""Most parts of a message that are classified one by one; the last part is all the rest."""

CONTEXT_TURNS = 5
"""Last turns of the user that are searched with the message."""

DIALOGUE_TURNS = 8
"""Last turns of both speakers that are searched with the message; the encoder reads some 250 tokens."""

CONTEXT_WEIGHT = 1.0
"""Total weight of the preceding dialogue beside a question about the past: "Where does she live?" needs it, but a
change of subject must not be drowned. A message that asks for no memory is about the dialogue, and all its views have
the same weight (He et al. 2025 search with the dialogue as a whole)."""


async def understand(ask: Ask, services: Services) -> tuple[Message, TraceLine]:
    """Parse a message: one call of the encoder and, if a chat model classifies, one call of that."""
    message, question = await asyncio.to_thread(_parse, ask, services)
    judged = await _judge_stores(services, question, message.classes) if ask.stores is None else None
    stores = judged.stores if judged is not None else ask.stores
    if stores is not None:
        message = replace(message, classes=replace(message.classes, stores=stores))
    return message, _trace_line(message.classes, judged)


def _parse(ask: Ask, services: Services) -> tuple[Message, str]:
    """The message by the learned classifier, and its question in its own words."""
    sentences = _sentences(ask.text)
    context, dialogue = _contexts(ask) if services.settings.views else ([], [])
    texts = [ask.text, *context, *sentences]
    names = services.searcher.main_speakers(ask.persona.id, "\n".join(texts), ask.as_of)
    views, voiced = _views(services, [*texts, *dialogue], names)
    people = names_by_kind(known_relations(services.bank, ask.persona.id, ask.as_of))
    own = views[ask.text]
    said = next((turn.text for turn in reversed(ask.dialogue) if turn.role == "user"), "")
    follows_question = bool(said) and acts.said(said).asks
    parts = read_parts(
        [views[text] for text in sentences or [ask.text]],
        services.classifier,
        follows_question=follows_question,
    )
    if parts.small_talk == OUT_OF_REACH and _asks_of_days(ask):
        parts = replace(parts, asking=(own,))
    question = _together(parts.asking) if parts.stating and parts.asking else own
    own_question = question.text
    classes = _classes(question, parts.kind, services, (ask.persona.name, *names))
    if refers_back(own_question):
        # After a statement, only what names nothing ("where are they?"): the reader learned to go on from questions.
        goes_on = refers_back(ask.text) and (follows_question or not names_something(ask.text))
        question = views[context[0]] if context and goes_on else own
    # Searched in the voice of the person it is about, but classified by its own words.
    if question.text not in voiced:
        voiced[question.text] = _together([voiced[part.text] for part in parts.asking])
    full = with_names(question.text, people)
    further = [full] if full not in (question.text, own.text) else []
    rewritten, voiced_further = _views(services, further, names)
    voiced |= voiced_further
    question = rewritten.get(full, question)
    questions = parts.asking if len(parts.asking) > 1 and all(stands_alone(part.text) for part in parts.asking) else ()
    others = (ask.text, *context, *further, *(part.text for part in questions), *dialogue)
    times = times_in(question.text, ask.as_of) if ask.times is None else ask.times
    named = frozenset(possible_names(question.text))
    subject = Subject(tuple(name for name in names if name in named), is_about_self(question.text), times)
    statements = tuple(part.text for part in parts.stating)
    message = Message(
        classes,
        statements,
        question,
        _weighted(question.text, others, voiced, classes),
        subject,
        stated_time(" ".join(statements), ask.as_of),
        parts.small_talk,
        parts.news,
        parts.in_doubt,
        # Of a longer message not every sentence was looked at by itself.
        only_asks=parts.hardly_tell and len(sentences) < MAX_SENTENCES,
        recap=parse_recap(ask.text) or ("about me" if parts.small_talk == KNOWN_OF_USER else None),
        person=parse_person(ask.text),
        questions=questions,
        retracts=parse_retraction(ask.text),
    )
    return message, own_question


def _asks_of_days(ask: Ask) -> bool:
    """Whether a message asks what is on at a time ("what's on tomorrow?"), and not what day it is."""
    times = [time.text for time in times_in(ask.text, ask.as_of)]
    return acts.said(ask.text).asks and names_only_time(ask.text, times) and expected(ask.text) != "time"


def _views(services: Services, texts: Sequence[str], names: Sequence[str]) -> tuple[dict[str, View], dict[str, View]]:
    """The views of texts as they are and, if that is set, in the voice of the people named; both by the texts."""
    in_voice = {text: to_first_person(text, names if services.settings.search.voice else ()) for text in texts}
    wordings = dict.fromkeys([*texts, *in_voice.values()])
    views = {view.text: view for view in services.searcher.views(list(wordings))} if texts else {}
    return {text: views[text] for text in texts}, {text: replace(views[in_voice[text]], text=text) for text in texts}


def _weighted(
    question: str, others: Sequence[str], views: Mapping[str, View], classes: Classification
) -> tuple[View, ...]:
    """The question and, with less weight, the dialogue before it; all with the same weight if it asks for no memory."""
    texts = dict.fromkeys(others)
    if not (classes.is_question and classes.asks_memory):
        return tuple(views[text] for text in texts)
    texts.pop(question, None)
    weight = CONTEXT_WEIGHT / max(1, len(texts))
    return (views[question], *(replace(views[text], weight=weight) for text in texts))


async def _judge_stores(services: Services, question: str, classes: Classification) -> JudgedStores | None:
    """The stores of a question by a chat model, if one classifies; where it gives none, the learned ones stay."""
    engine = services.settings.classifier
    if engine not in ("llm", "llm-few-shot") or not classes.is_question:
        return None
    if services.model is None:
        return JudgedStores(None, "no chat model is set (MEMOIR_MODEL)")
    return await judge_stores(question, services.model, examples=engine == "llm-few-shot")


def _trace_line(classes: Classification, judged: JudgedStores | None) -> TraceLine:
    decided: str = classes.likeliest_kind
    if classes.is_question:
        best = max(classes.stores, key=lambda store: classes.stores[store])
        decided = f"question, most likely about {best}" + (", asking for several" if classes.asks_several else "")
    figures = {str(store): p for store, p in classes.stores.items()}
    figures |= {"several": classes.several, "recall": classes.recall, "state": classes.state}
    if judged is not None:
        by = f"by the learned classifier: {judged.fault}" if judged.fault else "by the chat model"
        decided = f"{decided}, {by}"
        figures |= {"fallback": int(bool(judged.fault)), **judged.reply.cost}
    return TraceLine("classify", decided, figures)


def _sentences(text: str) -> list[str]:
    """The parts of a message of several sentences. None is left out, or its statements would not be remembered."""
    sentences = split(text)
    if len(sentences) < 2:
        return []
    first, rest = sentences[: MAX_SENTENCES - 1], sentences[MAX_SENTENCES - 1 :]
    return [*first, " ".join(rest)] if rest else first


def _contexts(ask: Ask) -> Iterator[list[str]]:
    """The message after the user's last turns, and after those of both speakers, each if there are any.

    If it refers back, the former is the message after the last turn that does not and names something, if any does.
    """
    turns = [t.text for t in ask.dialogue if t.role == "user"]
    naming = (text for text in reversed(turns) if names_something(text) and not refers_back(text))
    asks_back = acts.said(ask.text).asks and refers_back(ask.text)
    of_user = (list(islice(naming, 1)) or turns[-1:]) if asks_back else turns[-CONTEXT_TURNS:]
    for before in (of_user, [t.text for t in ask.dialogue[-DIALOGUE_TURNS:]]):
        yield [" ".join([*before, ask.text])] if before else []


def _together(views: Sequence[View]) -> View:
    """Several sentences as one view, with the direction of the sum of their vectors."""
    total = np.sum([v.vector for v in views], axis=0)
    return View(" ".join(v.text for v in views), total / np.linalg.norm(total))


def _classes(question: View, kind: Mapping[Kind, float], services: Services, known: Sequence[str]) -> Classification:
    """The classes of a question; one about somebody else has no profile store: profiles are about the speakers."""
    classes = services.classifier.classify(question.text, question.vector)
    is_off = services.settings.classifier == "none"
    stores = Classification.uniform().stores if is_off else classes.stores
    others = 1 - stores["profile"]
    if is_about_others(question.text, known) and others > 0:
        stores = {store: p / others for store, p in stores.items()} | {"profile": 0.0}
    return replace(classes, kind=kind, stores=stores)
