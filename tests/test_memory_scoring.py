"""Each factor of recall does what it says, does nothing at 0, and leaves facts their own match."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.dates.expressions import TimeExpression
from memory.search.engine.postings import term_code
from memory.search.engine.segments import Columns
from memory.search.scoring import DIALOGUE, Candidates, SearchSettings, Subject, mix, score
from memory.types import STORES, TimeSpan

OFF = {"speaker": 0.0, "time": 0.0, "neighbours": 0.0}
MAY = datetime(2024, 5, 1, tzinfo=UTC)
FACT = STORES.index("profile")
NEVER = float("nan")


def candidates(lexical, *, turns=None, sessions=None, places=None, speakers=None, own=None, said=None, embedded=None):
    """Candidates that differ in what is given, all turns of one session by nobody unless it says otherwise."""
    n = len(lexical)
    words = np.array(lexical, dtype=float)
    told = np.full(n, NEVER) if said is None else np.array([NEVER if t is None else t.timestamp() for t in said])
    columns = Columns(
        ids=np.arange(1, n + 1),
        stores=np.where(np.ones(n, dtype=bool) if turns is None else turns, DIALOGUE, FACT).astype(np.int8),
        sessions=np.array(sessions or [1] * n),
        known_since=np.full(n, -np.inf),
        starts=told,
        ends=told,
        speakers=np.array([term_code(name) for name in speakers or [""] * n], dtype=np.uint64),
        by_user=np.array(own or [False] * n, dtype=np.int8),
    )
    return Candidates(
        columns,
        places=np.array(places or range(n)),
        valid_until=np.full(n, np.inf),
        embedded=np.ones(n, dtype=bool) if embedded is None else np.array(embedded),
        share_in_vocabulary=np.ones(1),
        lexical=words[None],
        dense=words[None].copy(),
    )


def weighed(found, asked=None, **settings):
    return score(found, [1.0], asked or Subject(), SearchSettings(**{**OFF, **settings}))


def may(days, sure=True):
    return TimeExpression("", 0, 0, TimeSpan(MAY, MAY + timedelta(days=days)), sure)


def test_with_every_factor_off_the_total_is_the_match_alone():
    found = candidates([3, 0, 1, 2], speakers=["Ana", "Bo", "Ana", "Bo"], own=[True, False] * 2, said=[MAY] * 4)
    done = weighed(found, Subject(("Ana",), True, (may(3),)))
    np.testing.assert_allclose(done["total"], mix(found.lexical[0], found.dense[0], found.embedded, 0.8))
    assert not any(done[factor].any() for factor in ("speaker", "time", "neighbours"))


def test_the_best_match_is_one_the_worst_keeps_a_standard_deviation_and_no_match_is_nothing():
    np.testing.assert_allclose(weighed(candidates([4, 2, 2, 0]))["total"][[0, 3]], [1.0, 0.0])
    # 3 and 1 are one standard deviation above and below their mean: 2 + 1 above nothing, and 0 + 1.
    np.testing.assert_allclose(weighed(candidates([3, 1]))["total"], [1.0, 1 / 3])
    np.testing.assert_allclose(weighed(candidates([0.01]))["total"], [1.0])


def test_what_has_no_vector_yet_is_judged_by_its_words_alone():
    found = candidates([2, 1, 2], embedded=[True, True, False])
    found.dense[0] = [0.1, 0.9, 0.0]
    total = weighed(found)["total"]
    assert total[2] > total[0]
    assert total[2] > 0


def test_each_view_has_its_own_share_of_meaning():
    found = candidates([1.0, 0.0])
    words, meaning = np.array([[1.0, 0.0], [0.1, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    found = replace(found, lexical=words, dense=meaning, share_in_vocabulary=np.array([0.2, 1.0]))
    illegible, legible = (score(found, w, Subject(), SearchSettings(**OFF)) for w in ([1, 0], [0, 1]))
    assert illegible["total"][0] > illegible["total"][1]
    assert legible["total"][0] < legible["total"][1]


def test_meaning_counts_no_more_than_the_encoder_understands():
    found = candidates([1.0, 0.0])
    for legible, dense_weight, meaning in ((1.0, 0.8, 0.8), (0.5, 0.8, 0.4), (0.0, 0.8, 0.0), (0.0, 1.0, 1.0)):
        read = replace(found, share_in_vocabulary=np.array([legible]))
        assert weighed(read, dense_weight=dense_weight)["meaning"] == pytest.approx(meaning)


@pytest.mark.parametrize(
    ("asked", "raised"),
    [
        (Subject(("Ana",)), [True, False, False]),
        (Subject(("Ana", "Bo")), [True, True, False]),
        (Subject(("Ana",), about_self=True), [True, False, False]),
        (Subject((), about_self=True), [False, True, False]),
        (Subject(), [False, False, False]),
    ],
)
def test_the_words_of_those_it_is_about_gain(asked, raised):
    found = candidates([1, 1, 1], speakers=["Ana", "Bo", "Cy"], own=[False, True, False])
    done = weighed(found, asked, speaker=0.5)
    np.testing.assert_allclose(done["speaker"], np.where(raised, 0.5 * done["fused"], 0.0))


def closeness(days, *, sure=True, width=1):
    found = candidates([1], said=[MAY + timedelta(days=days) if days is not None else None])
    return float(weighed(found, Subject(times=(may(width, sure),)), time=1.0)["time"][0])


def test_what_is_of_the_time_is_nearest_and_what_comes_after_fades_slower_than_what_came_before():
    assert closeness(0) == closeness(0.5) == 1.0
    assert 1.0 > closeness(3) > closeness(10) > 0.0
    assert closeness(-2) < closeness(1 + 2)
    assert closeness(None) == 0.0


def test_a_wide_time_fades_slower_than_a_narrow_one():
    assert closeness(30 + 20, width=30) > closeness(1 + 20)
    assert closeness(-2, width=30) > closeness(-2)


def test_a_guess_at_a_time_counts_less_than_a_date():
    assert 0 < closeness(0, sure=False) < closeness(0) / 2


def test_of_several_times_the_nearest_counts():
    found = candidates([1], said=[MAY])
    times = (TimeExpression("", 0, 0, TimeSpan(MAY - timedelta(days=90), MAY - timedelta(days=60))), may(1))
    assert weighed(found, Subject(times=times), time=1.0)["time"][0] == 1.0


def test_a_turn_lends_to_the_next_and_half_as_much_to_the_one_beyond():
    done = weighed(candidates([0, 0, 0, 1, 0, 0, 0]), neighbours=0.4)
    np.testing.assert_allclose(done["neighbours"], [0, 0.2, 0.4, 0, 0.4, 0.2, 0])


def test_only_the_better_of_two_neighbours_lends():
    done = weighed(candidates([1, 0, 0.5]), neighbours=0.4)
    assert done["neighbours"][1] == pytest.approx(0.4)


def test_nothing_is_lent_across_sessions_or_gaps_or_to_facts():
    across = candidates([0, 1, 0], sessions=[1, 2, 3])
    apart = candidates([0, 1, 0], places=[0, 4, 9])
    facts = candidates([0, 1, 0], turns=[False, True, False], places=[-2, 1, -6], sessions=[0, 1, 0])
    for found in (across, apart, facts):
        assert not weighed(found, neighbours=0.4)["neighbours"].any()


def test_a_turn_between_that_is_no_candidate_does_not_join_those_around_it():
    done = weighed(candidates([1, 0], places=[0, 2]), neighbours=0.4)
    np.testing.assert_allclose(done["neighbours"], [0, 0.2])


def test_the_factors_of_turns_leave_the_place_of_a_fact_to_its_own_match():
    asked = Subject(("Ana",))
    on = {"speaker": 0.4, "neighbours": 0.3}
    for match, wins in ((1.0, True), (0.99, False)):
        found = candidates(
            [1, 0.4, match], turns=[True, True, False], places=[0, 1, -6], sessions=[1, 1, 0], speakers=["Ana"] * 3
        )
        total = weighed(found, asked, **on)["total"]
        assert total[2] == pytest.approx(weighed(found)["total"][2])
        assert bool(total[2] >= total[:2].max()) is wins


amounts = st.floats(0, 1)


@given(
    st.lists(st.tuples(st.integers(0, 50), st.booleans(), st.integers(1, 4)), max_size=20),
    st.fixed_dictionaries(dict.fromkeys(OFF, amounts)),
)
def test_no_factor_takes_anything_away_and_no_total_leaves_the_range(rows, settings):
    words, turns, sessions = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    found = candidates(words, turns=np.array(turns, dtype=bool), sessions=sessions, own=[True] * len(words))
    done = weighed(found, Subject(about_self=True), **settings)
    for part in (
        done["fused"],
        done["speaker"],
        done["time"],
        done["neighbours"],
        done["total"],
    ):
        assert part.shape == (len(words),)
        assert (part >= 0).all()
    assert (done["total"] <= 1 + settings["time"] + 1e-9).all()
