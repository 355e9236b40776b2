"""Make questions from a temporal knowledge graph, for any history with dated relations.

After DialSim's generator (Kim et al. 2024, sections 3.1.3 and 3.1.4, tables 5 to 7): one hop ("Who was Ana's landlord
in March 2026?"), two hops with a time for each ("Ana had a landlord in March 2026. Where did the landlord live on 3 May
2026?"; with one time if the first relation lasts: "Who did Ana's sister work for on 3 May 2026?"), facts that were not
known yet, and facts that are not known at all. A question is made only if the graph has exactly one answer throughout
the times it asks about. A fact that the graph lacks may still have been said: that a "not known" question has no answer
is only as certain as the graph is complete.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import chain, zip_longest
from random import Random

from eval.making.quads import Knowledge, Quad, folded, history_quads
from eval.types import Gold, History, Probe
from memory import read_table
from memory.dates.expressions import describe_span
from memory.types import Store, TimeSpan

DONT_KNOW = "I don't know."
CHOICES = 5
LONGEST_TAIL = 80
"""Most characters of a tail that is offered as a choice; longer ones are descriptions."""

UNKNOWN_SHARE = 4
"""Each of the two unanswerable kinds has at most one question for so many answerable ones."""

WORDING = read_table(__file__, "wording.toml")
THEN_AND_NOW: Mapping[str, Sequence[str]] = WORDING["then_and_now"]

DAY = timedelta(days=1)
MOMENT = timedelta(seconds=1)
UNDATED = datetime(2100, 1, 1, tzinfo=UTC)
"""When a graph without any date is asked."""


def graph_history(history: History, seed: int = 0) -> History:
    """Replace a history's questions by questions about its own facts, asked after its last session."""
    moments = [turn.said_at or session.started_at for session in history.sessions for turn in session.turns]
    last = max((moment for moment in moments if moment), default=None)
    asked = questions(history_quads(history), seed, asked_at=last + MOMENT if last else None)
    return replace(history, probes=tuple(asked))


