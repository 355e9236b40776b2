"""Read who is what to whom from a memory that a source, a person or a model put into words.

A memory that Memoir words itself comes with its `Relation`. One in somebody else's words is read here once, when it is
stored; from then on the relation is data. Only plain forms are read: a relation that is missed can be added by editing
the memory, a wrong one misleads.
"""

import re
from collections.abc import Mapping

from memory import fill, read_table
from memory.types import MemoryDraft, Relation

_TABLE = read_table(__file__)
_PROFILE: Mapping[str, str] = _TABLE["profile"]


_FIRST_NAME, *_SENTENCES = (re.compile(fill(source, _TABLE["parts"])) for source in ("{name}", *_TABLE["sentences"]))

MAX_READ = 1000
"""Characters in which a sentence or name is sought: the patterns match from the first word on."""

YOU = "You"
"""Who talks with the persona: what "my sister" is remembered as is "your sister"."""
_YOUR = re.compile(r"\b[Yy]our\b")


def name_user(text: str, user: str) -> str:
    """A fact about the user in the words of others: "Luc is your father" is "Luc is Ana's father"."""
    return _YOUR.sub(lambda _: f"{user}'s", text)


def relation_of(draft: MemoryDraft) -> Relation | None:
    """The relation that a profile or relationship memory comes with, or else the one that its words state."""
    if draft.relation is not None:
        return draft.relation
    text, attribute = draft.text.strip(), draft.attribute.strip()
    if draft.store == "profile":
        return _labelled(text, attribute, draft.speaker) or _profile_fact(text, attribute, draft.speaker)
    if draft.store == "relationship":
        start = text[:MAX_READ]
        return _sentence(start, draft.speaker) or _labelled(text, attribute, draft.speaker) or _named(start, attribute)
    return None


def _sentence(text: str, speaker: str) -> Relation | None:
    """Read "Leila is Noor's younger sister" as (Noor, younger sister, Leila); "my" is the speaker's."""
    match = next(filter(None, (sentence.match(text) for sentence in _SENTENCES)), None)
    if match is None:
        return None
    words = match.groupdict()
    mine = speaker if speaker and (words.get("mine") or "").casefold() == "my" else YOU
    was = " (was)" if words.get("tense") == "was" else ""
    return Relation(words["head"] or mine, words["name"].strip() + was, words["tail"].rstrip("."))


def _labelled(text: str, attribute: str, speaker: str) -> Relation | None:
    """Read "Home: Porto", where the memory's attribute is "home"."""
    match = re.fullmatch(rf"{re.escape(attribute)}\s*[:：]\s*(?P<tail>.+)", text, re.IGNORECASE) if attribute else None
    return Relation(speaker, attribute, match["tail"].strip()) if match and match["tail"].strip() else None


def _profile_fact(text: str, attribute: str, speaker: str) -> Relation | None:
    """Read "Lives in Porto" as (speaker, home, Porto)."""
    for beginning, name in _PROFILE.items():
        if text.startswith(beginning) and (attribute or name):
            return Relation(speaker, attribute or name, text.removeprefix(beginning).strip())
    return None


def _named(text: str, attribute: str) -> Relation | None:
    """Read "Li Ming (brother): a baker", or "Tomas plays the fiddle" with the attribute "partner".

    The head is left empty: such a source describes one person and does not name them.
    """
    if not attribute:
        return None
    match = re.match(rf"(?P<tail>[^()\n]+?) \({re.escape(attribute)}\)(?=$|:)", text, re.IGNORECASE)
    if match:
        return Relation("", attribute, match["tail"].strip())
    name = _FIRST_NAME.match(text)
    return Relation("", attribute, name.group()) if name else None
