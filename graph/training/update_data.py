"""Examples of what replaces what, and of what says yes, from the chats of `graph.training.reader_data`."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from graph.readers.line_reader import Line
from graph.training.reader_data import OUTDATED, SAYS, Chat, Example, lines_of
from memory.search.tokens import terms

_OPPOSITE = {"yes": "no", "no": "yes"}

NOT_REPLACED = 0.2
"""Share of the questions whose answer no line replaced that are taken for `updates_of`."""

STILL, STILL_ASKED = "Is this still so?", 0.3
"""Asked of so many pairs of lines instead of their question, for plans and facts that no question names."""

Told = tuple[int, str]
"""A line that answers, by its number, and the first of its words that do."""


def updates_of(chat: Chat, questions: Sequence[Mapping[str, Any]]) -> list[list[Example]]:
    """Two lines of a chat, one later than the other, as examples; those of one question together.

    The later is the line, the earlier stands before it. It answers with its new value if that replaced the earlier
    one's. Two lines of a list, later lines about something near, and those that replace something else do not.
    """
    lines, asked_on = lines_of(chat), date.fromisoformat(chat["as_of"])
    words = {n: frozenset(terms(line.text)) for n, line in lines.items()}
    frequency = Counter(word for own in words.values() for word in own)
    answered = list(_told_and_outdated(chat, questions))
    replacing = {max(told)[0]: named for _, _, told, outdated, named in answered if outdated}
    groups = []
    for question, kind, told, outdated, named in answered:
        chance = random.Random(question)
        replaced = [n for n in outdated if n < min(told)[0]] if len(told) <= 2 else []
        if not replaced and chance.random() > NOT_REPLACED:
            continue
        earlier = chance.choice(replaced) if replaced else min(told)[0]
        pairs: list[tuple[int, Told]] = [(earlier, max(told))] if replaced else []
        if kind in ("list", "count", "sum") and len(told) > 1:
            first, second = sorted(chance.sample(sorted(told), 2))
            pairs.append((first[0], (second[0], "")))
        about = frozenset(terms(question)) | words[earlier]
        later = [n for n in lines if n > earlier and n not in named and lines[n].speaker == lines[earlier].speaker]
        near = max(later, key=lambda n: sum(1 / frequency[word] for word in words[n] & about), default=None)
        elsewhere = [n for n in later if n in replacing and n != near and replacing[n].isdisjoint(named)]
        others = chance.sample(elsewhere, min(2, len(elsewhere)))
        pairs += [(earlier, (n, "")) for n in ([*others] if near is None else [near, *others])]
        asked = STILL if kind != "former" and chance.random() < STILL_ASKED else question
        groups.append([_update(asked, asked_on, lines[n], lines[m], value) for n, (m, value) in pairs])
    return [group for group in groups if group]


def _update(question: str, asked_on: date, earlier: Line, later: Line, value: str) -> Example:
    start = later.text.find(value)
    return Example(
        question,
        asked_on,
        replace(later, before=earlier.text),
        (start, start + len(value)) if value else None,
    )


def _told_and_outdated(
    chat: Chat, questions: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, str, list[Told], list[int], set[int]]]:
    """Each question with an answer, its kind, what answers, the outdated lines, and all of these lines."""
    for asked in questions:
        told = [(line["n"], line["spans"][0]) for line in asked["lines"] if line["role"] == "evidence"]
        outdated = [line["n"] for line in asked["lines"] if line["role"] == OUTDATED]
        if told and asked["kind"] != "premise":
            text = f"{asked['q']} {asked['before']['q']}" if "before" in asked else asked["q"]
            yield text, asked["kind"], told, outdated, {*outdated, *(n for n, _ in told)}
    pairs: dict[str, list[Any]] = defaultdict(list)
    for pair in chat["pairs"]:
        if pair["answer"] is not None:
            pairs[pair["q"]].append(pair)
    for text, named in pairs.items():
        told = [(pair["line"], pair["answer"]) for pair in named if pair["kind"] != OUTDATED]
        outdated = [pair["line"] for pair in named if pair["kind"] == OUTDATED]
        if told:
            yield text, "value", told, outdated, {pair["line"] for pair in named}


def yes_or_no_of(chat: Chat, questions: Sequence[Mapping[str, Any]]) -> Iterator[Example]:
    """The questions that ask yes or no, each with a line that says it; what was so before says the opposite."""
    lines, asked_on = lines_of(chat), date.fromisoformat(chat["as_of"])
    for asked in questions:
        if asked["kind"] in SAYS:
            text = f"{asked['q']} {asked['before']['q']}" if "before" in asked else asked["q"]
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