def questions(
    known: Iterable[Quad], seed: int = 0, limit: int = 100, asked_at: datetime | None = None
) -> Iterator[Probe]:
    """Make at most `limit` questions, evenly of each kind, in an order that depends on the seed.

    Abilities are "one-hop", "two-hop", "before known" and "not known"; the last two have no answer. Questions about the
    past are asked at `asked_at` (by default once the last fact is known), questions about the present at moments up to
    then. The evidence is the sources of the facts.
    """
    graph = Knowledge(known)
    moments = [moment for quad in graph.quads for moment in (quad.since, quad.said) if moment]
    end = asked_at or max(moments, default=UNDATED) + MOMENT
    start = min((quad.said for quad in graph.quads if quad.said), default=min(moments, default=end))
    maker = _Maker(graph, TimeSpan(min(start, end - MOMENT), end), seed)
    one, two, before, never = (
        sorted(
            {p.id: p for p in kind if len(p.choices) > 1}.values(),
            key=lambda p: sha256(f"{seed}\0{p.id}".encode()).digest(),
        )
        for kind in (maker.hops(1), maker.hops(2), maker.before_known(), maker.not_known())
    )
    share = -(-(len(one) + len(two)) // UNKNOWN_SHARE)
    rounds = chain.from_iterable(zip_longest(one, two, before[:share], never[:share]))
    yield from [probe for probe in rounds if probe is not None][:limit]


@dataclass(frozen=True, slots=True)
class _Query:
    """A path of relations from a head, asked for a span of time, or without one for the moment of asking.

    `first` is the time of the first of two relations, where it is not that of the second.
    """

    head: str
    relations: tuple[str, ...]
    asked_at: datetime
    span: TimeSpan | None = None
    first: TimeSpan | None = None

    @property
    def times(self) -> tuple[TimeSpan, ...]:
        """The time for which each relation must hold."""
        time = self.span or TimeSpan(self.asked_at, self.asked_at + MOMENT)
        return (self.first, time) if self.first else (time,) * len(self.relations)


class _Maker:
    """Makes the questions of one graph; `life` lasts from its first statement until it is asked."""

    def __init__(self, graph: Knowledge, life: TimeSpan, seed: int) -> None:
        self.graph = graph
        self.life = life
        self.seed = seed
        self.usable = [quad for quad in graph.quads if _is_usable(quad)]
        self.stores = {quad.relation: quad.store for quad in self.usable}

    def hops(self, count: int) -> Iterator[Probe]:
        """Answerable questions over one or two relations."""
        paths: list[tuple[Quad, ...]] = [(quad,) for quad in self.usable]
        if count == 2:
            paths = [(*path, then) for path in paths for then in self.graph.of(path[0].tail) if _is_usable(then)]
        for path in paths:
            head, relations = path[0].head, tuple(quad.relation for quad in path)
            rng = self._rng(head, *relations, *(quad.source for quad in path))
            for query in self._forms(path, rng):
                answer = self.graph.follow(head, relations, query.times, query.asked_at)
                if answer and _can_be_asked(answer[-1]) and folded(answer[-1].tail) != folded(head):
                    yield self._probe(query, "one-hop" if count == 1 else "two-hop", rng, answer)
                    break

    def before_known(self) -> Iterator[Probe]:
        """Questions asked before any such fact was said or true, but after other facts were known."""
        for head, relation in dict.fromkeys((quad.head, quad.relation) for quad in self.usable):
            rng = self._rng("before", head, relation)
            dated = [min(q.said, q.since) if q.said and q.since else None for q in self.graph.about(head, relation)]
            first = min((moment for moment in dated if moment), default=self.life.start)
            if None in dated or first - self.life.start < DAY:
                continue
            asked_at = _within(TimeSpan(self.life.start, min(first, self.life.end)), rng)
            yield self._probe(_Query(head, (relation,), asked_at), "before known", rng)

    def not_known(self) -> Iterator[Probe]:
        """Questions about relations that a person lacks and others have."""
        people = {folded(quad.head): quad.head for quad in self.usable}
        for quad in self.usable:
            if quad.store == "relationship" and quad.relation not in THEN_AND_NOW:
                people.setdefault(folded(quad.tail), quad.tail)
        for head in (people[name] for name in sorted(people)):
            for relation in sorted(self.stores):
                if not self.graph.about(head, relation):
                    rng = self._rng("never", head, relation)
                    yield self._probe(_Query(head, (relation,), self.life.end), "not known", rng)

    def _forms(self, path: Sequence[Quad], rng: Random) -> Iterator[_Query]:
        """The queries to try, in order; over two relations with a time for each, unless the first lasts."""
        first = path[0]
        if len(path) == 1 or first.relation.split()[-1] in WORDING["lasting"] or not (first.since or first.until):
            yield from self._with_one_time(path, rng)
            return
        held = self._when_valid(path[:1])
        earlier = _calendar(_within(held, rng)) if held else ()
        for query in self._with_one_time(path[1:], rng):
            relations = (first.relation, *query.relations)
            for span in earlier:
                if span.end <= query.asked_at:
                    yield replace(query, head=first.head, relations=relations, first=span)

    def _with_one_time(self, path: Sequence[Quad], rng: Random) -> Iterator[_Query]:
        """The queries about a past time, or asked at a moment when the facts hold."""
        head, relations, valid = path[0].head, tuple(quad.relation for quad in path), self._when_valid(path)
        if valid is None:
            return
        known_from = max((moment for quad in path if (moment := quad.said or quad.since)), default=self.life.start)
        spans = _calendar(_within(valid, rng)) if any(quad.since or quad.until for quad in path) else ()
        forms = [_Query(head, relations, self.life.end, span) for span in spans if span.end <= self.life.end]
        if known_from < valid.end:
            now = _within(TimeSpan(max(known_from, valid.start), valid.end), rng)
            forms.insert(rng.choice((0, len(forms))), _Query(head, relations, now))
        yield from forms

    def _when_valid(self, path: Sequence[Quad]) -> TimeSpan | None:
        """When all facts of a path hold, within `life`; None if they never do."""
        start = max([self.life.start, *(quad.since for quad in path if quad.since)])
        end = min([self.life.end, *(quad.until for quad in path if quad.until)])
        return TimeSpan(start, end) if start < end else None

    def _probe(self, query: _Query, ability: str, rng: Random, path: Sequence[Quad] = ()) -> Probe:
        """The question that a path answers; without one, it has no answer."""
        subject, tail = (path[-1].head, path[-1].tail) if path else (query.head, "")
        choices, answer = self._choices(query, subject, tail, rng), tail or DONT_KNOW
        gold = Gold(
            (answer,),
            turns=_distinct(quad.source for quad in path),
            sessions=_distinct(quad.session for quad in path),
            items=_distinct(quad.session or quad.source for quad in path),
            choice=choices.index(answer),
            kind="semantic",
            answerable=bool(path),
        )
        store = self.stores.get(query.relations[-1], "profile")
        question = word_question(query.head, query.relations, store, query.span, query.first)
        digest = sha256(f"{ability}\0{question}\0{query.asked_at.isoformat()}".encode()).hexdigest()[:12]
        return Probe(f"graph:{digest}", question, query.asked_at, gold, ability, store, choices=choices)

    def _choices(self, query: _Query, subject: str, answer: str, rng: Random) -> tuple[str, ...]:
        """The answer among others of its kind, shuffled, with "I don't know" last, as in DialSim.

        What the subject had in the same relation before or has later comes first, then what others have in it.
        """
        relation = query.relations[-1]
        taken = {folded(answer), folded(query.head), folded(subject)}
        others = list[str]()
        own = [q for q in self.graph.about(subject, relation) if _can_be_asked(q)]
        alike = [q for q in self.usable if q.relation == relation]
        near = [q for q in self.usable if q.relation != relation and q.store == self.stores.get(relation)]
        for pool in (own, alike, near, self.usable):
            for tail in rng.sample([q.tail for q in pool], len(pool)):
                if folded(tail) not in taken:
                    taken.add(folded(tail))
                    others.append(tail)
        choices = ([answer, *others] if answer else others)[: CHOICES - 1]
        rng.shuffle(choices)
        return (*choices, DONT_KNOW)

    def _rng(self, *parts: str) -> Random:
        return Random("\0".join((str(self.seed), *parts)))


def _can_be_asked(quad: Quad) -> bool:
    return len(quad.tail) <= LONGEST_TAIL and "\n" not in quad.tail and folded(quad.tail) != quad.key[0]


def _is_usable(quad: Quad) -> bool:
    return quad.relation not in WORDING["trivial"] and _can_be_asked(quad)


def _calendar(moment: datetime) -> tuple[TimeSpan, TimeSpan]:
    """The month and the day of a moment."""
    day = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    month = day.replace(day=1)
    return TimeSpan(month, (month + 32 * DAY).replace(day=1)), TimeSpan(day, day + DAY)


def _within(span: TimeSpan, rng: Random) -> datetime:
    """Draw a moment of the span, to the second."""
    moment = span.start + rng.random() * (span.end - span.start)
    return max(span.start, moment.replace(microsecond=0))


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))


