"""Read the relations of a memory as a temporal knowledge graph: head, relation, tail, and when it held.

DialSim (Kim et al. 2024, section 3.1.3) makes questions from quadruples [head, relation, tail, date] of TV scripts;
here they come from the profile and relationship memories of a file, and from what sessions say.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from eval.play.simulation.simulate import sort_by_time_and_number
from eval.types import History
from graph.learning.facts import facts
from memory.types import MemoryDraft, SessionDraft, Store, TimeSpan


@dataclass(frozen=True, slots=True)
class Quad:
    """One fact: `head` has `tail` as its `relation`.

    It holds from `since` until before `until`, without bound where one is None. It is known from when it was `said`.
    `source` is the id of the memory or turn that it comes from, `session` that of the session, if any.
    """

    head: str
    relation: str
    tail: str
    since: datetime | None = None
    until: datetime | None = None
    source: str = ""
    said: datetime | None = None
    store: Store = "profile"
    session: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Head and relation, for comparison."""
        return folded(self.head), self.relation

    def is_known(self, as_of: datetime) -> bool:
        """Whether it had been said by then; facts without a date are always known."""
        known = self.said or self.since
        return known is None or known <= as_of

    def meets(self, span: TimeSpan) -> bool:
        """Whether it holds at any moment of the span."""
        return (self.since is None or self.since < span.end) and (self.until is None or span.start < self.until)

    def covers(self, span: TimeSpan) -> bool:
        """Whether it holds throughout the span."""
        return (self.since is None or self.since <= span.start) and (self.until is None or span.end <= self.until)


def folded(name: str) -> str:
    """Normalise a name for comparison: case-folded, without surrounding punctuation."""
    return " ".join(name.casefold().split()).strip(" .,;")


class Knowledge:
    """Facts in order, indexed by head."""

    def __init__(self, quads: Iterable[Quad]) -> None:
        self.quads = tuple(sorted(quads, key=_order))
        self._of_head = {head: list(known) for head, known in groupby(self.quads, lambda quad: quad.key[0])}

    def of(self, head: str) -> Sequence[Quad]:
        """All facts with a head."""
        return self._of_head.get(folded(head), ())

    def about(self, head: str, relation: str) -> Sequence[Quad]:
        """All facts with a head and a relation, whenever they held."""
        return [quad for quad in self.of(head) if quad.relation == relation]

    def follow(
        self, head: str, relations: Sequence[str], spans: Sequence[TimeSpan], as_of: datetime
    ) -> list[Quad] | None:
        """The path of facts from a head over relations, each throughout its span.

        None unless of each relation exactly one fact is known that holds at any moment of its span.
        """
        path: list[Quad] = []
        for relation, span in zip(relations, spans, strict=True):
            met = [q for q in self.about(head, relation) if q.is_known(as_of) and q.meets(span)]
            quad = next((q for q in met if q.covers(span)), None)
            if quad is None or len({folded(q.tail) for q in met}) > 1:
                return None
            path.append(quad)
            head = quad.tail
        return path


def quads(memories: Iterable[MemoryDraft], whose: str = "") -> Iterator[Quad]:
    """Yield the facts in profile and relationship memories that have a relation.

    `whose` is the head where neither the relation nor the memory's speaker names one (PerLTQA's profiles). A profile
    has one fact of a relation at a time: as in the bank, a later one ends earlier ones. Several relationships of a kind
    may hold at once.
    """
    read = [quad for number, memory in enumerate(memories) if (quad := _quad(memory, whose, f"memory {number}"))]
    starts: defaultdict[tuple[str, str], list[datetime]] = defaultdict(list)
    for quad in read:
        if quad.store == "profile" and quad.since:
            starts[quad.key].append(quad.since)
    for quad in read:
        later = [since for since in starts[quad.key] if quad.store == "profile" and quad.since and since > quad.since]
        yield replace(quad, until=min([*later, quad.until] if quad.until else later, default=None))


def history_quads(history: History) -> list[Quad]:
    """The facts in a history's memories, and in what its sessions taught.

    If there are none, they are those in the plain statements that a chat learns from (`graph.learning.facts`).
    """
    sessions = sort_by_time_and_number(history.sessions)
    learned = [(memory, session.external_id) for session in sessions for memory in _learned(session)]
    known = list(quads([*history.memories, *(memory for memory, _ in learned)], history.persona.name))
    if not known:
        learned = [(memory, session.external_id) for session in sessions for memory in _stated(session)]
        known = list(quads(memory for memory, _ in learned))
    session_of = {memory.external_id: name for memory, name in learned}
    return [replace(quad, session=session_of.get(quad.source, "")) for quad in known]


def _learned(session: SessionDraft) -> Iterator[MemoryDraft]:
    """The memories that were learned in a session, under the ids of the turns that said them."""
    for each in session.learned:
        yield _from_turn(each.memory, session, min((quote.turn for quote in each.quotes), default=0))


def _stated(session: SessionDraft) -> Iterator[MemoryDraft]:
    for place, turn in enumerate(session.turns):
        said_at = turn.said_at or session.started_at
        if said_at is not None and turn.role != "assistant":
            for memory in facts(turn.text, turn.speaker, said_at):
                yield _from_turn(memory, session, place)


def _from_turn(memory: MemoryDraft, session: SessionDraft, place: int) -> MemoryDraft:
    turn = session.turns[place] if place < len(session.turns) else None
    name = (turn.external_id if turn else "") or f"{session.external_id}:{place + 1}"
    return replace(memory, external_id=name, said_at=memory.said_at or session.started_at)


def _quad(memory: MemoryDraft, whose: str, unnamed: str) -> Quad | None:
    relation = memory.relation
    if memory.store not in ("profile", "relationship") or relation is None or not folded(relation.tail):
        return None
    head = relation.head or memory.speaker or whose
    if not folded(head):
        return None
    return Quad(
        head,
        folded(relation.name),
        relation.tail.strip(),
        memory.valid_from or memory.said_at,
        memory.valid_to,
        memory.external_id or unnamed,
        memory.said_at,
        memory.store,
    )


def _order(quad: Quad) -> tuple[str, str, str, float, float, str]:
    since, until = (moment.timestamp() if moment else 0.0 for moment in (quad.since, quad.until))
    return *quad.key, folded(quad.tail), since, until, quad.source
