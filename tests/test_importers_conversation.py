"""The path that was shown through a tree of messages."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memory.importers.chats.assistants import shown_path

FORKED = {"a": "", "b": "a", "c": "a", "d": "c", "e": "b"}


def test_the_path_leads_from_the_first_message_to_the_leaf():
    assert shown_path(FORKED, "e") == ["a", "b", "e"]
    assert shown_path(FORKED, "c") == ["a", "c"]


def test_without_a_leaf_the_latest_child_was_shown_at_every_branch():
    assert shown_path(FORKED, "") == ["a", "c", "d"]
    assert shown_path({**FORKED, "f": ""}, "gone") == ["f"]


def test_a_parent_that_is_missing_begins_the_path():
    assert shown_path({"b": "lost", "c": "b"}, "c") == ["b", "c"]


def test_a_circle_is_left_where_it_closes():
    assert shown_path({"a": "b", "b": "a"}, "a") == ["b", "a"]
    assert sorted(shown_path({"a": "b", "b": "a"}, "")) == ["a", "b"]
    assert shown_path({"a": "a"}, "") == ["a"]
    assert shown_path({}, "a") == []


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(["", *"abcdefghx"])), st.sampled_from("abcdefghx"))
def test_any_tree_gives_a_path_of_parents_without_repetition(parents, leaf):
    path = shown_path(parents, leaf)
    assert len(set(path)) == len(path)
    assert all(parents[later] == earlier for earlier, later in pairwise(path))
    assert bool(path) is bool(parents)
    if leaf in parents:
        assert path[-1] == leaf


def test_a_path_of_a_hundred_thousand_messages_ends():
    parents = {str(n): str(n - 1) if n else "" for n in range(100_000)}
    assert shown_path(parents, "99999") == shown_path(parents, "") == list(parents)
