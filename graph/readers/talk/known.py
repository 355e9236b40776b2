"""Gather what a chat model is shown: what is known of the user and their people, and the lines that may matter now.

Of a long line, only the passages that matter are shown: it holds several things, most of them of no use.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise

import numpy as np

from graph.readers.recaps import lines_of_recap
from graph.readers.talk.prompt import Content, PromptLine, turns_of
from graph.state import Ask, ReaderInput, Services
from graph.understanding.classifier import Recogniser
from graph.understanding.parts import tells
from graph.understanding.sentences import split
from memory.bank.queries.told import known_facts, name_told, upcoming
from memory.embedding.embedder import Embedder, Vectors
from memory.search.scoring import Scores, SearchSettings, mix
from memory.search.searcher import View
from memory.search.tokens import content_terms
from memory.types import QUESTION, Memory

ALWAYS_TOKENS, PLAN_TOKENS, FACT_TOKENS, EARLIER_TOKENS = 350, 150, 250, 700
"""Tokens of what matters whatever is said, of plans, of facts, and of earlier lines: 1,450 in all, so that a prompt has
some 2,200 with the card, the task and some turns."""

ALL_TOKENS = 2_000
"""Tokens of facts where the user asks for all that is known."""

OF_ALWAYS, SENTENCE = 160, 100
"""Lines that are looked at for what matters whatever is said, and the least characters of a passage of them: a sentence
or two are enough to warn."""

PRIOR, LIKELY = 0.05, 0.1
"""The share of passages that matter whatever is said, which the recogniser was taught with one half, and the least
probability of one that does."""

SAME, REPEATED = 0.75, 0.9
"""The cosine from which two passages say much the same, and from which one only repeats the other."""

WIDE = SearchSettings(k=24)
"""Lines of each store whose passages are looked at: the vector of a long line is near to none of the things in it."""

PLANS = 12
"""Plans that are looked at."""

RARE, OF_RARE = 6, 3
"""Words of a message that are looked up by themselves, the rarest in the memory, and the lines of each: a name among
eighty other words hardly counts, and yet what is known of that person matters."""

QUERIES = 8
"""Most sentences of a message that passages are compared with."""

SHORT = 160
"""Characters that a passage has at least, unless its line has no more: two or three sentences tell what "she" and
"there" are."""

CHARACTERS_PER_TOKEN = 4
"""Of English in most chat models' tokens."""

_ENDS = re.compile(r"(?<=[.!?…。！？])\s*(?=[^\s.!?…。！？])|\n+")  # people who type in lower case end sentences, too

MOST_KEPT = 20_000
"""Vectors that are kept: some 30 MB."""

Fit = Callable[[Sequence[str], Vectors], Scores]
"""How well passages fit, shape (n,), by their words and their vectors, (n, dimensions)."""

IsNew = Callable[[Memory], bool]


def gather(reader_input: ReaderInput, outdated: Iterable[int] = (), share: float = 1) -> Content:
    """All that a reply may rest on; blocks. `outdated` are ids of memories that the message itself corrects.

    With a `share` of less than 1, as much less: for a model with a short context, or a slow one.

    A benchmark that hands in its lines, or asks of them alone, gets those and nothing else.
    """
    ask, message, services = reader_input.ask, reader_input.message, reader_input.services
    bank, persona = services.bank, ask.persona.id
    user = name_told(bank, persona, ask.as_of)
    found = [hit.memory for hit in reader_input.kept]
    if ask.handed_in or ask.only_found:
        return Content(ask, user, (), tuple(PromptLine(m, m.text) for m in sorted(found, key=_time)), turns_of(ask))
    shown = {turn.text for turn in ask.dialogue}
    left_out = set(outdated)

    def is_new(memory: Memory) -> bool:
        return memory.id not in left_out and memory.text not in shown

    asked = lines_of_recap(message.recap, ask, bank) if message.recap else []
    known = _known(ask, services, is_new, share, ALL_TOKENS if message.recap == "about me" else FACT_TOKENS)
    terms = _term_weights(ask, services)
    views = services.searcher.views(list(dict.fromkeys((ask.text, *split(ask.text)[:QUERIES]))))
    near = services.searcher.search(persona, views, ask.as_of, WIDE, message.subject)
    candidates = chain(found, (hit.memory for hit in near if hit.kept), _of_rare_terms(ask, services, terms))
    telling = (memory for memory in candidates if memory.attribute != QUESTION)
    # What was learned from a turn of this chat is read there.
    new = (m for m in chain(asked, telling) if is_new(m) and not any(m.text in said for said in shown))
    lines = sorted(dict.fromkeys(new), key=_time)
    fit = resemblance(np.stack([view.vector for view in views]), terms)
    earlier = choose(lines, fit, services.searcher.embedder, int(share * EARLIER_TOKENS), apart=REPEATED)
    earlier = sorted(_without_repeats(earlier, known), key=lambda line: _time(line.memory))
    return Content(ask, user, tuple(known), tuple(earlier), turns_of(ask))


