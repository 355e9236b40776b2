"""Write the chats in which statements are said, and check what they answer (LongMemEval, section 3.2, appendix A.1).

The model plays user and assistant in turn. Whoever says the statement learns it in the round in which they say it, so
that no other message can give it away, and no session knows of another one.

The checks are in place of the authors' editing: the model answers from sessions and compares answers; it is not told
which sessions are missing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from random import Random
from typing import Any

from eval.making.generation import Writer, leave_out_if
from eval.metrics.answers import normalise
from memory import read_table
from memory.importers.reading.fields import parse_with_format
from memory.search.tokens import content_terms, terms

Turn = dict[str, Any]
"""As in the file: role, content, has_answer."""

ROUNDS = 5
PLACES = (5, 2, 2, 1, 0)
"""How often the statement is said in each round: mostly in the first (figure 9), never in the one that ends it."""

ROLES = {"user": "UserMessage", "assistant": "AssistantMessage"}
"""The prompts of messages that do not say the statement."""

SHARED = 0.5
"""The least share of a statement's terms in the messages that say it: these say "my" or "yesterday" in other words."""

LONGEST = timedelta(days=366)
"""How long before its question a statement may be dated."""

_FRAME = frozenset(terms("user assistant told"))
"""Terms of a statement that nobody says."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of question: the prompt that asks for it, and from how many statements its answer follows.

    `is_dated`: the statements have days of their own. `is_quoted`: the answer is in the words of its statement.
    `is_update`: the second statement replaces the first. `has_premise`: there can be such a question with a false one.
    """

    name: str
    questions: str
    least: int = 1
    most: int = 1
    is_dated: bool = False
    is_quoted: bool = False
    is_update: bool = False
    has_premise: bool = True
    task: str = "UserTask"
    telling: Mapping[str, str] = field(default_factory=lambda: {"user": "Mention"})
    """The prompts, by role, of the round in which the statement is said; only those who are asked so know it."""

    @property
    def speaker(self) -> str:
        """Who says the statement."""
        return "assistant" if "assistant" in self.telling else "user"


KINDS = tuple(Kind(name, **fields) for name, fields in read_table(__file__, "kinds.toml").items())


@dataclass(slots=True)
class Evidence:
    """A statement, when it is said, and the turns of its session, once they are written."""

    statement: str
    said_at: datetime
    turns: list[Turn] = field(default_factory=list)


@dataclass(slots=True)
class Draft:
    """A question, its answer, and the evidence as far as it is made."""

    kind: Kind
    question: str
    answer: str
    asked_at: datetime
    evidence: list[Evidence] = field(default_factory=list)

    @property
    def prompt_data(self) -> dict[str, object]:
        """The question as it stands in prompts."""
        return {"question": self.question, "answer": self.answer}

    def as_record(self, question_id: str, session_ids: Sequence[str]) -> dict[str, Any]:
        """The question as in the official files; its history is its evidence, in the order of time."""
        history = sorted(zip(self.evidence, session_ids, strict=True), key=lambda each: each[0].said_at)
        return {
            "question_id": question_id,
            **self._question(),
            "answer_session_ids": list(session_ids),
            "haystack_dates": [_official(each.said_at) for each, _ in history],
            "haystack_session_ids": [name for _, name in history],
            "haystack_sessions": [each.turns for each, _ in history],
        }

    def for_review(self, reason: str) -> dict[str, Any]:
        """What a person needs to see why it was left out, and to mend it."""
        return {
            "left_out": reason,
            **self._question(),
            "statements": [{"date": _official(each.said_at), "statement": each.statement} for each in self.evidence],
            "sessions": [each.turns for each in self.evidence if each.turns],
        }

    def _question(self) -> dict[str, Any]:
        return {"question_type": self.kind.name, **self.prompt_data, "question_date": _official(self.asked_at)}


def weekday_and_date(moment: datetime | date) -> str:
    """A day as it stands in prompts."""
    return f"{moment:%A, %Y-%m-%d}"


def _official(moment: datetime) -> str:
    return f"{moment:%Y/%m/%d (%a) %H:%M}"


def draw_moment(day: date, draw: Random) -> datetime:
    """A moment of a day when people are awake."""
    return datetime.combine(day, time(draw.randint(7, 22), draw.randrange(60)))


def read_days(texts: Sequence[str], today: date) -> list[date]:
    """The days that a model gave.

    Raises `LeftOut` if one cannot be read, is not in the year before today, or comes twice.
    """
    days = [day for text in texts if (day := parse_day(text))]
    leave_out_if(len(days) < len(texts), "a day that cannot be read")
    is_before = all(today - LONGEST <= day < today for day in days)
    leave_out_if(not is_before, "a day that is not in the year before the question")
    leave_out_if(len(set(days)) < len(days), "two statements of one day")
    return days


