"""Learn from a session by rules: facts in plain forms, dated events, feelings, and a summary.

All texts are in the words that were said. Sentences that ask, suppose, quote or report are ignored.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from itertools import pairwise

from graph.language.patterns import by_word, load, phrasings
from graph.learning import fact_reader
from graph.learning.facts import stated_facts
from graph.learning.summary import TermWeights, summary
from graph.readers.agenda import plan_at
from graph.state import CITATION
from graph.understanding import acts
from graph.understanding.parts import tells
from graph.understanding.question import proper_names
from graph.understanding.sentences import split
from graph.understanding.times import stated_time, times_in
from memory.bank.learning_queue import SessionTurn
from memory.bank.queries.listing import stands_alone
from memory.dates.expressions import TimeExpression
from memory.embedding import minilm
from memory.search.tokens import content
from memory.types import LearnedMemory, MemoryDraft, Quote, Turn, TurnDraft

GIST = 3
"""Sentences of a summary; a session of fewer than twice as many gets none."""

NEAR = 3
"""Sentences before one about "she" in which she may be named."""

LEAST_WORDS = 4
"""Fewest words of a sentence in a summary."""

LEAST_OF_FEELING = 5
"""Fewest words of a sentence that tells a feeling and its cause; "I'm excited!" tells no cause."""

_EMOTIONS = by_word(load("feelings.toml")["feelings"])
_FORMS, _FEELINGS = phrasings("statements"), phrasings("feelings")
_QUOTED = re.compile(r"“[^“”]{0,2000}”|\"[^\"]{0,2000}\"|«[^«»]{0,2000}»")
_REPORTED = re.compile(
    r"\b(?:you|he|she|they|we|who|[A-Z]\w+)(?:'d|'ve| had| have| once| also| just| always)? "
    r"(?:said|says|told|tells|wrote|writes|mentioned|asked|claimed|thinks?|thought)\b"
)


def learn(turns: Sequence[SessionTurn]) -> tuple[LearnedMemory, ...]:
    """Learn from the turns of a session; the places in the quotes are those in `turns`."""
    present = frozenset(each.turn.speaker for each in turns)
    told = [(place, each.turn, each.turn.text) for place, each in enumerate(turns) if each.news]
    learned, stated = learn_from_texts(told, present)
    return (*learned, *_summary(turns, stated, learned))


def learn_from_texts(
    told: Sequence[tuple[int, Turn | TurnDraft, str]], present: Collection[str]
) -> tuple[list[LearnedMemory], list[tuple[int, str]]]:
    """Learn from texts of turns, given with these and their places; also the sentences that tell something, placed.

    Of an assistant's turn only what it says about itself is learned.
    """
    own = [[*_own(text)] for _, _, text in told]
    acted = iter(acts.recognise([sentence for sentences in own for sentence in sentences]))
    learned, stated = list[LearnedMemory](), list[tuple[int, str]]()
    found = fact_reader.read([text for *_, text in told])
    for (place, turn, text), sentences, facts in zip(told, own, found, strict=True):
        telling = [sentence for sentence in sentences if next(acted).tells]
        stated += [(place, sentence) for sentence in telling]
        if turn.said_at is None:
            continue
        for fact in stated_facts(text, facts, turn.speaker, turn.said_at, place, present):
            words = fact.quotes[0].words
            if tells(words) and not any(map(_is_quoted, split(words))):
                learned.append(fact)
        if turn.role != "assistant":
            for sentence in telling:
                learned += events(sentence, turn.text, turn.speaker, turn.said_at, place)
    return learned, stated


def _own(text: str) -> Iterator[str]:
    """The sentences in the speaker's own words that report nobody else's."""
    return (sentence for sentence in split(text) if not (_is_quoted(sentence) or _REPORTED.search(sentence)))


def _is_quoted(sentence: str) -> bool:
    """Whether a sentence is, or has, somebody else's words."""
    return sentence.startswith(">") or any(each.search(sentence) for each in (CITATION, _QUOTED))


def events(sentence: str, text: str, speaker: str, said_at: datetime, place: int) -> Iterator[LearnedMemory]:
    """The event that a sentence of a text tells, if it has a time or a feeling; one for each of several times."""
    if _FORMS["supposes_event"].search(sentence):
        return
    clauses = _dated_clauses(sentence, said_at) or _plans(sentence, said_at)
    parts: Iterable[tuple[str, TimeExpression | None]] = clauses or [(sentence, stated_time(sentence, said_at))]
    for part, when in parts:
        felt = emotion(part)
        told, quote = (part, part) if clauses else _understandable(part, text)
        if told and (when or felt):
            event = MemoryDraft("event", told, said_at=said_at, emotion=felt, scene=scene(part), speaker=speaker)
            dated = replace(event, event=when.span, event_text=when.text) if when else event
            yield LearnedMemory(dated, (Quote(place, quote),))