def _known(ask: Ask, services: Services, is_new: IsNew, share: float, fact_tokens: int) -> list[PromptLine]:
    """What holds now: allergies, illness and losses, plans, and facts, in the order in which they were learned.

    That order changes least from one message to the next.
    """
    bank, persona = services.bank, ask.persona.id
    always = _always(ask, services, is_new, int(share * ALWAYS_TOKENS))
    # What one has only one of comes first, as a name, then people, then the latest.
    facts = sorted(known_facts(bank, persona, ask.as_of), key=lambda m: (not m.attribute, m.store != "relationship"))
    lines = [
        *always,
        *_within(share * PLAN_TOKENS, filter(is_new, upcoming(bank, persona, ask.as_of, PLANS))),
        *_within(share * fact_tokens, filter(is_new, facts)),
    ]
    once = {line.memory: line for line in reversed(lines)}.values()
    return sorted(_without_repeats(once, ()), key=lambda line: line.memory.id)


def _always(ask: Ask, services: Services, is_new: IsNew, tokens: int) -> list[PromptLine]:
    """What matters whatever is said: passages on allergies, illness and losses.

    The likeliest for their length come first, so that a fact stands for what it was learned from, and many find room.
    """
    searcher = services.searcher
    recogniser = Recogniser.load("matters", searcher.embedder.model)
    if recogniser is None:
        return []
    direction = recogniser.direction(searcher.embedder.dimensions)
    settings = SearchSettings(k=OF_ALWAYS, dense_weight=1.0)
    hits = searcher.search(ask.persona.id, [View("", direction)], ask.as_of, settings)
    told = (hit.memory for hit in hits if hit.kept and hit.memory.speaker != ask.persona.name)

    def likeliest(texts: Sequence[str], meaning: Vectors) -> Scores:
        pairs = zip(texts, meaning, strict=True)
        taught = np.array([recogniser.probability(text, vector) for text, vector in pairs])
        likely = taught * PRIOR / (taught * PRIOR + (1 - taught) * (1 - PRIOR))
        return np.where(likely < LIKELY, -np.inf, likely / [len(text) for text in texts])

    told = (memory for memory in told if is_new(memory) and tells(memory.text))
    return choose(told, likeliest, searcher.embedder, tokens, short=SENTENCE, apart=SAME)


def _term_weights(ask: Ask, services: Services) -> dict[str, float]:
    """How much each term of the message tells two lines apart: its inverse document frequency; 0 if no line has it."""
    terms = content_terms(ask.text)
    n, frequencies = services.searcher.document_frequencies(ask.persona.id, terms, ask.as_of)
    return {
        term: math.log(1 + (n - df + 0.5) / (df + 0.5)) if (df := frequencies.get(term, 0)) else 0.0 for term in terms
    }


def _of_rare_terms(ask: Ask, services: Services, weights: Mapping[str, float]) -> Iterator[Memory]:
    """The lines that have the rarest words of the message, which are most often names."""
    rarest = sorted((term for term in weights if weights[term]), key=lambda term: -weights[term])[:RARE]
    if rarest:
        searcher, settings = services.searcher, SearchSettings(k=OF_RARE, dense_weight=0.0)
        for view in searcher.views(rarest):
            yield from (h.memory for h in searcher.search(ask.persona.id, [view], ask.as_of, settings) if h.kept)


