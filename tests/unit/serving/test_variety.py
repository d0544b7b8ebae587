"""Of some kinds of suggestions, a list has few before all others."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from test_next_queries import table_of

from mtn_serving.candidates import Candidate
from mtn_serving.features import NAMES, features
from mtn_serving.variety import MAX_OF_A_KIND, without_too_many

SESSION = ["old town", "new york city"]
TABLE = table_of(
    [["new york city", "mayor"], ["news", "weather"], ["mail", "news"], ["york hotels", "mail"]]
)


def ordered(rows, ranked):
    first, behind = without_too_many(rows, ranked)
    return first + behind


def order_of(*candidates):
    """Texts as they come, when the ranker had put them in the order given."""
    rows = features(SESSION, candidates, TABLE, None)
    return [candidates[row].text for row in ordered(rows, range(len(candidates)))]


def edit(text):
    return Candidate(text, "edits", edit=0)


def beam(text):
    return Candidate(text, "beam", hypothesis=0)


def test_few_that_only_drop_or_mix_words():
    made_up = [edit("new york"), beam("york city"), edit("new city"), beam("old york")]
    asked = Candidate("york hotels", "edits", edit=3)
    assert order_of(*made_up, asked) == [
        "new york",
        "york city",
        "york hotels",
        "new city",
        "old york",
    ]


def test_what_the_model_thought_of_is_not_made_up():
    edits = [edit("new york maps"), edit("new york jobs"), edit("new york cars")]
    assert order_of(*edits, beam("new york times"), beam("new york zoo")) == [
        "new york maps",
        "new york jobs",
        "new york times",
        "new york zoo",
        "new york cars",
    ]


def test_few_that_have_nothing_to_do_with_the_session():
    strays = [beam("news"), beam("weather"), beam("mail")]
    counted = Candidate("mayor", "counts", counted=0)  # was asked after the last query
    assert order_of(*strays, counted) == ["news", "weather", "mayor", "mail"]


def test_queries_of_the_session_are_not_made_up():
    again = Candidate("old town", "session", queries_ago=2)
    assert order_of(edit("new"), edit("york"), again, edit("city")) == [
        "new",
        "york",
        "old town",
        "city",
    ]


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 1.0, np.nan]), min_size=len(NAMES), max_size=len(NAMES))
    )
)
def test_nothing_is_lost_and_the_first_few_stay(rows):
    table = np.array(rows, dtype=np.float32).reshape(-1, len(NAMES))
    ranked = list(range(len(rows)))[::-1]
    order = ordered(table, ranked)
    assert sorted(order) == sorted(ranked)
    assert order[:MAX_OF_A_KIND] == ranked[:MAX_OF_A_KIND]
