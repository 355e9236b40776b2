"""The trained reader of facts: which words of a message tell something lasting of its speaker, and what they tell.

The layers of all-MiniLM-L6-v2, trained further by `graph.training.facts`, with a head that says of each token what it
is a part of: in "my mate Dave and his wife Jo, we live in Hull" "mate" is a kind, "Dave" and "Jo" are people, "wife" is
the kind of somebody of another, "Hull" is a home. Two more heads say where such words begin, and what has ended; the
products of the last two, which of them belong together: "wife" to "Jo", and "Dave" to "wife".
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from graph.language.facts import FACTS
from graph.understanding.classifier import MODELS
from graph.understanding.sentences import spans
from memory.embedding import minilm
from memory.embedding.bert import Array
from memory.embedding.networks import TrainedNetwork

WEIGHTS = MODELS / "facts.safetensors"

PERSON, FAVOURITE = "{kind}", "favourite {kind}"
KIND, KIND_OF_OTHER, OTHER, FAVOURITE_KIND = KINDS = ("kind", "kind of another's", "other", "kind of favourite")
"""What the speaker calls somebody, what somebody else does, that somebody's name, and a kind of favourite things."""
BELONGS_TO = {PERSON: (KIND, KIND_OF_OTHER), FAVOURITE: (FAVOURITE_KIND,), KIND_OF_OTHER: (OTHER, PERSON)}
"""The labels of what words of a label belong to."""
LABELS = ("", *FACTS, *KINDS)
"""What a token may be a part of: nothing, the value of a fact, or one of `KINDS`."""

HEADS = {"labels": len(LABELS), "begins": 1, "ends": 1, "seeks": 32, "offers": 32}
"""How many outputs each head has."""
NETWORK = TrainedNetwork(minilm.packaged, WEIGHTS, *HEADS)

SURE = 0.8
"""Mean probability of the words of a fact from which it is told."""

LONGEST, MOST_TOKENS = 120, 126
"""Most characters of the sentences that are read together, and most tokens."""

ARTICLES = {"a", "an", "the"}
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Words:
    """Words of a text by their first and last character, what they are, how likely, and whether that has ended.

    They belong to the words whose `offers` has the highest product with what they `seek`, both (32,).
    """

    start: int
    end: int
    label: str
    probability: float
    ended: bool
    seeks: Array
    offers: Array

    def best(self, among: Iterable["Words"]) -> "Words | None":
        """Those of some words that they belong to; None if there are none."""
        might = [each for each in among if each.label in BELONGS_TO.get(self.label, ())]
        return max(might, key=lambda each: float(self.seeks @ each.offers), default=None)


@dataclass(frozen=True, slots=True)
class ReadFact:
    """A fact: its relation in `FACTS`, the words of its value, where it is told, and whether it holds no more.

    `kind` is that of a person or a favourite, and `whose` the name of somebody else who has that person.
    """

    relation: str
    what: str
    place: tuple[int, int]
    kind: str = ""
    whose: str = ""
    ended: bool = False


def tokens_of(texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
    """Texts as token ids, and the characters of each token but the first and last."""
    encoded = minilm.packaged().encode(texts)
    return [([minilm.START, *e.ids[:MOST_TOKENS], minilm.END], e.offsets[:MOST_TOKENS]) for e in encoded]


def read(texts: Sequence[str], least: float = SURE, network: TrainedNetwork = NETWORK) -> list[tuple[ReadFact, ...]]:
    """The facts that each of several texts tells of its speaker, if likely; none in a language that is not read."""
    places = [(n, place) for n, text in enumerate(texts) if minilm.reads(text) for place in _passages(text)]
    passages = [texts[n][start:end] for n, (start, end) in places]
    found: list[list[ReadFact]] = [[] for _ in texts]
    told = words_of(passages, network)
    for (n, (start, _)), passage, words in zip(places, passages, told, strict=True):
        found[n] += _facts(passage, words, start, least)
    return [tuple(facts) for facts in found]


def _passages(text: str) -> Iterator[tuple[int, int]]:
    """The places of sentences that are read together."""
    first = last = 0
    for start, end in spans(text):
        if end - first > LONGEST and last > first:
            yield first, last
            first = start
        last = end
    if last > first:
        yield first, last


def words_of(texts: Sequence[str], network: TrainedNetwork) -> list[list[Words]]:
    """The words of each text that tell a fact, in their order."""
    from scipy.special import expit, softmax  # not before a message is read: SciPy is slow to import

    tokens = tokens_of(texts)
    computed = network.compute([ids for ids, _ in tokens], [[0] * len(ids) for ids, _ in tokens])
    result = []
    for text, (_, offsets), heads in zip(texts, tokens, computed, strict=True):
        labels, begins, ends, seeks, offers = (head[1 : 1 + len(offsets)] for head in heads)
        likely = softmax(labels, axis=1), expit(begins[:, 0]), expit(ends[:, 0])
        result.append(list(_spans(text, offsets, *likely, seeks, offers)))
    return result


def _spans(
    text: str,
    offsets: Sequence[tuple[int, int]],
    labels: Array,
    begins: Array,
    ends: Array,
    seeks: Array,
    offers: Array,
) -> Iterator[Words]:
    """The runs of tokens of one label as words of a text, whole."""
    likeliest = labels.argmax(1)
    first = 0
    for n in range(1, len(offsets) + 1):
        goes_on = n < len(offsets) and likeliest[n] == likeliest[n - 1]
        if goes_on and (begins[n] < 0.5 or offsets[n][0] == offsets[n - 1][1]):
            continue
        label = int(likeliest[first])
        if label:
            start, end = offsets[first][0], offsets[n - 1][1]
            whole = [w.span() for w in _WORD.finditer(text) if w.start() < end and w.end() > start]
            start, end = min(start, *(a for a, _ in whole), end), max(end, *(b for _, b in whole), start)
            end = start + len(text[start:end].rstrip(".,;:!?"))
            sure = float(labels[first:n, label].mean())
            ended = bool(np.mean(ends[first:n]) >= 0.5)
            if end > start:
                yield Words(start, end, LABELS[label], sure, ended, seeks[first], offers[first])
        first = n


def _facts(text: str, words: Sequence[Words], before: int, least: float) -> Iterator[ReadFact]:
    """The facts of words, with the kinds and names that belong to them; the text begins at `before`."""

    def said(each: Words | None) -> str:
        return text[each.start : each.end] if each else ""

    for each in words:
        if each.label in KINDS or each.probability < least or said(each).casefold() in ARTICLES:
            continue
        kind = each.best(words)
        whose = kind.best(other for other in words if other is not each) if kind else None
        if (each.label in BELONGS_TO and not kind) or (kind and kind.label in BELONGS_TO and not whose):
            continue
        start, end = min(each.start, (kind or each).start), max(each.end, (kind or each).end)
        yield ReadFact(each.label, said(each), (before + start, before + end), said(kind), said(whose), each.ended)
