"""Check what a chat model says before anybody sees it.

Small models recite their prompt, take another's name for their own, repeat what the user said, and make up memories.
Large ones do so seldom. The checks compare words and need no model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from graph.models.json_replies import REASONING
from graph.models.limits import without_loop
from graph.replies.conversation import INSTRUCTION, Talk, memory_line
from graph.replies.phrases import NEWS, SMALL_TALK
from graph.understanding.aliases import is_kind
from graph.understanding.parts import SMALL_TALK_WORDS
from graph.understanding.sentences import split
from graph.understanding.times import times_in
from memory.search.tokens import FUNCTION_WORDS, terms, words
from memory.types import Memory

RUN = 5
"""Words in a row that a reply shares with its instruction only if it recites it."""

ECHO = 0.6
"""Share of a reply's runs of three words from which it repeats the user's message."""

SUPPORTED, CLAIMED = 0.5, 0.6
"""Share of the telling words of an answer, and of a claim nobody asked for, that must be in its source. A paraphrase
keeps about half of them."""

_LABEL = re.compile(
    r"^\W{0,20}(?:system|user|human|assistant|memories|question|notes|intervals|just now|scenario|traits|manner"
    r"|description)\W{0,2}:|<\|\w+\|>|</?s>|<(?:start|end)_of_turn>|\[/?INST\]|\bUNKNOWN:|(?-i:\bMemories:)"
    r"|\byou(?: a|['’])re talking with\b|\"the user\""
    r"|\byou are \""
    r"|\"[^\"]{1,80}\" on \d+ \w+ \d{4}:",
    re.IGNORECASE | re.MULTILINE,
)
"""Labels of the prompt's parts, a line of its memories, and marks of chat templates."""

_OWN_NAME = re.compile(r"(?i:\b(?:my name is|my name['’]s|i am called|i['’]m called|call me))\s+([A-Z][^\n,;!?]*)")
_I_AM = re.compile(r"(?i:\b(?:i am|i['’]m|this is))\s+([A-Z][\w-]*)")

_RECALLS = re.compile(
    r"\b(?:you|u)(?:['’]ve|['’]d| have| had)?(?: (?:just|once|also|recently|already))? "
    r"(?:told|said|mention\w*|wrote|shared)\b"
    r"|\bi(?: (?:still|do|also))? (?:remember|recall)(?:ed)?\b|\blast time\b"
    r"|\b(?:remember|recall) (?:when|how|that|your)\b|\[\d",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:you|u|we)(?:['’]ve|['’]d| have| had)?(?: (?:just|once|also|recently|really|already))? "
    r"(?:(?!\w*eed\b)\w{2,}ed|went|were|had|got|bought|met|made|took|saw|ate|came|left|lost|won|did|been|fed)\b",
    re.IGNORECASE,
)
"""What tells the user something about their past. (A question such as "Have you been there?" tells nothing.)"""

_MARK = re.compile(r"\s?\[[\d,\s]*\]")
_OF_USER = re.compile(r"\b(?:you|your|u|ur|we|us)\b", re.IGNORECASE)
_ADVICE = re.compile(r"\b(?:should|could|would|might|may|can|must|try|if|let['’]?s|maybe|perhaps)\b", re.IGNORECASE)
_YOUR = re.compile(r"\byour (\w+)(?: (\w+))?", re.IGNORECASE)

_NAME = re.compile(r"(?<![.!?…:\"“”'’\])]\s)(?<=[^\S\n])(?!I\b)[A-ZÀ-Þ][\w-]*")
"""Names within a sentence. Its first word has a capital anyway."""
_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")

MENTION = 2
"""Telling words that a sentence shares with a memory from which it brings it up, even if it claims nothing. One alone
is chance. Of 80 replies that people wrote to bring up one memory (MADial-Bench, development portion), 61 get their
citation with this rule and 50 without."""

ENGLISH, LONG = 0.25, 3
"""Share of function words of a text in English, and the most words of one that is too short to tell."""


SOCIAL_WORDS = SMALL_TALK_WORDS | {
    word
    for intent in (*SMALL_TALK.values(), *NEWS.values())
    for texts in intent.replies.values()
    for text in texts
    for word in words(text)
}
"""Words of small talk and of our own replies to it: "I'm glad you had a nice day" claims nothing with them."""


