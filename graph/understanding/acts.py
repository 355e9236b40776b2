"""Recognise what a sentence does: greet, thank, say good night, tell good news or of a loss, tell, ask.

The lowest layers of all-MiniLM-L6-v2, trained further by `graph.training.acts`; the weights hold all but the word
embeddings, which the encoder's package has. It knows English: in other languages all messages tell or ask, and in
other letters than Latin they tell unless they end in a question mark.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from graph.understanding.classifier import MODELS
from memory.embedding import minilm
from memory.embedding.bert import Array
from memory.embedding.networks import TrainedNetwork

WEIGHTS = MODELS / "acts.safetensors"
NETWORK = TrainedNetwork(minilm.packaged, WEIGHTS, "acts")

ACTS = tuple(
    """greeting how_are_you thanks farewell goodnight praise insult love apology laughter agreement disagreement
    nonsense birthday_wish missed_you joke bored advice distress who_are_you are_you_real what_can_you_do help
    what_do_you_remember who_am_i missing_capability loss hard good crisis tells asks tells_and_asks""".split()
)
"""What a sentence may do; the last three are all that is neither small talk nor news."""

LOSS, HARD, GOOD, CRISIS = NEWS = ("loss", "hard", "good", "crisis")
"""The kinds of news. After a loss and in a crisis no memory is brought up; the day of good news is repeated."""
SMALL_TALK = frozenset(ACTS[: ACTS.index(LOSS)])

TELLING = frozenset("loss hard good crisis tells tells_and_asks".split())
ASKING = frozenset("who_am_i asks tells_and_asks".split())
"""Acts that tell something worth keeping, and those that ask for what was told."""

MAY = 0.1
"""Probability of telling, or of asking, from which a sentence may be meant so."""

MET = 0.5
"""Probability from which news is met as such: a wrong reaction is worse than none. A call for help needs less."""

HARDLY = 0.02
"""Probability of telling below which a sentence surely tells nothing: of 1,000 that tell one, of 100 questions 98. With
a question mark, `MAY` is enough."""

_MARKED = re.compile(r"[?？][\"'”’)»!.\s]*\Z")

LONGEST, MOST_TOKENS = 600, 48
"""Most characters and tokens that are read of a sentence."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a sentence does: the likeliest of `ACTS`, and whether it may ask and may tell; one in doubt may do both.

    `hardly_tells`: so surely tells nothing that it need not be found again.
    """

    act: str
    asks: bool
    tells: bool
    hardly_tells: bool = False

    @property
    def is_small_talk(self) -> bool:
        """Whether it is small talk."""
        return self.act in SMALL_TALK

    @property
    def only_asks(self) -> bool:
        """Whether it asks and tells nothing."""
        return self.asks and not self.tells


def recognise(sentences: Sequence[str], network: TrainedNetwork = NETWORK) -> list[Said]:
    """What each of several sentences does. With a question mark it asks, and may tell, too."""
    from scipy.special import softmax  # not before a message is read: SciPy is slow to import

    if not sentences:
        return []
    ids = tokens_of(sentences)
    computed = network.compute(ids, [[0] * len(each) for each in ids])
    logits = [scores.mean(0) for (scores,) in computed]
    likely = softmax(np.stack(logits), axis=1)
    return list(map(_said, sentences, likely, likely @ _IS_TELLING, likely @ _IS_ASKING))


def _said(sentence: str, likely: Array, telling: float, asking: float) -> Said:
    marked = is_marked(sentence)
    if not minilm.reads(sentence):
        return Said("asks" if marked else "tells", asks=marked, tells=not marked)
    asks, tells = marked or bool(asking >= MAY), bool(telling >= MAY)
    act = ACTS[likely.argmax()]
    if act in NEWS and act != CRISIS and likely.max() < MET:
        act = "tells"
    return Said(act, asks, tells, bool(telling < (MAY if marked else HARDLY)))


_IS_TELLING, _IS_ASKING = (np.array([act in acts for act in ACTS], np.float32) for acts in (TELLING, ASKING))


def is_marked(sentence: str) -> bool:
    """Whether a sentence ends in a question mark."""
    return _MARKED.search(sentence) is not None


@lru_cache(maxsize=256)
def said(sentence: str) -> Said:
    """What a sentence does; those of a message are asked about several times."""
    return recognise([sentence])[0]


def tokens_of(sentences: Sequence[str]) -> list[list[int]]:
    """Sentences as token ids, but for "!", which is loud and says nothing more."""
    encoded = minilm.packaged().encode([text[:LONGEST].replace("!", "") for text in sentences])
    return [[minilm.START, *each.ids[:MOST_TOKENS], minilm.END] for each in encoded]
