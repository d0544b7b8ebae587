"""The places of a list: what has to do with the session first, what nobody asked last."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtn_serving.features import NAMES
from mtn_serving.list_rules import FIRST_PLACES, RULES, arrange

# What the rules look at, of a candidate that has nothing to do with the session.
STRAY = {
    "made_up": 0,
    "above_asked": np.nan,
    "shared_with_last": 0,
    "shared_with_earlier": 0,
    "people_after": 0,
    "queries_ago": np.nan,
    "own_asked": 0,
}
RELATED = {**STRAY, "shared_with_last": 1}
MADE_UP = {**RELATED, "made_up": 1, "above_asked": -0.5}
MADE_UP_STRAY = {**STRAY, "made_up": 1, "above_asked": -0.5}


def rows_of(*candidates):
    rows = np.full((len(candidates), len(NAMES)), np.nan, dtype=np.float32)
    for row, candidate in zip(rows, candidates):
        for name, value in candidate.items():
            row[NAMES.index(name)] = value
    return rows


def arranged(*candidates):
    """Places of the candidates, likeliest first, in the list."""
    return [tuple(each) for each in arrange(rows_of(*candidates), range(len(candidates)))]


def test_the_first_places_are_for_what_has_to_do_with_the_session():
    assert arranged(STRAY, RELATED, STRAY, RELATED, RELATED, RELATED) == [
        (1, "first"),
        (3, "first"),
        (4, "first"),
        (0, "likely"),
        (2, "likely"),
        (5, "likely"),
    ]


def test_the_order_given_is_that_of_likelihood():
    found = arrange(rows_of(RELATED, STRAY, RELATED), [2, 1, 0])
    assert [each.row for each in found] == [2, 0, 1]


def test_made_up_text_comes_behind_what_people_asked():
    assert arranged(MADE_UP, RELATED, RELATED, RELATED, STRAY, MADE_UP_STRAY) == [
        (1, "first"),
        (2, "first"),
        (3, "first"),
        (4, "likely"),
        (0, "made up"),
        (5, "made up"),
    ]


@pytest.mark.parametrize("above_asked, place", [(0.01, 0), (0.0, 3), (-0.01, 3), (np.nan, 3)])
def test_unless_the_model_finds_it_likelier_than_all_of_that(above_asked, place):
    """Not a number: there is no model."""
    likely = {**MADE_UP, "above_asked": above_asked}
    found = [row for row, _ in arranged(likely, RELATED, RELATED, RELATED)]
    assert found.index(0) == place


def test_likely_or_not_made_up_text_may_be_stray():
    """It stands where people's popular queries do, not in the first places."""
    likely = {**MADE_UP_STRAY, "above_asked": 1.0}
    assert arranged(likely, RELATED, STRAY) == [(1, "first"), (0, "likely"), (2, "likely")]


@pytest.mark.parametrize(
    "what",
    [
        {"shared_with_last": 2},
        {"shared_with_earlier": 1},
        {"people_after": 2},
        {"queries_ago": 3},
        {"own_asked": np.log(2)},
    ],
)
def test_what_is_not_stray(what):
    """Words of the session, what two people asked after it, and what this person ever asked."""
    assert arranged(STRAY, {**STRAY, **what}) == [(1, "first"), (0, "likely")]


@pytest.mark.parametrize("people", [0, 1, np.nan])
def test_what_one_person_asked_after_the_last_query_is_stray(people):
    """Not a number: there are no counts."""
    assert arranged({**STRAY, "people_after": people}) == [(0, "likely")]


def test_where_few_are_of_the_session_made_up_text_that_is_comes_before_popular_queries():
    assert arranged(STRAY, RELATED, MADE_UP, MADE_UP_STRAY, MADE_UP, MADE_UP) == [
        (1, "first"),
        (2, "first made up"),
        (4, "first made up"),
        (0, "likely"),
        (3, "made up"),
        (5, "made up"),
    ]
    assert arranged(MADE_UP_STRAY, STRAY) == [(1, "likely"), (0, "made up")]
    assert arranged() == []


kinds = st.sampled_from([0.0, 1.0, 2.0, np.nan])
candidates = st.lists(st.fixed_dictionaries(dict.fromkeys(STRAY, kinds)), max_size=12)


@given(candidates, st.randoms())
def test_nothing_is_lost_and_likelier_ones_come_first_within_a_rule(found, random):
    ranked = list(range(len(found)))
    random.shuffle(ranked)
    placed = arrange(rows_of(*found), ranked)
    assert sorted(each.row for each in placed) == sorted(ranked)
    for rule in RULES:
        places = [ranked.index(each.row) for each in placed if each.rule == rule]
        assert places == sorted(places)
    rules = [each.rule for each in placed]
    assert rules == sorted(rules, key=RULES.index)
    assert sum(rule.startswith("first") for rule in rules) <= FIRST_PLACES
