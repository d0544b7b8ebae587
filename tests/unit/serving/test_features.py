"""The features of candidates, computed by hand."""

import gc
import math

import numpy as np
import pytest
from test_next_queries import table_of

from mtn_serving.candidates import Candidate
from mtn_serving.engine import Scores
from mtn_serving.features import NAMES, Known, features, features_of_batch
from mtn_serving.history import past_of


def column(rows, name):
    return rows[:, NAMES.index(name)].tolist()


SESSION = ["red car", "car hire"]
TABLE = table_of([["car hire", "red car"], ["car hire", "blue car"], ["car hire", "red car"]])
CANDIDATES = [
    Candidate("red car", "counts", counted=0, queries_ago=2),
    Candidate("car hire rome", "beam", hypothesis=1),
    Candidate("car", "edits", edit=0),
]


def test_features_by_hand():
    scores = Scores(np.log([0.5, 0.25, 0.25]), np.array([3, 4, 2]), np.array([0, 1, 0]))
    rows = features(SESSION, CANDIDATES, TABLE, scores)
    assert rows.shape == (3, len(NAMES))
    assert column(rows, "queries") == [2, 2, 2]
    assert column(rows, "last_words") == [2, 2, 2]
    assert column(rows, "last_asked")[0] == pytest.approx(math.log(1 + 3))
    assert column(rows, "last_followed")[0] == pytest.approx(math.log(1 + 3))
    np.testing.assert_equal(column(rows, "counted_place"), [0, math.nan, math.nan])
    np.testing.assert_equal(column(rows, "hypothesis_place"), [math.nan, 1, math.nan])
    np.testing.assert_equal(column(rows, "edit_kind"), [math.nan, math.nan, 0])
    np.testing.assert_equal(column(rows, "queries_ago"), [2, math.nan, math.nan])
    assert column(rows, "share_after_1") == pytest.approx([2 / 3, 0, 0])
    assert column(rows, "count_after_1") == [2, 0, 0]
    assert np.isnan(column(rows, "share_after_2")).all()  # `red car, car hire` is not in the text
    assert column(rows, "asked") == pytest.approx([math.log(3), 0, 0])
    assert column(rows, "below_best") == pytest.approx([0, math.log(0.5), math.log(0.5)])
    assert column(rows, "model_place") == [0, 1, 2]
    assert column(rows, "log_probability_per_token")[1] == pytest.approx(math.log(0.25) / 4)
    assert column(rows, "unknown_words") == [0, 1, 0]
    # Twice the shared words over all words of both texts: 1, 2/5, 2/3 for the first candidate.
    assert column(rows, "agreement")[0] == pytest.approx(0.5 + 0.25 * 2 / 5 + 0.25 * 2 / 3)
    assert column(rows, "words") == [2, 3, 1]
    assert column(rows, "shared_with_last") == [1, 2, 1]
    assert column(rows, "share_of_last_kept") == [0.5, 1, 0.5]
    assert column(rows, "share_of_it_from_last") == pytest.approx([0.5, 2 / 3, 1])
    assert column(rows, "shared_with_earlier") == [1, 0, 0]
    assert column(rows, "new_words") == [0, 1, 0]
    assert column(rows, "starts_with_last") == [0, 1, 0]
    assert column(rows, "last_starts_with_it") == [0, 0, 1]


def test_no_candidates_give_no_rows():
    nothing = Scores(*(np.empty(0) for _ in Scores._fields))
    assert features(["a"], [], None, nothing).shape == (0, len(NAMES))


def test_lists_of_a_batch_are_computed_as_if_alone():
    scores = Scores(np.log([0.5, 0.25, 0.25]), np.array([3, 4, 2]), np.array([0, 1, 0]))
    one = Scores(np.log([0.1]), np.array([2]), np.array([0]))
    past = past_of([["car", "car hire", "car"]], "car hire")
    batch = [
        Known(SESSION, CANDIDATES, scores, past),
        Known(["a"], [], Scores(*(np.empty(0) for _ in Scores._fields))),
        Known(["blue car"], CANDIDATES[1:], None),
        Known(["car hire", "red car"], CANDIDATES[2:], one),
    ]
    for table in (TABLE, None):
        for rows, known in zip(features_of_batch(batch, table), batch):
            session, candidates, of_session, history = known
            alone = features(session, candidates, table, of_session, history)
            np.testing.assert_allclose(rows, alone, rtol=1e-6)
        assert [len(rows) for rows in features_of_batch(batch, table)] == [3, 0, 2, 1]


