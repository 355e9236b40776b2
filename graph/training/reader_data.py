"""Examples to train the reader on: a question, a line, and the words of the line that answer, if any.

Of our own chats (`assets/models/reader_pairs.jsonl`, `plain_questions.jsonl`), and plans with what was told after them.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

import numpy as np

from graph.readers.line_reader import YES_OR_NO, Line
from graph.understanding.classifier import read_rows
from graph.understanding.question import expected
from memory.embedding.embedder import Embedder

SAYS = {"no": 0, "yes": 1}
"""What a line may say to a question that asks for that, and the label of it."""

_OPPOSITE = {"yes": "no", "no": "yes"}

OUTDATED = "outdated"
"""The kind of a pair whose line answers with a value that another line has replaced: it answers, but worse."""

NEAREST, NEGATIVES = 8, 2
"""So many other lines of the chat, of the nearest in meaning, are taken as lines that do not answer."""

BEFORE = 2
"""Lines that stand before one, at most."""

PLAIN, OF_SEVERAL_LINES = "plain_questions.jsonl", "questions_of_several_lines.jsonl"

HELD_OUT_EVERY = 10
"""Every tenth chat is held out."""

OF_OTHERS = 4
"""Lines that ended other plans, beside those told after a plan."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question asked on a day, a line, and the characters (start, end) of its words that answer.

    `says` is "yes" or "no" if the question asks for that. An outdated line is only worse than the right one. `holds`
    says of a plan in the place of the question whether the line leaves it as it is.
    """

    question: str
    asked_on: date | None
    line: Line
    answer: tuple[int, int] | None
    says: str = ""
    outdated: bool = False
    holds: bool | None = None


Chat = dict[str, Any]
"""A row of `reader_pairs.jsonl`."""


def load_chats() -> tuple[list[Chat], list[Chat]]:
    """The chats to train on, and those held out."""
    chats = read_rows("reader_pairs.jsonl")
    return [chat for n, chat in enumerate(chats) if n % HELD_OUT_EVERY], chats[::HELD_OUT_EVERY]


def lines_of(chat: Chat) -> dict[int, Line]:
    """The lines of a chat by number, each of a speaker's with the two before it on the same day."""
    lines: dict[int, Line] = {}
    said: list[Line] = []
    for row in chat["lines"]:
        line = Line(row["text"], row["speaker"], date.fromisoformat(row["said"]))
        if line.speaker:
            said = [earlier for earlier in said if earlier.said_on == line.said_on][-BEFORE:]
            line = replace(line, before=" ".join(earlier.text for earlier in said))
        lines[row["n"]] = line
        said.append(line)
    return lines


def _lines_to_learn_from(chat: Chat) -> dict[int, Line]:
    """The lines of a chat, half of them with those of another day before them: in most chats a day has few lines."""
    chance, lines, said = random.Random(chat["lines"][0]["text"]), lines_of(chat), list[str]()
    for n, line in lines.items():
        if line.speaker and not line.before and chance.random() < 0.5:
            lines[n] = replace(line, before=" ".join(said[-chance.randint(1, BEFORE) :]))
        said.append(line.text)
    return lines


def of_chat(chat: Chat, embedder: Embedder) -> list[list[Example]]:
    """The pairs of a chat as examples, those of one question together.

    Near lines of the chat that no pair names are further ones without answer.
    """
    lines, asked_on = _lines_to_learn_from(chat), date.fromisoformat(chat["as_of"])
    pairs: dict[str, list[Any]] = defaultdict(list)
    for pair in chat["pairs"]:
        pairs[pair["q"]].append(pair)
    groups = [[_example(pair, lines[pair["line"]], asked_on) for pair in named] for named in pairs.values()]
    # A question without an answer may have one in a line that no pair names: it gets no other lines.
    taken = [
        {pair["line"] for pair in named} if any(pair["answer"] is not None for pair in named) else lines.keys()
        for named in pairs.values()
    ]
    others = _near_lines(list(pairs), taken, lines, asked_on, embedder)
    return [group + near for group, near in zip(groups, others, strict=True)]


def _near_lines(
    questions: Sequence[str], taken: Sequence[Set[int]], lines: Mapping[int, Line], asked_on: date, embedder: Embedder
) -> Iterator[list[Example]]:
    """For each question some lines but those taken, as examples without answer: the nearest, and one just after."""
    numbers = list(lines)
    near = embedder.encode(questions) @ embedder.encode([line.text for line in lines.values()]).T
    for question, named, similarity in zip(questions, taken, near, strict=True):
        chance = random.Random(question)
        others = [numbers[k] for k in np.argsort(-similarity) if numbers[k] not in named][:NEAREST]
        chosen = chance.sample(others, min(NEGATIVES, len(others)))
        # What stands before a line may hold the answer; the line itself does not answer by that.
        after = [n for n in lines.keys() - named if n - 1 in named and lines[n].before]
        if after and chosen:
            chosen[-1] = chance.choice(sorted(after))
        yield [Example(question, asked_on, lines[n], None) for n in dict.fromkeys(chosen)]


def questions_with_lines(*files: str) -> dict[str, list[Any]]:
    """The questions of files that name their lines, by the id of their chat."""
    questions: dict[str, list[Any]] = defaultdict(list)
    for asked in (row for file in files for row in read_rows(file)):
        questions[asked["chat"]].append(asked)
    return questions


