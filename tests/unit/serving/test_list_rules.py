"""Which candidates belong in a list: what has to do with the session, and what people ask."""

import numpy as np
import pytest

from mtn_serving.features import NAMES
from mtn_serving.list_rules import MIN_FROM_SESSION, belongs

# What the rules look at, of a candidate that has nothing to do with the session.
STRAY = {
    "made_up": 0,
    "above_asked": np.nan,
    "from_session": 0,
    "people_after": 0,
    "queries_ago": np.nan,
    "own_asked": 0,
}
RELATED = {**STRAY, "from_session": 1}
MADE_UP = {**RELATED, "made_up": 1, "above_asked": -0.5}


def rows_of(*candidates):
    rows = np.full((len(candidates), len(NAMES)), np.nan, dtype=np.float32)
    for row, candidate in zip(rows, candidates):
        for name, value in candidate.items():
            row[NAMES.index(name)] = value
    return rows


def test_related_and_unrelated():
    assert belongs(rows_of(STRAY, RELATED, MADE_UP)).tolist() == [False, True, False]
    assert belongs(rows_of()).tolist() == []


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
def test_what_is_related(what):
    """What says the same, what two people asked after it, and what this person ever asked.

    Not a number: there are no counts.
    """
    assert belongs(rows_of({**STRAY, **what})).tolist() == [True]


@pytest.mark.parametrize("what", [{"from_session": 0.49}, {"people_after": 1}, {}])
def test_what_is_not(what):
    assert belongs(rows_of({**STRAY, **what})).tolist() == [False]


@pytest.mark.parametrize("above_asked, shown", [(0.01, True), (0.0, False), (np.nan, False)])
def test_made_up_text_must_be_likelier_than_all_that_people_asked(above_asked, shown):
    """Not a number: there is no model."""
    likely = {**MADE_UP, "above_asked": above_asked}
    assert belongs(rows_of(likely)).tolist() == [shown]
    assert belongs(rows_of({**likely, "from_session": 0})).tolist() == [False]
