"""Misspelt queries: what counts as one error, which queries are taken back, and that no list has
them."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_next_queries import table_of

from mtn_preprocess.errors import InputError
from mtn_serving.candidates import BEAM, EDITS, gather
from mtn_serving.display_rules import DisplayRules
from mtn_serving.misspellings import is_one_error
from mtn_serving.next_queries import NextQueries
from mtn_serving.suggester import Suggester

LETTERS = "abc "


def one_error_away(text):
    """By definition: a letter left out, changed or added, or two neighbours swapped."""
    places = range(len(text))
    yield from (text[:i] + text[i + 1 :] for i in places)
    yield from (text[:i] + letter + text[i + 1 :] for i in places for letter in LETTERS)
    yield from (text[:i] + letter + text[i:] for i in range(len(text) + 1) for letter in LETTERS)
    yield from (text[:i] + text[i + 1] + text[i] + text[i + 2 :] for i in places[:-1])


@given(st.text(LETTERS, max_size=6), st.text(LETTERS, max_size=6))
def test_errors_by_definition(text, other):
    assert is_one_error(text, other) == (text != other and other in set(one_error_away(text)))


@given(st.text(LETTERS, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_errors_near_a_text(text, rng):
    other = rng.choice(list(one_error_away(text)))
    assert is_one_error(text, other) == is_one_error(other, text) == (text != other)


@pytest.mark.parametrize(
    "text, other",
    [("windows 7", "windows 8"), ("boeing 737", "boeing 77"), ("ab", "ba b"), ("same", "same")],
)
def test_digits_and_further_errors_are_none(text, other):
    assert not is_one_error(text, other) and not is_one_error(other, text)


def corrected(often, of=10, right=30):
    """`londen` is asked `of` times and taken back `often`; `london` is asked `right` times."""
    sessions = [["londen", "london"]] * often + [["londen", "x"]] * (of - often)
    return table_of([*sessions, *[["london", "y"]] * (right - often)])


@pytest.mark.parametrize(
    "table, found",
    [
        (corrected(2), {"londen"}),
        (corrected(1), set()),  # a tenth is not enough
        (corrected(5, right=20), {"londen"}),
        (corrected(5, right=19), set()),  # asked less than twice as often
        (table_of([["cat", "cats"]] * 2 + [["x", "cats"]] * 9), set()),  # too short
        (table_of([["pary", "pari"]] * 2 + [["x", "pari"]] * 9), {"pary"}),
    ],
)
def test_what_is_taken_back(table, found):
    assert table.misspelt == found


def test_no_list_has_them(tmp_path):
    """From no source, typed or not; the misspelt query itself still leads to the right one."""
    sessions = [["x", "londen", "london"]] * 5 + [["x", "london"]] * 20
    random.Random(1).shuffle(sessions)
    table_of(sessions).save(tmp_path / "table")
    table = NextQueries.open(tmp_path / "table", verify=True)
    suggester = Suggester(table, rules=DisplayRules(min_users=0))

    def texts(found):
        return [each.text for each in found]

    assert texts(suggester.suggest(["x"])) == ["london"]
    assert "londen" not in texts(suggester.suggest(["londen", "x"], history=[["londen"]]))
    assert texts(suggester.suggest(["londen"])) == ["london"]
    assert suggester.explain(["x"], "londen").missing == "misspelt"
    assert texts(suggester.complete(["x"], "lon")) == ["london"]
    assert texts(suggester.complete(["x"], "londen")) == ["london"]  # corrected


def test_nothing_is_made_up_of_them():
    """Unless people asked it, as `londen museum`."""
    sessions = [["hotels", "londen", "london"]] * 5 + [["x", "london"]] * 20
    table = table_of([*sessions, *[["x", "londen museum"]] * 5, *[["y", "old hotels"]] * 5])
    made_up = ["londen hotels", "old londen hotels", "londen museum", "london hotels"]

    def found(session):
        return [each.text for each in gather(session, table, made_up, (BEAM, EDITS))]

    assert found(["x"]) == ["londen museum", "london hotels"]
    assert [text for text in found(["hotels", "londen"]) if "londen" in text] == ["londen museum"]
    suggester = Suggester(table, rules=DisplayRules(min_users=0))
    completions = [each.text for each in suggester.complete(["hotels"], "londen ")]
    assert completions == ["londen museum"]


def test_a_damaged_array_is_refused():
    table = corrected(5)
    table._misspelt = np.array([99], dtype=np.uint32)
    with pytest.raises(InputError, match="damaged"):
        assert table.misspelt


def test_tables_without_the_array_hold_nothing_back():
    table = corrected(5)
    table._misspelt = np.empty(0)
    assert table.misspelt == set()