def _dated_clauses(sentence: str, said_at: datetime) -> Sequence[tuple[str, TimeExpression | None]]:
    """The clauses of a sentence that names several times, each with its own; none if one tells nothing alone."""
    times = [time for time in times_in(sentence, said_at) if time.sure and time.relation == "in"]
    starts, ends = [0], list[int]()
    for before, after in pairwise(times):
        joints = list(_FORMS["joins"].finditer(sentence, before.end, after.start))
        if not joints or before.span == after.span:
            return []
        time_is_first = _FORMS["before_time"].fullmatch(sentence, joints[-1].end(), after.start)
        joint = joints[-1 if time_is_first else 0]
        ends.append(joint.start())
        starts.append(joint.end())
    clauses = [sentence[start:end] for start, end in zip(starts, [*ends, len(sentence)], strict=True)]
    parts = list(zip(clauses, times, strict=True)) if len(times) > 1 else []
    # "Mon, tue and thu I work" tells nothing of Monday alone.
    alone = all(stands_alone(part, whole_message=True) and content(part.replace(t.text, " ")) for part, t in parts)
    return parts if alone else []


def _plans(sentence: str, said_at: datetime) -> list[tuple[str, TimeExpression | None]]:
    """What is on at each day ahead that a sentence names beside other times, in its words with those for the day."""
    times, parts = times_in(sentence, said_at), list[tuple[str, TimeExpression | None]]()
    is_read = len(times) > 1 and minilm.reads(sentence)
    for time in times if is_read else ():
        if time.sure and time.relation == "in" and time.span.start > said_at:
            first, last = plan_at(sentence, time.text, said_at.date(), said_at.date())
            start, end = min(first, time.start), max(last, time.end)
            if last and not any(start < other.end and other.start < end for other in times if other != time):
                parts.append((sentence[start:end], time))
    return parts


def emotion(sentence: str) -> str:
    """The emotion that the speaker feels or felt; empty if they name none: "I was furious", not "a furious storm"."""
    plain = sentence.replace("’", "'")
    if len(plain.split()) < LEAST_OF_FEELING or _FEELINGS["courteous"].search(plain):
        return ""
    match = _FEELINGS["feels"].search(plain) or _FEELINGS["feels_first"].match(plain)
    return _EMOTIONS[match["word"].casefold()] if match else ""


def scene(sentence: str) -> str:
    """The kind of place or occasion of a sentence; empty if it names none."""
    match = _FEELINGS["scene"].search(sentence.replace("’", "'"))
    return match["scene"].casefold() if match else ""


_sentences = lru_cache(maxsize=1)(split)  # of one text, for each of its sentences


def _understandable(sentence: str, text: str) -> tuple[str, str]:
    """A sentence as it is understood without the rest of its text, and the words that say it.

    One about "she" needs the sentence shortly before it that names somebody. If none does, both are empty.
    """
    if not _FORMS["of_somebody"].match(sentence):
        return sentence, sentence
    sentences = _sentences(text)
    here = sentences.index(sentence)
    for place in range(here - 1, max(here - 1 - NEAR, -1), -1):
        before = sentences[place]
        if _FORMS["somebody"].search(before) or proper_names(f"- {before}"):  # "my mum", or a name
            return f"{before} {sentence}", " ".join(sentences[place : here + 1])
    return "", ""


def _summary(
    turns: Sequence[SessionTurn], stated: Sequence[tuple[int, str]], learned: Sequence[LearnedMemory]
) -> Iterator[LearnedMemory]:
    """A summary of the most central of the sentences stated, each with the place of its turn.

    It depends on the facts that its sentences state: when one of them ends, the summary is stale.
    """
    first = {sentence: place for place, sentence in reversed(stated) if len(sentence.split()) >= LEAST_WORDS}
    candidates = sorted(((place, sentence) for sentence, place in first.items()), key=lambda pair: pair[0])
    times = [each.turn.said_at for each in turns if each.turn.said_at is not None]
    sentences = [sentence for _, sentence in candidates]
    weights = TermWeights.of(sentences) if len(candidates) >= 2 * GIST and times else None
    if weights is None:
        return
    chosen = [candidates[n] for n in weights.nearest(sentences, GIST)]
    quotes = tuple(Quote(place, sentence, alone=False) for place, sentence in chosen)
    text = " ".join(f"{turns[place].turn.speaker}: {sentence}" for place, sentence in chosen)
    facts = ((n, item) for n, item in enumerate(learned) if not item.ends and item.memory.store != "event")
    stated_by = ((n, q) for n, item in facts for q in item.quotes)
    bases = (n for n, q in stated_by if any(q.turn == place and sentence in q.words for place, sentence in chosen))
    yield summary(text, sentences, weights, times, quotes, tuple(bases))