def parse_day(text: str) -> date | None:
    """A day as YYYY-MM-DD; None if it is written in another way, or there is no such day."""
    moment = parse_with_format(text, "%Y-%m-%d")
    return moment.date() if moment and str(moment.date()) == text.strip() else None


def write_session(draft: Draft, evidence: Evidence, draw: Random, writer: Writer) -> None:
    """Write the turns of a chat; those that say the statement are marked with `has_answer`.

    These have to have the words of the statement, and of an answer that quotes it. A chat that fails a check
    (`LeftOut`) is kept in the draft, too, so that a person sees it.
    """
    kind, told = draft.kind, {"fact": evidence.statement, "today": weekday_and_date(evidence.said_at)}
    told["task"] = writer.ask(kind.task, **told).task
    (place,) = draw.choices(range(ROUNDS), PLACES)
    turns = evidence.turns = _chat(kind, told, place, writer)
    lines = [f"{number} {line}" for number, line in enumerate(_lines(turns), start=1)]
    found = {number - 1 for number in writer.ask("Places", fact=evidence.statement, chat=lines).messages}
    is_said = 2 * place + (kind.speaker == "assistant") in found
    leave_out_if(not is_said, "its statement is not found in its session")
    for number, turn in enumerate(turns):
        turn["has_answer"] = number in found and turn["role"] == kind.speaker
    marked = " ".join(turn["content"] for turn in turns if turn["has_answer"])
    wanted = set(content_terms(evidence.statement)) - _FRAME
    is_said = len(wanted & set(terms(marked))) >= SHARED * len(wanted)
    leave_out_if(not is_said, "its session does not say its statement")
    leave_out_if(kind.is_quoted and not contains(marked, draft.answer), "its session does not say the answer")
    writer.score("SessionScore", "session below the threshold", **told, chat=_lines(turns))


def _chat(kind: Kind, told: dict[str, str], place: int, writer: Writer) -> list[Turn]:
    """The turns of a chat; the statement is said in the round at `place`."""
    turns, said = list[Turn](), set[str]()
    for number in range(ROUNDS):
        for role, prompt in (ROLES | dict(kind.telling) if number == place else ROLES).items():
            data: dict[str, object] = {"today": told["today"]}
            if role == "user":
                data |= {"task": told["task"], "messages_left": ROUNDS - 1 - number}
            if prompt != ROLES[role]:
                data["fact"] = told["fact"]
            message = writer.ask(prompt, **data, chat=_lines(turns)).message
            leave_out_if(not normalise(message), "an empty message")
            leave_out_if(normalise(message) in said, "a message that repeats another one")
            said.add(normalise(message))
            turns.append({"role": role, "content": message, "has_answer": False})
    return turns


def _lines(turns: Iterable[Turn]) -> list[str]:
    """A chat as it stands in prompts."""
    return [f"{turn['role']}: {turn['content']}" for turn in turns]


def contains(text: str, answer: str) -> bool:
    """Whether a text has all terms of an answer."""
    return set(content_terms(answer)) <= set(terms(text))


def check_answer(draft: Draft, writer: Writer) -> None:
    """Refuse a question whose answer does not follow from its sessions, or follows without one of them.

    Of an update, the newer session is enough, and the older one has to give another answer.
    """
    follows = _is_right(draft, read(draft, draft.evidence, writer), writer)
    leave_out_if(not follows, "the answer does not follow from its sessions")
    for missing in draft.evidence[-1:] if draft.kind.is_update else draft.evidence:
        answer = read(draft, [each for each in draft.evidence if each is not missing], writer)
        leave_out_if(_is_right(draft, answer, writer), "answered by a part of its evidence")
        says_nothing = draft.kind.is_update and answer is None
        leave_out_if(says_nothing, "its first session does not say what is updated")


def read(draft: Draft, evidence: Sequence[Evidence], writer: Writer) -> str | None:
    """The model's answer from some of the sessions, in the order of time; None if they do not say it."""
    chats = [
        {"date": weekday_and_date(each.said_at), "chat": _lines(each.turns)}
        for each in sorted(evidence, key=lambda each: each.said_at)
    ]
    reading = writer.ask("Reading", chats=chats, today=weekday_and_date(draft.asked_at), question=draft.question)
    return reading.answer if reading.known else None


def _is_right(draft: Draft, answer: str | None, writer: Writer) -> bool:
    told = {"question": draft.question, "right_answer": draft.answer, "reply": answer}
    return answer is not None and bool(writer.ask("Agreement", **told).right)