MONTHS_AND_NUMBERS = frozenset(
    terms(
        "january february march april may june july august september october november december monday tuesday "
        "wednesday thursday friday saturday sunday one two three four five six seven eight nine ten eleven twelve "
        "year month week day ago"
    )
)
"""Words that an answer may have computed from its sources."""


def recites(text: str, instruction: str) -> bool:
    """Whether a reply repeats its instruction or the labels of its prompt."""
    return bool(_LABEL.search(text)) or not _runs(text, RUN).isdisjoint(_instruction_runs(instruction))


@lru_cache(maxsize=16)
def _instruction_runs(instruction: str) -> frozenset[tuple[str, ...]]:
    return _runs(instruction, RUN)


def _runs(text: str, length: int) -> frozenset[tuple[str, ...]]:
    found = words(text)
    return frozenset(tuple(found[n : n + length]) for n in range(len(found) - length + 1))


def takes_name(text: str, own: str, others: Iterable[str]) -> bool:
    """Whether the speaker of a text gives a name that is not its own, or says to be one of the others."""
    mine = set(words(own))
    known = {part for name in others for part in words(name)} - mine
    given = {words(name)[0] for name in _OWN_NAME.findall(text)}
    return bool(given - mine) or any(word in known for name in _I_AM.findall(text) for word in words(name))


def echoes(text: str, message: str) -> bool:
    """Whether a reply is mostly what the user has just said."""
    runs = _runs(text, 3)
    if not runs:
        return bool(words(text)) and len(words(text)) > 1 and words(text) == words(message)
    return len(runs & _runs(message, 3)) / len(runs) >= ECHO


def is_unfinished(text: str) -> bool:
    """Whether a text announces something that does not follow ("The answer is: [1]")."""
    return _MARK.sub("", text).rstrip(" .…").endswith(":")


def claims(sentence: str) -> bool:
    """Whether a sentence tells the user, in English, something about their past or the people around them."""
    if _RECALLS.search(sentence):
        return True
    of_people = any(is_kind(noun) for nouns in _YOUR.findall(sentence) for noun in nouns)
    return not sentence.endswith("?") and (of_people or bool(_PAST.search(sentence)))


def telling_terms(text: str) -> frozenset[str]:
    """The terms of a text that say what it is about: those that are no small talk."""
    return frozenset(terms(" ".join(word for word in words(text) if word not in SOCIAL_WORDS)))


def foreign_names(text: str, sources: Iterable[str]) -> frozenset[str]:
    """The names in an English text that are in none of its sources. (Other languages write more than names large.)"""
    spoken = words(text)
    if len(spoken) > LONG and sum(word in FUNCTION_WORDS for word in spoken) < ENGLISH * len(spoken):
        return frozenset()
    return _missing(_NAME, text, sources)


def foreign_figures(text: str, sources: Iterable[str]) -> frozenset[str]:
    """The numbers in a text that are in none of its sources."""
    return _missing(_FIGURE, text, sources)


def _missing(pattern: re.Pattern[str], text: str, sources: Iterable[str]) -> frozenset[str]:
    known = {word for source in sources for word in words(source)}
    named = (part for match in pattern.findall(text) for part in words(match))
    return frozenset(word for word in named if word not in known)


def best_source(text: str, sources: Sequence[str], known: str = "", least: float = SUPPORTED) -> int | None:
    """The place of the source that best supports a text; None if none has `least` of its telling words.

    What is `known` needs no support.
    """
    told = telling_terms(text) - frozenset(terms(known))
    if not told:
        return None
    shares = [len(told & frozenset(terms(source))) / len(told) for source in sources]
    best = max(range(len(shares)), key=lambda n: shares[n], default=None)
    return best if best is not None and shares[best] >= least else None


def may_rest_on(answer: str, source: str, question: str) -> bool:
    """Whether an answer has a telling word of its source, or none but those of its question, times and numbers."""
    told = telling_terms(_FIGURE.sub(" ", answer)) - frozenset(terms(question)) - MONTHS_AND_NUMBERS
    return not told or not told.isdisjoint(terms(source))


def shared_terms(text: str, source: str, known: str) -> int:
    """The number of telling words that a text shares with a source, without those that are `known`."""
    return len((telling_terms(text) - frozenset(terms(known))) & frozenset(terms(source)))


def _without_times(text: str, as_of: datetime) -> str:
    """The text without its words of time: a memory says "5 July", and a reply "last summer"."""
    for time in times_in(text, as_of):
        text = text.replace(time.text, " ")
    return text


