"""The forms of a chat model's replies, and the reading that is made of one: its notes, citations and names checked."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from graph.models.json_replies import REASONING, StrictReply
from graph.models.limits import recites
from graph.readers.chain_of_note.prompts import INSTRUCTIONS, REASONS, WHY, PromptContent
from graph.replies.phrases import manner
from graph.state import Citation, Note, Reading, Reason
from graph.understanding.sentences import split
from memory.search.quotes import contains
from memory.search.tokens import terms
from memory.types import Memory

_MARK = re.compile(r"\s?\[(\d+(?:\s*,\s*\d+)*)\]")
_QUOTED = re.compile(r"[“\"]([^“”\"]{3,})[”\"][.,;]?\s*\[(\d+)\]")
_UNKNOWN = re.compile(r"\A\s*\**UNKNOWN:\**\s*([^\n]*)\n?(.*)\Z", re.DOTALL | re.IGNORECASE)

CheckedReading = tuple[Reading, int]
"""A reading, and how many of its citations were dropped."""


class RejectedAnswer(Exception):  # another reader takes over
    """The answer was not used; the message says why."""


class CitationReply(StrictReply):
    """A memory by its number in the prompt, and words of it."""

    memory: int
    quote: str


class NoteReply(CitationReply):
    """The same, and what the words tell."""

    note: str


class NotesReply(StrictReply):
    """The first reply of "con-separate"."""

    notes: list[NoteReply]


class ReadingReply(NotesReply):
    """The only reply of "con"."""

    answer: str
    citations: list[CitationReply]
    reason: Reason | None


def parse_words(reply: str) -> tuple[str, Reason | None]:
    """Parse a reply in words: the answer, and the reason if it abstains."""
    bare = REASONING.sub("", reply).strip()
    match = _UNKNOWN.match(bare)
    if match is None:
        return bare, None
    named = match[1].strip().strip("\"'.").casefold()
    reason: Reason = next((r for r in REASONS if r in named), "found but does not say")
    return match[2].strip(), reason


def checked_notes(replied: Sequence[NoteReply], content: PromptContent) -> tuple[tuple[Note, ...], int]:
    """The notes whose quotes occur in the memory that they name, one a memory, and how many were refused."""
    scores = {hit.memory.id: hit.scores for hit in content.hits}
    kept: dict[int, Note] = {}
    refused = 0
    for note in replied:
        memory = content.memory(note.memory)
        if memory is None or not contains(memory.text, note.quote):
            refused += 1
            continue
        relevance = min(1.0, max(0.0, scores[memory.id].get("fused", 1.0)))
        kept.setdefault(memory.id, Note(memory, note.quote, relevance, says=note.note))
    return tuple(kept.values()), refused


def checked_reading(
    content: PromptContent,
    notes: tuple[Note, ...],
    answer: str,
    reason: Reason | None,
    quotes: Sequence[tuple[int, str]],
) -> CheckedReading:
    """The reading of a reply, its citations checked.

    Raises:
        RejectedAnswer: the answer repeats its instructions.
    """
    if recites(answer, INSTRUCTIONS):
        raise RejectedAnswer("it repeated its instructions")
    if reason is None and answer.strip():
        answer, citations, dropped = cite(answer, quotes, content, notes)
        return Reading(answer, notes, citations), dropped
    reason = reason or "found but does not say"
    spoken = answer.strip() or manner(content.ask.persona.manner).unknown.format(why=WHY[reason])
    # A contradiction of the premise needs its sources; memories that are merely related are none.
    shown = content if reason == "premise contradicted" else replace(content, hits=())
    answer, citations, dropped = cite(spoken, (), shown)
    return Reading(answer, notes, citations, abstained=True, reason=reason), dropped


def whole_sentences(text: str) -> str:
    """A text that was cut off, without the sentence that was not finished; all of it if that is the only one."""
    sentences = split(text)
    return " ".join(sentences[:-1]) if len(sentences) > 1 else f"{text.rstrip()}…"


def cite(
    answer: str, quotes: Iterable[tuple[int, str]], shown: PromptContent, notes: Sequence[Note] = ()
) -> tuple[str, tuple[Citation, ...], int]:
    """Check what an answer cites, in marks such as [2] and in `quotes`, the list of an answer in JSON.

    Returns the answer with marks that refer to the citations, these, and how many were dropped.

    Numbers are those of the prompt (`shown`). The quotes of the notes are for marks without a listed quote.
    """
    noted = {note.memory.id: note.quote for note in notes}
    listed = dict(quotes)
    inline = {int(number): words for words, number in _QUOTED.findall(answer)}
    marked = [int(n) for group in _MARK.findall(answer) for n in group.split(",")]
    cited = list(dict.fromkeys([*marked, *listed]))
    kept: dict[int, Memory] = {}
    for number in cited:
        memory = shown.memory(number)
        claims = [words for words in (listed.get(number), inline.get(number)) if words]
        if memory is not None and all(contains(memory.text, words) for words in claims):
            kept[number] = memory
    places = {number: place for place, number in enumerate(kept, 1)}

    def renumbered(match: re.Match[str]) -> str:
        """The mark with the places of its numbers; empty if it has none."""
        marks = "".join(f"[{places[int(n)]}]" for n in match[1].split(",") if int(n) in places)
        return " " + marks if marks and match[0][0].isspace() else marks

    written = _MARK.sub(renumbered, answer) + "".join(f" [{places[n]}]" for n in kept if n not in marked)
    scores = {hit.memory.id: hit.scores for hit in shown.hits}
    citations = tuple(
        Citation(
            places[n],
            memory,
            listed.get(n) or inline.get(n) or noted.get(memory.id) or _best_sentence(memory, answer),
            scores[memory.id],
        )
        for n, memory in kept.items()
    )
    return written.strip(), citations, len(cited) - len(kept)


def _best_sentence(memory: Memory, answer: str) -> str:
    """The sentence of a memory that shares most terms with the answer."""
    answered = frozenset(terms(answer))
    return max(split(memory.text) or [memory.text], key=lambda s: len(answered & frozenset(terms(s))))
