"""Finds the texts of ours that stand in a benchmark: word for word, or with other names and numbers.

Sentences are compared as multisets of words, in lower case, without punctuation, names and numbers masked:

    What has Ann's cat broken since 3 May?      {what, has, @, cat, broken, since, #, @}

A name is a word that is written with a capital inside sentences more often than without. Telling is a word that is
neither masked nor a stop word (scikit-learn's list and `EVERYDAY`). Found are

- whole texts that are the same unmasked, of `FEWEST_OF_TEXT` words or more, one of them telling or a name,
- sentences that are the same masked, of `FEWEST` words or more, two of them telling,
- sentences that share `NEAR` of their words (Jaccard), as long, with three telling words.

"Long time no see" and "What does Ann do for a living?" are nobody's.

`.venv/bin/python tests/support/benchmark_texts.py FILE...` looks in chats in the format of `reader_pairs.jsonl`; the
benchmarks' files are in ../shared/data, or in the folder that MEMOIR_DATA names.
"""

import json
import math
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "assets"

NEAR = 0.8
"""One word in five differs: a question of nine words with one of them replaced, or with two more."""

FEWEST_OF_TEXT, FEWEST = 4, 6
"""Fewest words of a whole text, and of a sentence."""

EVERYDAY = frozenset(
    """does did doing dont didnt doesnt im ive id ill thats whats hes shes its youre lets say said tell told like just
    really know think want got get going go went come oh yes yeah""".split()
)

NAME, NUMBER = "@", "#"

Bag = frozenset[tuple[str, int]]
"""A multiset of words: each with how often it has come before."""


_KEYS = ("text", "question", "q", "after", "tell", "ask", "lines", "message")
"""What holds a text in our files; ids, times, kinds and answers are under other keys."""


class Match(NamedTuple):
    """A text of ours, the text of a benchmark that holds it, and the share of words in common (1: all)."""

    ours: str
    theirs: str
    share: float


