"""Take notes without a chat model: what the trained reader finds in the lines that were recalled.

Chain-of-Note (Yu et al. 2023) in its plainest form. Of every line it is asked whether it answers the question, and with
which words; relative dates in it are resolved against the day it was said.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime

from graph.language.patterns import phrasings
from graph.language.people import ADDRESSEE, SPEAKER
from graph.readers.line_reader import Line, LineReader
from graph.replies.second_person import first_person
from graph.state import SUFFICIENT, USER, Note
from graph.understanding.parts import tells
from graph.understanding.question import Question, asks_of_persona
from graph.understanding.sentences import spans, split
from memory.embedding import minilm
from memory.search.tokens import terms
from memory.types import SEMANTIC, SUMMARY, Hit, Memory, Role, Turn

Origins = Mapping[int, Sequence[Turn]]
"""By memory id, the turn that it comes from, and those just before it, the last first."""

LINES = 8
"""Most lines that are read; each costs some 4 ms."""

ALIKE = 0.24
"""Cosine to the question from which a line is quoted that the reader cannot read. By the multilingual encoder some line
of a chat is as near to .84 of the questions that the chat answers, and to .12 of another chat's
(`python -m graph.training.centre`)."""

NOTES = 8
"""Most notes on one question."""

_QUESTION, _ANSWERS = phrasings("question"), phrasings("answers")

PASSAGE = 400
"""Most characters of a passage: the reader sees some hundred tokens of a line."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What notes are taken from: the hits that may be read, best first, and the turns that they come from.

    What `persona`, if named, says of themselves answers what is asked about them.
    """

    hits: Sequence[Hit]
    origins: Origins
    reader: LineReader
    asked_at: datetime
    persona: str = ""


def take_notes(question: Question, evidence: Evidence) -> tuple[Note, ...]:
    """Notes on the hits, one for each memory, the likeliest answer first."""
    if question.only_time:
        return _notes_of_time(evidence)
    # What the persona said tells nothing of the user, unless the user asks for it.
    to_persona = ADDRESSEE.search(question.text) is not None
    told = [hit for hit in evidence.hits if to_persona or not _is_of(hit.memory, evidence.origins, "assistant")]
    if not minilm.reads(question.text):
        return _notes_unread(question, replace(evidence, hits=told[:NOTES]))
    of_persona = bool(evidence.persona) and asks_of_persona(question.text)
    # Its facts alone would do for what they are near to: where it was born for where it lives.
    by_itself = [hit for hit in told if hit.memory.speaker == evidence.persona and hit.memory.store not in SEMANTIC]
    own = by_itself if of_persona else []
    told = _first_lines(own or told)
    lines = [_line(hit.memory, question, evidence.origins) for hit in told]
    # If it asks on from another, that is in its text, and the answer follows.
    to_read = f"{question.text} {question.answered}".strip()
    if own:
        # As the reader knows those of a user: "You: I was born in Trieste."
        lines, to_read = [replace(line, speaker=USER) for line in lines], first_person(to_read)
    of_user_alone = _QUESTION["of_user"].search(question.text) and not _QUESTION["of_others"].search(question.text)
    subjects = question.weights.keys() & frozenset(term for hit in evidence.hits for term in terms(hit.memory.speaker))
    readings = evidence.reader.read(to_read, evidence.asked_at.date(), lines)
    scored: list[tuple[float, Note]] = []
    for hit, line, reading in zip(told, lines, readings, strict=True):
        quote = _sentences_at(line.text, *reading.span)
        of_kin = bool(of_user_alone) and tells_of_kin(quote)
        note = Note(
            hit.memory,
            quote,
            reading.answers,
            of_other=of_kin or _is_of_other(hit.memory, quote, subjects) or (of_persona and not own),
            words=line.text[slice(*reading.span)],
            sure=reading.sure,
            yes=reading.yes,
            by_user=line.speaker == USER and not own,
            by_persona=bool(own),
            scores=hit.scores,
        )
        scored.append((evidence.reader.evidence(reading, hit.scores.get("dense", 0.0)), note))
    scored.sort(key=lambda pair: -pair[0])
    return tuple(note for _, note in scored[:NOTES])


def _first_lines(hits: Sequence[Hit]) -> list[Hit]:
    """The first hits. A fact takes no place beside the line that tells it.

    It is read beside it if only one such holds at a time, or if the line tells several of its kind.
    """
    turns = {hit.memory.turn_ids for hit in hits if hit.memory.store == "dialogue"}
    repeats = [hit for hit in hits if hit.memory.store in SEMANTIC and hit.memory.turn_ids in turns]
    first = [hit for hit in hits if hit not in repeats][:LINES]
    read = {hit.memory.turn_ids for hit in first}
    of_kind = Counter(map(_kind_told, repeats))
    own = (hit for hit in repeats if hit.memory.attribute or of_kind[_kind_told(hit)] > 1)
    return [*first, *(hit for hit in own if hit.memory.turn_ids in read)]


def _kind_told(hit: Hit) -> tuple[object, ...]:
    """The line that tells a fact, and what kind of fact it is."""
    relation = hit.memory.relation
    return hit.memory.turn_ids, relation and (relation.head, relation.name)


def _notes_of_time(evidence: Evidence) -> tuple[Note, ...]:
    """Notes where nothing but a time is asked about: events first, and the assistant's own turns last."""
    # What holds for years did not happen then.
    then = [hit for hit in evidence.hits if hit.memory.store not in SEMANTIC]
    then.sort(key=lambda hit: (hit.memory.store != "event", not is_user(hit.memory, evidence.origins)))
    return tuple(_first_note(hit, evidence.origins) for hit in then[:NOTES])


