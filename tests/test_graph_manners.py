"""Each manner has every phrase, and what was told stands in it as it was told."""

from dataclasses import fields
from string import Formatter

import pytest

from graph.replies.phrases import MANNERS, Manner, manner

HOLES = {
    "noted": {"text"},
    "noted_on": {"text", "date"},
    "corrected": {"text"},
    "retracted": {"text"},
    "unrecorded": set(),
    "greeting": set(),
    "unknown": {"why"},
    "unsure": set(),
    "reminded": {"text"},
    "no_reminder": set(),
}


@pytest.mark.parametrize("name", MANNERS)
@pytest.mark.parametrize("phrase", [f.name for f in fields(Manner)])
def test_a_phrase_takes_what_it_is_given_and_no_more(name, phrase):
    said = getattr(MANNERS[name], phrase)
    for text in (said,) if isinstance(said, str) else said:
        holes = {hole for _, hole, _, _ in Formatter().parse(text) if hole is not None}
        assert holes == HOLES[phrase] or (phrase.startswith("noted") and holes == HOLES[phrase] - {"text"})


def test_no_two_manners_speak_alike():
    assert len({m.noted for m in MANNERS.values()}) == len({m.greeting for m in MANNERS.values()}) == len(MANNERS)


def test_a_manner_is_found_by_its_name_and_anything_else_is_plain():
    assert manner(" Warm ") is MANNERS["warm"]
    assert manner("like a pirate") is manner("") is MANNERS["plain"]


def test_braces_in_what_was_told_are_not_read_as_holes():
    assert "{text} {0}" in manner("plain").corrected.format(text="{text} {0}")