def _within(tokens: float, memories: Iterable[Memory]) -> Iterator[PromptLine]:
    """As many as fit, whole."""
    left = tokens * CHARACTERS_PER_TOKEN
    for memory in memories:
        left -= len(memory.text)
        if left >= 0:
            yield PromptLine(memory, memory.text)


def _without_repeats(lines: Iterable[PromptLine], others: Sequence[PromptLine]) -> Iterator[PromptLine]:
    """The lines whose words stand neither in one of the others nor in a longer or earlier one of the same turn."""
    kept = list(others)
    for line in sorted(lines, key=lambda line: -len(line.words)):
        turns = set(line.memory.turn_ids)
        if not any(line.words in each.words for each in kept if turns.intersection(each.memory.turn_ids)):
            kept.append(line)
    yield from kept[len(others) :]


def _time(memory: Memory) -> tuple[float, int]:
    """What orders lines, the oldest first."""
    return memory.said_at.timestamp() if memory.said_at else float("-inf"), memory.id


def split_passages(text: str, short: int = SHORT) -> list[str]:
    """The passages of a text: sentences in a row, of at least `short` characters together."""
    passages: list[str] = []
    places = [0, *(end.end() for end in _ENDS.finditer(text)), len(text)]
    for start, end in pairwise(places):
        if passages and len(passages[-1]) < short:
            passages[-1] += text[start:end]
        else:
            passages.append(text[start:end])
    if len(passages) > 1 and len(passages[-1]) < short / 2:
        passages[-2:] = ["".join(passages[-2:])]
    return [passage.strip() for passage in passages if passage.strip()]


def choose(
    memories: Iterable[Memory],
    fit: Fit,
    embedder: Embedder,
    tokens: int,
    *,
    apart: float,
    short: int = SHORT,
) -> list[PromptLine]:
    """The lines with the passages that fit best, of about so many tokens together; none that fits at minus infinity.

    They stand in the order of the memories. None has a cosine of `apart` or more to a better one.
    """
    pieces = [
        (memory, place, words) for memory in memories for place, words in enumerate(split_passages(memory.text, short))
    ]
    if not pieces:
        return []
    texts = [words for *_, words in pieces]
    vectors = _vectors(embedder, texts)
    scores = fit(texts, vectors)
    left, chosen = tokens * CHARACTERS_PER_TOKEN, list[int]()
    for n in np.argsort(-scores, kind="stable").tolist():
        if chosen and (vectors[chosen] @ vectors[n]).max() >= apart:
            continue
        left -= len(texts[n])
        if left < 0 or scores[n] == -np.inf:
            break
        chosen.append(n)
    by_memory: dict[Memory, list[tuple[int, str]]] = {}
    for n in sorted(chosen):
        memory, place, words = pieces[n]
        by_memory.setdefault(memory, []).append((place, words))
    return [PromptLine(memory, _joined(parts)) for memory, parts in by_memory.items()]


def resemblance(queries: Vectors, term_weights: Mapping[str, float]) -> Fit:
    """How like passages are to any of the queries, by words of some weight and by meaning, as where lines are found."""

    def fit(texts: Sequence[str], meaning: Vectors) -> Scores:
        dense = (meaning @ queries.T).max(axis=1).astype(np.float64)
        shared = np.array([sum(term_weights.get(term, 0.0) for term in content_terms(text)) for text in texts])
        return mix(shared, dense, np.ones(len(texts), dtype=np.bool_), SearchSettings().dense_weight)

    return fit


def _joined(parts: Sequence[tuple[int, str]]) -> str:
    """Passages with their places, as one text; "…" stands for what is left out between them."""
    text = parts[0][1]
    for (before, _), (place, words) in pairwise(parts):
        text += f"{' ' if place == before + 1 else ' … '}{words}"
    return text


def _vectors(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """The vectors of texts, (texts, dimensions); most were asked for with the message before, and are kept."""
    kept = _kept(embedder)
    known = {text: vector for text in texts if (vector := kept.get(text)) is not None}
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    if missing:
        known |= zip(missing, embedder.encode_document(missing), strict=True)
    if len(kept) > MOST_KEPT:
        kept.clear()
    kept.update(known)
    return np.stack([known[text] for text in texts])


@lru_cache(maxsize=4)
def _kept(embedder: Embedder) -> dict[str, Vectors]:
    return {}