class Names:
    """Tells names from other words by how they are written in many texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        capital: Counter[str] = Counter()
        self._small: Counter[str] = Counter()
        for text in texts:
            inside = re.findall(r"(?<=[\w,;] )\w\w+", text)
            capital.update(word.lower() for word in inside if word[0].isupper())
            self._small.update(word for word in re.findall(r"\w+", text) if word[0].islower())
        self._names = {word for word, n in capital.items() if n > self._small[word]}

    def mask(self, word: str) -> str:
        """A word in lower case, or what stands for it; "anns" is "Ann's" typed in haste."""
        if any(letter.isdigit() for letter in word):
            return NUMBER
        typed = word if self._small[word] else word.removesuffix("s")
        return NAME if word in self._names or typed in self._names else word


def find_matches(ours: Iterable[str], theirs: Iterable[str]) -> list[Match]:
    """The texts of ours that stand among theirs, each with the nearest, the nearest first."""
    ours, theirs = list(dict.fromkeys(ours)), list(dict.fromkeys(theirs))
    names = Names([*ours, *theirs])
    whole = {tuple(_words(text)): text for text in theirs}
    found = {}
    of_bag: dict[Bag, list[str]] = defaultdict(list)
    for text in ours:
        words = _words(text)
        if len(words) >= FEWEST_OF_TEXT and tuple(words) in whole and _telling(words):
            found[text] = Match(text, whole[tuple(words)], 1.0)
        for sentence in _sentences(text):
            of_bag[_bag(sentence, names)].append(text)
    near = _near([bag for bag in of_bag if _telling(word for word, _ in bag) >= 2], theirs, names)
    for bag, (share, sentence) in near.items():
        for text in of_bag[bag]:
            if text not in found or found[text].share < share:
                found[text] = Match(text, sentence, share)
    return sorted(found.values(), key=lambda match: -match.share)


def _near(bags: Iterable[Bag], texts: Iterable[str], names: Names) -> Mapping[Bag, tuple[float, str]]:
    """Of each bag the nearest sentence of the texts, if it is near enough, and the share of their words in common."""
    bags = set(bags)
    frequency = Counter(word for bag in bags for word in bag)

    def prefix(bag: Bag) -> list[tuple[str, int]]:
        # Of two bags that share so many words, the rarest few of the one hold a word of the rarest few of the other
        # (Chaudhuri et al. 2006, prefix filtering): few pairs are left to compare.
        rarest = sorted(bag, key=lambda word: (frequency[word], word))
        return rarest[: len(bag) - math.ceil(NEAR * len(bag) - 1e-9) + 1]

    with_word = defaultdict(list)
    for bag in bags:
        for word in prefix(bag):
            with_word[word].append(bag)
    best: dict[Bag, tuple[float, str]] = {}
    for sentence in {sentence for text in texts for sentence in _sentences(text)}:
        other = _bag(sentence, names)
        if sum(word in frequency for word in other) < NEAR * len(other):
            continue
        for bag in {bag for word in prefix(other) for bag in with_word[word]}:
            share = len(bag & other) / len(bag | other)
            telling = 3 if share < 1 else 2
            if share >= NEAR and share > best.get(bag, (0,))[0] and _telling(word for word, _ in bag) >= telling:
                best[bag] = share, sentence
    return best


def _sentences(text: str) -> Iterator[str]:
    return (part for part in re.split(r"(?<=[.!?])\s+|\n+", text) if len(_words(part)) >= FEWEST)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", re.sub(r"['’]", "", text.lower()))


def _bag(sentence: str, names: Names) -> Bag:
    seen: Counter[str] = Counter()
    bag = []
    for word in map(names.mask, _words(sentence)):
        bag.append((word, seen[word]))
        seen[word] += 1
    return frozenset(bag)


def _telling(words: Iterable[str]) -> int:
    return sum(word.isalpha() for word in set(words) - ENGLISH_STOP_WORDS - EVERYDAY)


def training_texts() -> dict[str, str]:
    """Every text that trains or tunes something of ours, with the file that holds it."""
    tuned_on = [*(ROOT / "tests" / "data").glob("*.jsonl"), *(ASSETS / "conversations" / "development").glob("*.jsonl")]
    texts: dict[str, str] = {}
    for file in [*(ASSETS / "models").glob("*.jsonl"), *tuned_on]:
        texts |= dict.fromkeys(_texts(file), file.name)
    return texts


def reported_texts() -> list[str]:
    """Every string in those of our own benchmarks on which figures are reported."""
    files = [*(ASSETS / "benchmark").glob("*.jsonl"), *(ASSETS / "conversations" / "reported").glob("*.jsonl")]
    return [text for file in files for value in _values(file) for text, _ in _strings(value)]


def benchmark_texts(folder: Path) -> list[str]:
    """Every string in the files of the benchmarks; the folder `training` holds none."""
    files = [file for file in sorted(folder.rglob("*.json*")) if "training" not in file.parts]
    return [text for file in files for value in _values(file) for text, _ in _strings(value)]


def _texts(file: Path) -> Iterator[str]:
    return (text for value in _values(file) for text, key in _strings(value) if key in _KEYS)


def _values(file: Path) -> Iterator[object]:
    """The JSON values of a file, one after another: MADial-Bench's .json files hold several, too."""
    text, place = file.read_text("utf-8-sig"), 0
    while blank := re.compile(r"\s*(?=\S)").match(text, place):
        value, place = json.JSONDecoder().raw_decode(text, blank.end())
        yield value


def _strings(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Every string in a JSON value, and the key it is under; what stands in a list has the key of the list."""
    if isinstance(value, str):
        yield value, key
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _strings(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner, key)


if __name__ == "__main__":
    places = {text: name for name in sys.argv[1:] for text in _texts(Path(name))}
    data = Path(os.environ.get("MEMOIR_DATA") or ROOT / ".." / "shared" / "data")
    for each in find_matches(places, [*reported_texts(), *benchmark_texts(data)]):
        print(f"{each.share:.2f} {places[each.ours]}: {each.ours}\n     = {each.theirs}")
