"""The relations of a show's scenes, as a temporal knowledge graph (section 3.1.3, appendix D.1).

A fact holds from the day of the scene that states it. As LongDialQA's files do not say how long, one of `ONE_AT_A_TIME`
holds until another takes its place or ends it ("ex-wife" ends "wife"), and any other for good.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from eval.benchmarks.dialsim.generation.scenes import Scene
from eval.making.parts import Part
from eval.making.quads import Quad, folded
from eval.making.writer import LeftOut, Name, Phrase, Writer, bound, one_line
from graph.models.json_replies import StrictReply
from memory.search.tokens import FUNCTION_WORDS, words

ATTRIBUTES = frozenset({"age", "date of birth", "hometown", "job", "major", "place of birth", "place of work"})
ONE_AT_A_TIME = frozenset(
    {"age", "boss", "boyfriend", "dating with", "fiance", "fiancee", "girlfriend", "husband", "job", "major"}
    | {"place of work", "wife"}
)
RELATIONS = (
    *("age", "alumni", "boss", "boyfriend", "brother", "client", "date of birth", "dating with", "ex-boyfriend"),
    *("ex-fiance", "ex-fiancee", "ex-girlfriend", "ex-husband", "ex-roommate", "ex-wife", "father", "fiance"),
    *("fiancee", "girlfriend", "hometown", "husband", "job", "major", "mother", "neighbor", "pet", "place of birth"),
    *("place of work", "roommate", "sister", "subordinate", "wife"),
)
"""All 32 of them (appendix D.1)."""


class Triple(StrictReply):
    """Somebody's relation to somebody or something."""

    head: Name
    relation: Name
    tail: Phrase


class Triples(StrictReply):
    """The relations that a scene states (section 3.1.3)."""

    triples: Annotated[list[Triple], bound(maxItems=12)]


class SceneFacts(Part):
    """What one scene states."""

    facts: list[Triple]


def read_facts(scene: Scene, writer: Writer) -> SceneFacts:
    """Ask for the triples of a scene; those that it does not name, or that score low, are left out."""
    writer.begin("relations")
    data = {"day": scene.day, "scene": scene.script}
    facts = list[Triple]()
    with writer.leave_out():
        for triple in writer.ask(Triples, relations=list(RELATIONS), **data).triples:
            head, relation, tail = one_line(triple.head), one_line(triple.relation).lower(), one_line(triple.tail)
            fact = Triple(head=head, relation=relation, tail=tail)
            with writer.leave_out():
                _check(fact, scene, facts)
                writer.score("TripleScore", "scored too low", **data, triple=[head, relation, tail])
                facts.append(fact)
    return SceneFacts(facts=facts)


def quads(sessions: Sequence[Scene], facts: Sequence[SceneFacts]) -> list[Quad]:
    """The facts of all sessions, from the day each is stated; their source is the session's place, from 0."""
    stated = [
        Quad(
            fact.head,
            fact.relation,
            fact.tail,
            since=scene.date,
            source=str(place),
            said=scene.time,
            store="profile" if fact.relation in ATTRIBUTES else "relationship",
            session=str(place),
        )
        for place, (scene, part) in enumerate(zip(sessions, facts, strict=True))
        for fact in part.facts
    ]
    return [replace(quad, until=_end(quad, stated)) for quad in stated]


def _end(quad: Quad, stated: Iterable[Quad]) -> datetime | None:
    """When another fact took the place of this one, or ended it."""
    return min((other.since for other in stated if other.since and _ends(other, quad)), default=None)


def _ends(later: Quad, quad: Quad) -> bool:
    if not later.since or not quad.since or later.since <= quad.since:
        return False
    is_same = folded(later.tail) == folded(quad.tail)
    if later.key == quad.key:
        return quad.relation in ONE_AT_A_TIME and not is_same
    return later.key == (quad.key[0], f"ex-{quad.relation}") and is_same


def _as_words(text: str) -> str:
    """The words, without a possessive 's, with a space before and after each."""
    plain = " ".join(word.removesuffix("'s") for word in words(text))
    return f" {plain} "


def _check(fact: Triple, scene: Scene, others: Sequence[Triple]) -> None:
    """Refuse a fact that is none, that its scene does not name, or that is there already."""
    if fact.relation not in RELATIONS:
        raise LeftOut("no relation of the paper")
    said = _as_words(scene.script)
    for name in (fact.head, fact.tail):
        if FUNCTION_WORDS.issuperset(words(name)) or _as_words(name) not in said:
            raise LeftOut("not named in the scene")
    if folded(fact.head) == folded(fact.tail):
        raise LeftOut("of itself")
    if fact in others:
        raise LeftOut("the same twice")
