"""A person's history: as candidates and as features, and in nobody else's list."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optional_parts import need_lightgbm
from test_next_queries import table_of

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import TextSettings
from mtn_serving.candidates import Candidate
from mtn_serving.engine import HistorySize, Hypotheses
from mtn_serving.features import NAMES, features
from mtn_serving.fitting import fit_ranker
from mtn_serving.history import (
    HALF_LIFE,
    MAX_LATELY,
    MAX_NEXT,
    MAX_OFTEN,
    own_queries,
    past_of,
)
from mtn_serving.list_rules import arrange
from mtn_serving.request import MAX_HISTORY, Request, read_request
from mtn_serving.suggester import Suggester

TABLE = table_of([["x", "counted"], ["y", "z"]], text=TextSettings())
HISTORY = [["x", "a"], ["b", "x", "c"], ["x", "a", "d"], ["e", "b"]]


def texts(session, history=None, suggester=None, n=50):
    return [each.text for each in (suggester or Suggester(TABLE)).suggest(session, n, history)]


# --- candidates -----------------------------------------------------------------------------------


def test_next_then_often_then_lately_by_hand():
    """After `x`: `a` twice, `c` once. Most often: `b` and `a` twice, `b` more recently."""
    assert own_queries(past_of(HISTORY, "x")) == ["a", "c", "b", "e", "d"]


def test_ties_go_to_the_newest():
    assert own_queries(past_of([["x", "old"], ["x", "new"]], "x"))[:2] == ["new", "old"]
    assert own_queries(past_of([["p", "q"]], "x")) == ["q", "p"]


def test_older_queries_count_less():
    """Twice, two half-lives ago, counts 2 / 4; once in the last session counts almost 1."""
    others = [[f"other {number}"] for number in range(2 * HALF_LIFE)]
    history = [["twice"], ["twice"], *others, ["once"]]
    habit = past_of(history, "x").habit
    assert habit["once"] == pytest.approx(0.5 ** (1 / HALF_LIFE))
    assert habit["twice"] < habit["once"] < 2 * habit["twice"] + 0.1
    order = own_queries(past_of([["twice"], ["twice"], ["once"]], "x"))
    assert order == ["twice", "once"]


def test_only_the_newest_sessions_are_read():
    history = [["x", "too old"], *([["x", "a"]] * MAX_HISTORY)]
    assert read_request(["x"], history).history == (("x", "a"),) * MAX_HISTORY
    assert texts(["x"], history, Suggester()) == ["a"]
    line = f"{' <session> '.join(['x <q> b'] * MAX_HISTORY)} <session> x"
    assert texts(line, history, Suggester()) == ["b"]


queries = st.sampled_from("abcdefgh")
histories = st.lists(st.lists(queries, min_size=1, max_size=5), max_size=8)


@given(histories, queries)
def test_own_queries_are_distinct_and_never_the_last_query(history, last):
    found = own_queries(past_of(history, last))
    asked = {query for session in history for query in session}
    assert len(set(found)) == len(found) and last not in found
    assert set(found) == asked - {last}  # few enough that all are among the latest or most frequent
    followers = {b for each in history for a, b in zip(each, each[1:]) if a == last} - {last}
    assert set(found[: len(followers)]) == followers


def test_the_maximum_number_of_own_queries():
    many = [[f"q{number}", "x", f"after {number}"] for number in range(100)]
    often = [[f"often {number}"] * 50 for number in range(100)]
    lately = [[f"lately {number}"] for number in range(50)]
    found = own_queries(past_of([*many[:40], *often[:40], *lately], "x"))
    assert len(found) == MAX_NEXT + MAX_OFTEN + MAX_LATELY
    assert found[0] == "after 39" and found[MAX_NEXT] == "often 39" and found[-1] == "lately 45"


# --- features -------------------------------------------------------------------------------------


def columns(candidates, last, history):
    rows = features([last], [Candidate(text, "counts") for text in candidates], None, None, history)
    return {name: rows[:, NAMES.index(name)].tolist() for name in NAMES if name.startswith("own_")}


def test_features_by_hand():
    found = columns(["a", "b", "never"], "x", past_of(HISTORY, "x"))
    day = [0.5 ** (ago / HALF_LIFE) for ago in range(5)]
    nan = math.nan
    expected = {
        "own_place": [nan, nan, nan],
        "own_sessions": [4, 4, 4],
        "own_last_asked": [1, 1, 1],
        "own_asked": [math.log(3), math.log(3), 0],
        "own_habit": [day[2] + day[4], day[1] + day[3], 0],
        "own_sessions_with_it": [2, 2, 0],
        "own_share_of_sessions": [0.5, 0.5, 0],
        "own_sessions_ago": [2, 1, nan],
        "own_after_last": [2, 0, 0],
        "own_share_after_last": [2 / 3, 0, 0],
    }
    assert set(found) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-6, err_msg=name)


def test_features_of_a_stranger():
    for past in (None, past_of([], "x")):
        found = columns(["a"], "x", past)
        unknown = {name for name, (value,) in found.items() if math.isnan(value)}
        assert unknown == {
            "own_place",
            "own_share_of_sessions",
            "own_sessions_ago",
            "own_share_after_last",
        }
        assert all(found[name] == [0] for name in set(found) - unknown)


def test_own_queries_belong_in_a_list():
    """Although they share no word with the session, and nobody asked them after it."""
    candidates = [Candidate(text, "history", own=place) for place, text in enumerate("abcde")]

    def belong(history):
        rows = features(["x"], candidates, TABLE, None, past_of(history, "x"))
        return [each.row for each in arrange(rows, range(5))]

    assert belong(HISTORY) == [0, 1, 2, 3, 4]
    assert belong([]) == []


# --- requests -------------------------------------------------------------------------------------


def test_a_line_with_earlier_sessions_contains_a_history():
    line = "x <q> a <session> b <q> x <q> c <session> x <q> a <q> d <session> e <q> b <session> x"
    assert texts(line) == texts(["x"], HISTORY) == ["a", "c", "b", "e", "d", "counted"]
    assert texts(line.split(" <session> ", 1)[1], HISTORY[:1]) == texts(line)
    assert read_request("b <session> x", [["a"]]) == Request(("x",), (("a",), ("b",)))
    assert read_request(line).line == line


def test_a_history_is_read_in_the_same_way_as_a_session():
    typed = [["X!", "A."], ["", "B", "x", "C"], ["!!!"], [], ["x", "a", "D"], ["e", "b"]]
    assert texts(["x"], typed) == texts(["x"], HISTORY)
    assert texts("x", [["x", "<number>"]])[0] == "number"  # typed text, so it is not a mask


@pytest.mark.parametrize(
    "line, request_",
    [
        ("a <q> <session> <q> b", Request(("b",), (("a",),))),
        ("<session> a <session> <session> b", Request(("b",), (("a",),))),
        ("a <unit3> b <session> c <q> d", Request(("c", "d"), (("a",), ("b",)))),
    ],
)
def test_lines_with_empty_queries_and_sessions(line, request_):
    assert read_request(line) == request_


def test_a_request_truncated_for_a_model():
    request = Request(("s", "t", "u"), (("a",), ("b", "c", "d"), ("e",)))
    assert request.fitted(HistorySize(0, 0)).line == "s <q> t <q> u"
    assert request.fitted(HistorySize(2, 2)).line == "c <q> d <session> e <session> s <q> t <q> u"
    assert request.fitted(HistorySize(9, 9)) == request


@pytest.mark.parametrize(
    "history, message",
    [
        ("a <q> b", "a history is a list, not str"),
        (["a", "b"], "an earlier session is a list, not str"),
        ([["a"], None], "an earlier session is a list, not NoneType"),
        ([[b"a"]], "a query is text, not bytes"),
        ({"a"}, "a history is a list, not set"),
    ],
)
def test_not_a_history(history, message):
    with pytest.raises(TypeError, match=message):
        Suggester(TABLE).suggest(["x"], history=history)


def test_one_history_per_session():
    with pytest.raises(InputError, match=r"2 histories for 1 sessions; give one for each session"):
        Suggester(TABLE).suggest_many([["x"]], histories=[[], []])
    with pytest.raises(TypeError, match="histories are a list, not str"):
        Suggester(TABLE).suggest_many([["x"]], histories="a")
    with pytest.raises(InputError, match="<session> stands between queries"):
        Suggester(TABLE).suggest(["x"], history=[["a", "<session>", "b"]])


# --- in the list ----------------------------------------------------------------------------------


def test_without_model_and_counts():
    found = Suggester().suggest(["x"], history=HISTORY)
    assert [each.text for each in found] == ["a", "c", "b", "e", "d"]
    assert {each.source for each in found} == {"history"}


def test_the_source_can_be_left_out():
    assert texts(["x"], HISTORY, Suggester(TABLE, without=["history"])) == ["counted"]


def test_histories_do_not_leak():
    """In one batch, in several, in any order: each list is the same as alone."""
    suggester = Suggester(TABLE)
    people = [None, HISTORY, [], [["x", "secret"]], [["y", "x"], ["x", "other"]]] * 15
    sessions = [["x"], ["y"], ["x", "b"], "x", "q <session> x"] * 15
    alone = [suggester.suggest(*each) for each in zip(sessions, [10] * 75, people)]
    assert len({tuple(each) for each in alone}) == 5
    assert suggester.suggest_many(sessions, 10, people) == alone
    backwards = suggester.suggest_many(sessions[::-1], 10, people[::-1])
    assert backwards[::-1] == alone
    assert suggester.suggest("x") == Suggester(TABLE).suggest("x")
    described = list(suggester.describe(sessions, people))
    for each, session, history in zip(described, sessions, people):
        (single,) = suggester.describe([session], [history])
        assert each.candidates == single.candidates
        np.testing.assert_array_equal(each.features, single.features)


def test_a_ranker_learns_from_histories_and_serves_strangers():
    """People ask what they asked after `x` before, whatever others do."""
    need_lightgbm()
    suggester = Suggester(table_of([["x", "counted"], ["x", "p0"], ["x", "p1"]] * 2))
    own = [f"p{number % 7}" for number in range(300)]
    past = [[["x", each], ["y", "noise"], ["y", "noise"]] for each in own]
    sessions = [["x"]] * 300
    described = list(suggester.describe(sessions, past))
    fitted = fit_ranker(described, own, range(300), suggester.conditions)
    ranked = Suggester(suggester.table, ranker=fitted.ranker)
    assert ranked.suggest(["x"], history=[["y", "noise"], ["x", "new"]])[0].text == "new"
    assert {each.text for each in ranked.suggest(["x"])} == {"counted", "p0", "p1"}


class Recorder:
    """An engine that records its input."""

    text_settings, settings_file = None, None

    def __init__(self, size):
        self.history_size, self.given = size, []

    def sources(self, lines):
        self.given += lines
        return lines

    def beam_search(self, beam):
        return lambda sources: [Hypotheses([f"after {line}"]) for line in sources]

    def scores(self, sources, candidates, beams):
        count = [len(texts) for texts in candidates]
        return [SimpleNamespace(log_probability=np.zeros(n)) for n in count]


@pytest.mark.parametrize(
    "size, line",
    [
        (HistorySize(0, 0), "s <q> x"),
        (HistorySize(1, 5), "e <q> b <session> s <q> x"),
        (HistorySize(2, 2), "a <q> d <session> e <q> b <session> s <q> x"),
    ],
)
def test_a_model_gets_only_the_part_it_reads(size, line):
    engine = Recorder(size)
    found = Suggester(trained=engine).suggest(["s", "x"], history=HISTORY)
    assert engine.given == [line]
    assert found[0].text == "a" and found[-1].text == "s"
    assert found[-2].text == f"after {line}"