def plain_of(chat: Chat, questions: Sequence[Mapping[str, Any]], embedder: Embedder) -> list[list[Example]]:
    """The plain questions about a chat as examples, those of one question together.

    Each line of evidence answers, with its words from the first that are marked to the last; what contradicts a false
    premise does not. Near lines of the chat that a question does not name are further ones without answer.
    """
    if not questions:
        return []
    lines, asked_on = _lines_to_learn_from(chat), date.fromisoformat(chat["as_of"])
    texts = [_as_read(asked) for asked in questions]
    taken = [{line["n"] for line in asked["lines"]} for asked in questions]
    others = _near_lines(texts, taken, lines, asked_on, embedder)
    return [
        [_marked(asked, text, row, lines[row["n"]], asked_on) for row in asked["lines"] if row["role"] != "bridge"]
        + near
        for asked, text, near in zip(questions, texts, others, strict=True)
    ]


def _as_read(asked: Mapping[str, Any]) -> str:
    """A question as the reader is asked it: before the one that it asks on from, and the answer to that."""
    return " ".join([asked["q"], *(asked["before"][part] for part in "qa")] if "before" in asked else [asked["q"]])


def _marked(asked: Mapping[str, Any], question: str, row: Mapping[str, Any], line: Line, asked_on: date) -> Example:
    """A line that a plain question names, as an example."""
    if asked["kind"] == "premise" or row["role"] != "evidence":
        return Example(question, asked_on, line, None, outdated=row["role"] == OUTDATED and asked["kind"] != "premise")
    places = [(line.text.index(words), words) for words in row["spans"]]
    span = min(start for start, _ in places), max(start + len(words) for start, words in places)
    is_alone = len([other for other in asked["lines"] if other["role"] == "evidence"]) == 1
    return Example(question, asked_on, line, span, asked["kind"] if is_alone and asked["kind"] in SAYS else "")


def typed_otherwise(group: Sequence[Example], chance: random.Random) -> list[Example]:
    """The examples of a question as somebody else types them: half the questions, and a quarter of the lines.

    What is typed with care is typed in haste instead, and the other way round. A line changes only its capitals.
    """
    question = group[0].question
    if chance.random() < 0.5:
        question = _otherwise(question).rstrip("? ") + ("?" if _in_haste(question) else "")
    return [replace(each, question=question, line=_line_otherwise(each.line, chance)) for each in group]


def _line_otherwise(line: Line, chance: random.Random) -> Line:
    otherwise = replace(line, text=_otherwise(line.text), before=_otherwise(line.before))
    # The answer is where it was, but for letters that are two in lower case.
    return otherwise if chance.random() < 0.25 and len(otherwise.text) == len(line.text) else line


def _otherwise(text: str) -> str:
    return _I.sub("I", text[:1].upper() + text[1:]) if _in_haste(text) else text.lower()


def _in_haste(text: str) -> bool:
    return text[:1].islower() or _I.search(text) is not None


_I = re.compile(r"\bi\b(?!\.)")


def yes_or_no_of(chat: Chat, questions: Sequence[Mapping[str, Any]]) -> Iterator[Example]:
    """The questions that ask yes or no, each with a line that says it; what was so before says the opposite."""
    lines, asked_on = lines_of(chat), date.fromisoformat(chat["as_of"])
    for asked in questions:
        if asked["kind"] in SAYS:
            text = _as_read(asked)
            of_role = {
                role: [row["n"] for row in asked["lines"] if row["role"] == role] for role in ("evidence", OUTDATED)
            }
            if len(of_role["evidence"]) == 1:
                yield Example(text, asked_on, lines[of_role["evidence"][0]], None, asked["kind"])
            for n in of_role[OUTDATED]:
                yield Example(text, asked_on, lines[n], None, _OPPOSITE[asked["kind"]])
    of_pairs = {pair["q"]: pair["says"] for pair in chat["pairs"] if pair.get("says") and pair["kind"] != OUTDATED}
    for pair in chat["pairs"]:
        if pair["answer"] is not None and (says := of_pairs.get(pair["q"])):
            said = _OPPOSITE[says] if pair["kind"] == OUTDATED else says
            yield Example(pair["q"], asked_on, lines[pair["line"]], None, said)


def is_for(reader: str, question: str) -> bool:
    """Whether a reader is for a question: the one of yes or no for those that ask for that."""
    return reader != YES_OR_NO or expected(question) == "yes or no"


def plans(*, held_out: bool) -> list[list[Example]]:
    """Plans, each in the place of a question, with the lines told after it; every tenth plan is held out.

    What ended other plans leaves it as it is.
    """
    later: dict[str, list[Example]] = defaultdict(list)
    for n, row in enumerate(read_rows("plans.jsonl")):
        chance = random.Random(n)
        said_on = date(2020, 1, 1) + timedelta(days=chance.randrange(3650))
        asked_on, line = said_on + timedelta(days=chance.randrange(30)), Line(row["later"], "You", said_on)
        later[row["plan"]].append(Example(row["plan"], asked_on, line, None, holds=row["holds"]))
    groups = [lines for n, lines in enumerate(later.values()) if (n % HELD_OUT_EVERY == 0) == held_out]
    ending = [example.line for lines in groups for example in lines if not example.holds]
    for number, lines in enumerate(groups):
        own = [example.line for example in lines]
        for line in random.Random(number).sample([line for line in ending if line not in own], OF_OTHERS):
            lines.append(replace(lines[0], line=line, holds=True))
    return groups


def _example(pair: Mapping[str, Any], line: Line, asked_on: date) -> Example:
    answer = pair["answer"]
    start = line.text.find(answer) if answer is not None else 0
    span = None if answer is None else (start, start + len(answer))
    return Example(pair["q"], asked_on, line, span, pair.get("says") or "", pair["kind"] == OUTDATED)