def word_question(
    head: str, relations: Sequence[str], store: Store, span: TimeSpan | None, first: TimeSpan | None = None
) -> str:
    """Word the question for the last relation of a path from a head, at a past time or, without a span, now.

    `store` is that of the answer: one in the relationship store is asked for as a person. The span is a calendar month
    or a day. With a time of its own for the first of two relations (DialSim, Kim et al. 2024, table 7):
    "Ana had a landlord in March 2026. Where did the landlord live on 3 May 2026?"
    """
    who, whose, do = ("I", "my", "do") if head.casefold() in WORDING["self"] else (head, f"{head}'s", "does")
    if first:
        relation, *rest = relations
        article = "" if _is_plural(relation) else "an " if relation[:1] in "aeiou" else "a "
        return f"{who} had {article}{relation} {_when(first)}. {word_question(f'the {relation}', rest, store, span)}"
    for relation in relations[:-1]:
        who, do = f"{whose} {relation}", "does"
        whose = f"{who}'s"
    relation = relations[-1]
    thing = "several" if _is_plural(relation) else "something"
    forms = THEN_AND_NOW.get(relation) or WORDING["by_name"]["somebody" if store == "relationship" else thing]
    when = _when(span) if span else ""
    return str(forms[0 if span else 1]).format(who=who, whose=whose, do=do, relation=relation, when=when)


def _is_plural(relation: str) -> bool:
    return relation.endswith("s") and not relation.endswith(("ss", "us"))


def _when(span: TimeSpan) -> str:
    return f"{'in' if span.end - span.start > DAY else 'on'} {describe_span(span)}"
