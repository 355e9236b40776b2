"""Questions to suggest for a history: about the facts, the people and the topics in it."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from graph.language.facts import kind_of
from graph.state import USER
from graph.understanding.times import ANY_DAY
from memory.bank.bank import Bank
from memory.bank.queries.chats import latest_lines
from memory.bank.relations import YOU
from memory.dates.expressions import find_times
from memory.search.tokens import FUNCTION_WORDS, words
from memory.types import Memory, Persona, Store

MOST = 6
"""Questions suggested."""

LATEST = 500
"""Lines that topics are taken from."""

FACT_STORES: tuple[Store, ...] = ("profile", "relationship")

ALWAYS = ("What can you do?", "Who are you?")
"""What any persona can be asked."""

_TOPIC = re.compile(r"(?<=[a-z,] )[A-Z][\w-]*[a-z][\w-]+(?: [A-Z][\w-]+)*")
"""Words with a capital letter inside a sentence, but for what is shouted and for abbreviations ("Rd")."""


def suggest_questions(bank: Bank, persona: Persona) -> list[str]:
    """Questions that the persona's memory answers, the most specific first; general ones where there are few."""
    lines = [line for line in latest_lines(bank, persona.id, LATEST) if line.speaker != persona.name]
    facts = [m for store in FACT_STORES for m in bank.memories(persona.id, store=store, limit=LATEST)]
    asked = list(dict.fromkeys([*_about_facts(facts), *_about_topics(lines)]))[:MOST]
    return asked if len(asked) > 2 else [*asked, *ALWAYS]


def _about_facts(facts: Sequence[Memory]) -> Iterator[str]:
    """Questions about what the user told of themselves; at most three, to leave room for topics."""
    held = [fact for fact in facts if not (fact.valid_to or fact.retracted_at)]
    own = [(fact.relation, fact.store) for fact in held if fact.relation and fact.relation.head == YOU]
    kinds = ((told, kind) for told, store in own if told.tail and (kind := kind_of(told, store)) and kind.ask)
    for told, kind in islice(kinds, 3):
        yield kind.ask.format(what=told.tail, kind=told.name.removeprefix("favourite "))


def _about_topics(lines: Sequence[Memory]) -> Iterator[str]:
    """Questions about names that come up in the lines, the most frequent first, to whoever said most about them.

    In other languages not only names have capital letters.
    """
    lines = [line for line in lines if _is_english(line.text)]
    in_lower_case = {word for line in lines for word in re.findall(r"\b[a-z][\w-]+", line.text)}
    speakers = {name.casefold() for line in lines for name in line.speaker.split()}
    spoken: dict[str, Counter[str]] = {}
    for line in lines:
        for topic in dict.fromkeys(_TOPIC.findall(line.text)):
            spoken.setdefault(topic, Counter())[line.speaker] += 1
    by_frequency = sorted(spoken, key=lambda topic: -spoken[topic].total())
    chosen: list[str] = []
    for topic in by_frequency:
        parts = topic.casefold().split()
        named = any(speaker.startswith(part) for speaker in speakers for part in parts)
        within = any(topic in other or other in topic for other in chosen)
        is_time = find_times(f"on {topic}", ANY_DAY) or find_times(f"in {topic}", ANY_DAY)
        has_digits = any(map(str.isdigit, topic))  # of a password or a number plate, more likely than of a name
        if named or within or is_time or has_digits or not in_lower_case.isdisjoint(parts):
            continue
        chosen.append(topic)
        who = spoken[topic].most_common(1)[0][0]
        yield f"What did {'I' if who in ('', USER) else who} say about {topic}?"
        if len(chosen) == MOST:
            return


def _is_english(text: str) -> bool:
    """Whether at least a quarter of the words are English ones of the closed classes; usually it is half."""
    found = words(text)
    return 4 * sum(word in FUNCTION_WORDS for word in found) >= len(found)