@dataclass(slots=True)
class CheckedReply:
    """A reply as it streams: its sentences, each checked before it is passed on with `say`.

    `text` is what was said, `dropped` says why sentences were left out, `cited` is the memory that was brought up.
    """

    talk: Talk
    say: Callable[[str], None]
    text: str = ""
    dropped: list[str] = field(default_factory=list)
    cited: Memory | None = None
    _pending: str = ""

    def feed(self, piece: str) -> None:
        """Take the next piece, and pass on the sentences that it ends; reasoning before the reply is left out."""
        self._pending += piece
        if self._pending.lstrip().startswith("<think>"):
            if "</think>" not in self._pending:
                return
            self._pending = REASONING.sub("", self._pending).lstrip()
        *sentences, rest = split(self._pending) or [""]
        if sentences:
            self._pending = rest + (" " if self._pending[-1:].isspace() else "")
            for sentence in sentences:
                self._take(sentence)

    def end(self, *, cut: bool) -> None:
        """Pass on what is pending; a sentence that was cut off only if nothing else was said."""
        rest = REASONING.sub("", self._pending).strip()
        self._pending = ""
        if rest and not (cut and self.text):
            self._take((without_loop(rest) or rest) + ("…" if cut else ""))

    def _take(self, sentence: str) -> None:
        fault = self._fault(sentence)
        if fault:
            self.dropped.append(fault)
            return
        checked = self._with_citation(sentence)
        if checked is None:
            self.dropped.append("a claim about the user without a source")
            return
        shown = (" " if self.text else "") + checked
        self.say(shown)
        self.text += shown

    def _fault(self, sentence: str) -> str:
        """What is wrong with a sentence; empty if nothing is."""
        ask = self.talk.ask
        if recites(sentence, INSTRUCTION):
            return "recites its prompt"
        if takes_name(sentence, ask.persona.name, [self.talk.user, *(m.speaker for m in self.talk.memories)]):
            return "takes another's name"
        if echoes(sentence, ask.text):
            return "repeats the user"
        if is_unfinished(sentence):
            return "announces what does not follow"
        if not words(_MARK.sub("", sentence)):
            return "says nothing"
        bare = _MARK.sub("", sentence).casefold().strip()
        # "Hello!" may be said again in a chat, but not in one reply.
        earlier = [turn.text for turn in ask.dialogue if turn.role == "assistant"] if len(words(bare)) >= LONG else []
        before = {each.casefold().strip() for text in (self.text, *earlier) for each in split(_MARK.sub("", text))}
        return "repeats itself" if bare in before else ""

    def _with_citation(self, sentence: str) -> str | None:
        """The sentence with the mark of the memory that it brings up; None for a claim that no memory supports."""
        bare = _MARK.sub("", sentence).strip()
        ask, memories = self.talk.ask, self.talk.memories
        # What the persona said itself supports nothing, unless it cited a memory.
        said = [turn.text for turn in ask.dialogue if turn.role == "user" or _MARK.search(turn.text)]
        in_chat = " ".join([ask.text, *said, self.talk.user])
        lines = [memory_line(number, memory, self.talk) for number, memory in enumerate(memories, 1)]
        told = _without_times(bare, ask.as_of)
        is_claim = claims(sentence)
        place = best_source(told, lines, in_chat, CLAIMED if is_claim else SUPPORTED)
        known = [in_chat, ask.persona.name, ask.persona.description, self.talk.today, *lines]
        foreign = foreign_names(bare, known) or foreign_figures(bare, known)
        if not is_claim:
            # "You are 40" and "You love Karl" claim something, too; "You should see Rome" does not.
            if foreign and _OF_USER.search(bare) and not _ADVICE.search(bare) and not bare.endswith("?"):
                return None
            if place is None or shared_terms(told, lines[place], in_chat) < MENTION:
                return bare
        elif place is None and telling_terms(told) - telling_terms(in_chat):
            return None
        place = best_source(told, lines) if place is None else place
        sources = [in_chat, self.talk.today, *(lines[place : place + 1] if place is not None else [])]
        if foreign_names(bare, sources) or foreign_figures(bare, sources):
            return None if is_claim else bare
        if place is None or (self.cited is not None and self.cited != memories[place]):
            return bare
        mark = "" if self.cited is not None else " [1]"
        self.cited = memories[place]
        return f"{bare[:-1].rstrip()}{mark}{bare[-1]}" if mark and bare[-1:] in ".!?" else f"{bare}{mark}"
