"""Which candidates belong in a list: those related to the session, and those that people ask."""

import numpy as np
import pytest

from mtn_serving.features import NAMES
from mtn_serving.list_rules import MIN_FROM_SESSION, arrange

# The features that the rules use, for a candidate unrelated to the session.
STRAY = {
    "made_up": 0,
    "above_asked": np.nan,
    "words": 2,
    "new_words": 0,
    "log_probability": -9,
    "from_session": 0,
    "people_after": 0,
    "queries_ago": np.nan,
    "own_asked": 0,
}
RELATED = {**STRAY, "from_session": 1}
MADE_UP = {**RELATED, "made_up": 1, "words": 1}


def rows_of(*candidates):
    rows = np.full((len(candidates), len(NAMES)), np.nan, dtype=np.float32)
    for row, candidate in zip(rows, candidates):
        for name, value in candidate.items():
            row[NAMES.index(name)] = value
    return rows


def is_shown(candidate):
    return arrange(rows_of(candidate), [0]) == [(0, "likely")]


def test_related_candidates_keep_their_order():
    rows = rows_of(STRAY, RELATED, MADE_UP, RELATED)
    assert arrange(rows, [3, 2, 0, 1]) == [(3, "likely"), (1, "likely")]
    found = arrange(rows, [0, 1, 2, 3], unrelated=True)
    assert found == [(1, "likely"), (3, "likely"), (0, "unrelated")]
    assert arrange(rows_of(), []) == []


@pytest.mark.parametrize(
    "what",
    [
        {"from_session": MIN_FROM_SESSION},
        {"people_after": 2},
        {"people_after": np.nan},
        {"queries_ago": 3},
        {"own_asked": np.log(2)},
    ],
)
def test_related_candidates(what):
    """Similar text, queries that two people asked after the last one, and the person's own queries.

    NaN: there are no counts.
    """
    assert is_shown({**STRAY, **what})


@pytest.mark.parametrize("what", [{"from_session": 0.49}, {"people_after": 1}, {}])
def test_unrelated_candidates(what):
    assert not is_shown({**STRAY, **what})


@pytest.mark.parametrize(
    "what, shown",
    [
        ({}, True),
        ({"words": 1, "above_asked": 9}, False),
        ({"log_probability": np.nan}, False),
        ({"new_words": 1, "above_asked": 0.01}, True),
        ({"new_words": 1, "above_asked": 0.0}, False),
        ({"new_words": 1}, False),
    ],
)
def test_made_up_text(what, shown):
    """Shown with two words of the session, or if likelier than every query that people asked.

    NaN: there is no model, or no query that people asked.
    """
    candidate = {**MADE_UP, "words": 2, **what}
    assert is_shown(candidate) == shown
    assert not is_shown({**candidate, "from_session": 0})


def test_queries_that_people_ask_may_have_one_word_or_new_words():
    assert is_shown({**RELATED, "words": 1}) and is_shown({**RELATED, "new_words": 1})