def test_nothing_is_left_for_the_garbage_collector():
    scores = Scores(np.log([0.5, 0.25, 0.25]), np.array([3, 4, 2]), np.array([0, 1, 0]))
    gc.collect()
    gc.disable()
    try:
        features(SESSION, CANDIDATES, TABLE, scores)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_unknown_features_are_nan():
    rows = features(SESSION, CANDIDATES, None, None)
    for name in ("asked", "share_after_1", "last_followed", "log_probability", "agreement"):
        assert np.isnan(column(rows, name)).all()
    assert features(SESSION, [], TABLE, None).shape == (0, len(NAMES))


# --- people, lift and made-up text ----------------------------------------------------------------


def test_people_count_once_however_often_they_ask():
    """One person asked `b` after `a` three times, two people asked `c` after `a`."""
    sessions = [["a", "b"]] * 3 + [["a", "c"]] * 2 + [["x", "b"]]
    table = table_of(sessions, users=[1, 1, 1, 2, 3, 4])
    found = [Candidate(text, "counts") for text in ("b", "c", "x", "never")]
    rows = features(["a"], found, table, None)
    assert column(rows, "people_after") == [1, 2, 0, 0]
    assert column(rows, "count_after_1") == [3, 2, 0, 0]
    assert column(rows, "people") == pytest.approx(np.log1p([2, 2, 1, 0]).tolist())
    assert column(features(["never"], found, table, None), "people_after") == [0, 0, 0, 0]
    unknown = features(["a"], found, table_of(sessions), None)
    assert column(unknown, "people_after") == [3, 2, 0, 0]  # times, if people are not known
    assert np.isnan(column(unknown, "people")).all()


def test_lift_after_the_last_query():
    """Of 8 next queries, 4 are `news`, once after `a`; 3 are `b`, always after `a`."""
    table = table_of([["a", "b"]] * 3 + [["a", "news"]] + [["x", "news"]] * 3 + [["x", "y"]])
    rows = features(["a"], [Candidate("b", "counts"), Candidate("news", "counts")], table, None)
    expected = [math.log(3.1 / 5 / (4 / 9)), math.log(1.1 / 5 / (5 / 9))]
    assert column(rows, "lift_after") == pytest.approx(expected)
    assert expected[0] > 0 > expected[1]


def test_made_up_text_and_its_probability():
    scores = Scores(np.log([0.3, 0.4, 0.1, 0.2]), np.array([2, 2, 2, 2]), np.zeros(4))
    found = [
        Candidate("red car", "counts", counted=0),  # twice a next query
        Candidate("new car", "beam", hypothesis=0),
        Candidate("old car", "session", queries_ago=2),
        Candidate("my car", "history", own=0),
    ]
    rows = features(
        ["old car", "car hire"], found, TABLE, scores, past_of([["my car"]], "car hire")
    )
    assert column(rows, "made_up") == [0, 1, 0, 0]
    expected = [math.log(each / 0.3) for each in (0.3, 0.4, 0.1, 0.2)]
    assert column(rows, "above_asked") == pytest.approx(expected, abs=1e-6)
    lift = column(rows, "lift_by_model")
    assert lift[0] == pytest.approx(math.log(0.3) - math.log(1 + 2))
    assert np.isnan(lift[1:]).all()


def test_only_made_up_candidates():
    rows = features(["x"], [Candidate("y", "beam")], TABLE, Scores(*np.log([[0.5], [2], [1]])))
    assert column(rows, "made_up") == [1] and np.isnan(column(rows, "above_asked")).all()


def test_without_counts_nothing_is_made_up():
    scores = Scores(np.log([0.5, 0.25, 0.25]), np.array([3, 4, 2]), np.array([0, 1, 0]))
    assert column(features(SESSION, CANDIDATES, None, scores), "made_up") == [0, 0, 0]