def _notes_unread(question: Question, evidence: Evidence) -> tuple[Note, ...]:
    """Notes on hits for a question in letters that the reader does not know: each as a whole, in the order of search.

    One answers if it is like the question by meaning or, where the encoder does not know the letters either, by words.
    """
    notes = []
    for hit in evidence.hits:
        memory, scores = hit.memory, hit.scores
        knows_letters = scores.get("meaning", 1.0) > 0  # what was handed in, or another system found, has cosines alone
        is_alike = scores.get("dense", 0.0) >= ALIKE if knows_letters else scores["fused"] > 0
        relevance, by_user = SUFFICIENT if is_alike else 0.0, is_user(memory, evidence.origins)
        notes.append(Note(memory, _passage(memory.text, question), relevance, by_user=by_user, scores=scores))
    return tuple(sorted(notes, key=lambda note: note.relevance == 0.0))


def notes_about(topic: Collection[str], hits: Sequence[Hit], origins: Origins) -> tuple[Note, ...]:
    """Notes on what was told that names any of the terms of a topic, one for each turn, in order of time."""
    told: dict[object, Note] = {}
    for hit in sorted(hits, key=lambda hit: hit.memory.store != "dialogue"):
        memory = hit.memory
        is_told = tells(memory.text) and not _is_of(memory, origins, "assistant")
        if is_told and not set(topic).isdisjoint(terms(memory.text)):
            note = Note(memory, memory.text, SUFFICIENT, by_user=is_user(memory, origins), scores=hit.scores)
            told.setdefault(memory.turn_ids or memory.id, note)
    return tuple(sorted(told.values(), key=lambda note: str(note.memory.said_at or ""))[:NOTES])


def is_user(memory: Memory, origins: Origins) -> bool:
    """Whether a memory is the user's own words, whatever name they go by."""
    return memory.speaker == USER or _is_of(memory, origins, "user")


def _is_of_other(memory: Memory, quote: str, subjects: Set[str]) -> bool:
    """Whether a memory is of a speaker who is not among the subjects, and not about one; they are terms of names."""
    speaker = frozenset(terms(memory.speaker))
    if memory.store != "dialogue" or not subjects or not speaker:
        return False
    if subjects <= speaker:
        # "Your shop looks great", says Jon, tells nothing of Jon's shop.
        return ADDRESSEE.search(quote) is not None and SPEAKER.search(quote) is None
    if not speaker.isdisjoint(subjects):
        return False
    # "Thanks, Mel! My grandma gave it to me" tells nothing of Mel; "Your pottery is lovely" does.
    of_subject = ADDRESSEE.search(quote) is not None or not subjects.isdisjoint(terms(quote))
    return not of_subject or SPEAKER.search(memory.text) is not None


def tells_of_kin(line: str) -> bool:
    """Whether a line tells of somebody around the user and nothing of the user."""
    match = _ANSWERS["of_kin"].match(line)
    return match is not None and SPEAKER.search(line, match.end()) is None


def _is_of(memory: Memory, origins: Origins, role: Role) -> bool:
    return memory.id in origins and origins[memory.id][0].role == role


def _line(memory: Memory, question: Question, origins: Origins) -> Line:
    passage = _passage(memory.text, question)
    is_named = not question.weights.keys().isdisjoint(terms(memory.speaker))
    starts = memory.text.startswith(passage)
    return Line(
        passage,
        USER if is_user(memory, origins) and not is_named else memory.speaker,
        memory.said_at.date() if memory.said_at else None,
        # Two turns: of what a line is about, an assistant's reply says less than what that replies to.
        " ".join(turn.text for turn in reversed(origins.get(memory.id, ())[1:])) if starts else "",
    )


def _first_note(hit: Hit, origins: Origins) -> Note:
    memory = hit.memory
    # A summary is quoted whole.
    sentences = [memory.text] if memory.attribute == SUMMARY else split(memory.text)
    stating = next(filter(tells, sentences), "")
    relevance, by_user = SUFFICIENT if stating else 0.0, is_user(memory, origins)
    return Note(memory, stating or memory.text, relevance, by_user=by_user, scores=hit.scores)


def _passage(text: str, question: Question) -> str:
    """The part of a text that is read: all of it, or the sentences around what shares most with the question."""
    if len(text) <= PASSAGE:
        return text

    def shared(passage: str) -> float:
        own = set(terms(passage))
        return sum(weight for term, weight in question.weights.items() if term in own)

    return max(_passages(text), key=shared)


def _passages(text: str) -> Iterator[str]:
    """The sentences of a text, as many together as `PASSAGE` allows, beginning at each other one."""
    places = spans(text)
    for begin, _ in places[::2]:
        yield text[begin : max([end for _, end in places if begin < end <= begin + PASSAGE] or [begin + PASSAGE])]


def _sentences_at(passage: str, start: int, end: int) -> str:
    """The sentences of a passage that the characters from `start` to `end` are in; all of it if there are none."""
    within = [(a, b) for a, b in spans(passage) if a < end and b > start]
    return passage[within[0][0] : within[-1][1]] if within else passage
