"""Gather what a chat model is shown: what is known of the user and their people, and the lines that may matter now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from graph.models.tokens import estimated_tokens
from graph.readers.talk.prompt import Content, turns_of
from graph.replies.recaps import lines_of_recap, parse_recap
from graph.state import Ask, Message, Services
from graph.understanding.parts import KNOWN_OF_USER, tells
from memory.bank.queries.told import facts_told, name_told, upcoming
from memory.search.scoring import SearchSettings
from memory.types import Hit, Memory

if TYPE_CHECKING:
    from memory.search.searcher import Searcher, View

EARLIER = 12
"""Most earlier lines: with eight, the line that mattered was missing twice as often in the hand-played chats."""

KNOWN_TOKENS, ALL_TOKENS = 500, 2_000
"""Estimated tokens of what is known: in every prompt, and where the user asks for all of it."""

PLANS = 6
"""Most plans."""

ALWAYS = (
    "My friend is badly allergic to nuts and cannot eat them.",
    "I was diagnosed with an illness and take medication for it.",
    "My mother is in hospital for an operation.",
    "She is pregnant.",
    "My father died and the funeral is on Friday.",
    "We lost the baby.",
)
"""What matters whatever is said: allergies, illness and losses, told as people tell them, to find lines like these."""

OF_EACH, OF_ALL, NEAR = 6, 12, 0.3
"""Most lines like each of these and like all, and their least cosine: with all-MiniLM-L6-v2, most lines on other
subjects have less. One too many costs some tokens, one that is missing may do harm."""


def gather(
    ask: Ask, message: Message, hits: Sequence[Hit], services: Services, outdated: Iterable[int] = ()
) -> Content:
    """All that a reply may rest on; blocks. `outdated` are ids of memories that the message itself corrects.

    A benchmark that hands in its lines, or asks of them alone, gets those and nothing else.
    """
    bank, persona = services.bank, ask.persona.id
    user = name_told(bank, persona, ask.as_of)
    left_out = set(outdated)
    found = [hit.memory for hit in hits if hit.kept and hit.memory.id not in left_out]
    if ask.handed_in or ask.only_found:
        return Content(ask, user, (), _by_time(found), turns_of(ask))
    wanted = parse_recap(ask.text) or ("about me" if message.small_talk == KNOWN_OF_USER else None)
    asked = lines_of_recap(wanted, ask, bank) if wanted else []
    shown = frozenset(turn.text for turn in ask.dialogue)
    budget = ALL_TOKENS if wanted == "about me" else KNOWN_TOKENS
    known = tuple(_within(budget, _known(ask, services, left_out), shown))
    turns = {turn for memory in known for turn in memory.turn_ids if memory.store == "dialogue"}
    ids = {memory.id for memory in known}
    lines = [m for m in dict.fromkeys([*asked, *found]) if m.id not in ids and not turns.intersection(m.turn_ids)]
    earlier = [line for line in lines if line.text not in shown][:EARLIER]
    return Content(ask, user, known, _by_time(earlier), turns_of(ask))


def _known(ask: Ask, services: Services, left_out: set[int]) -> Iterator[Memory]:
    """What holds now, the most important first: allergies, illness and losses; plans; facts, the latest first."""
    bank, persona = services.bank, ask.persona.id
    seen = set(left_out)
    plans = upcoming(bank, persona, ask.as_of, 2 * PLANS)
    told = {memory.turn_ids or memory.id: memory for memory in reversed(plans)}  # a turn and its event are one plan
    for memory in (*_always(ask, services), *list(told.values())[::-1][:PLANS], *facts_told(bank, persona, ask.as_of)):
        if memory.id not in seen:
            seen.add(memory.id)
            yield memory


def _always(ask: Ask, services: Services) -> Iterator[Memory]:
    """Lines on allergies, illness and losses of anybody, the likeliest first."""
    searcher, settings = services.searcher, SearchSettings(k=OF_EACH)
    likeliest: dict[Memory, float] = {}
    for view in _views(searcher):
        for hit in searcher.search(ask.persona.id, [view], ask.as_of, settings):
            near = hit.scores.get("dense", 0.0)
            if near >= max(NEAR, likeliest.get(hit.memory, 0.0)) and hit.memory.speaker != ask.persona.name:
                likeliest[hit.memory] = near
    ordered = sorted(likeliest, key=lambda memory: -likeliest[memory])
    yield from islice((memory for memory in ordered if tells(memory.text)), OF_ALL)


@lru_cache(maxsize=8)
def _views(searcher: Searcher) -> tuple[View, ...]:
    return searcher.views(ALWAYS)


def _within(budget: int, memories: Iterable[Memory], shown: frozenset[str]) -> list[Memory]:
    """As many as fit, in the order in which they were learned: that changes least from one message to the next."""
    kept, left = [], budget
    for memory in memories:
        left -= estimated_tokens(memory.text) // 2 + 20  # the estimate is about twice what English takes
        if left < 0:
            break
        if memory.text not in shown:
            kept.append(memory)
    return sorted(kept, key=lambda memory: memory.id)


def _by_time(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """The oldest first."""
    return tuple(sorted(memories, key=lambda m: (m.said_at.timestamp() if m.said_at else float("-inf"), m.id)))
