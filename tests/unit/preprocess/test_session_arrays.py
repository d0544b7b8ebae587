"""The rules on whole arrays give the same result for any batches of the sorted rows."""

from collections import Counter
from itertools import groupby

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from mtn_preprocess.log_lines import place_of
from mtn_preprocess.pairs import unroll, whole_sessions
from mtn_preprocess.reasons import KEPT, Reason
from mtn_preprocess.rules import Rules
from mtn_preprocess.sessions import BACKWARDS, SCHEMA, find_sessions, one_form_each, whole_users

ROWS = pa.schema(
    [
        ("place", pa.int64()),
        ("reason", pa.int8()),
        ("who", pa.string()),
        ("seconds", pa.int64()),
        ("query", pa.string()),
        ("form", pa.string()),
    ]
)

# The user is null for malformed lines, which come first.
some_users = st.lists(st.sampled_from([None, "a", "b", "c", "d"]), max_size=30).map(
    lambda users: sorted(users, key=lambda who: who or "")
)
some_cuts = st.lists(st.integers(0, 30), max_size=12)


def batches_of(rows, cuts):
    """Rows in batches that end at the cuts; a repeated cut makes an empty batch."""
    bounds = [0, *sorted(min(cut, rows.num_rows) for cut in cuts), rows.num_rows]
    return [rows.slice(start, end - start) for start, end in zip(bounds, bounds[1:])]


def batch_of(rows):
    """Sorted rows of (place, reason, who, seconds, query, form) as an engine returns them."""
    return pa.RecordBatch.from_pylist([dict(zip(ROWS.names, row)) for row in rows], schema=ROWS)


def rows_of(users):
    return batch_of(
        [(i, KEPT if who else Reason.TIME, who, i, "q", "") for i, who in enumerate(users)]
    )


def check_whole_users(rows, pieces):
    """All rows once and in order, and no user in two chunks."""
    assert [row for piece in pieces for row in piece.to_pylist()] == rows.to_pylist()
    users = Counter(who for piece in pieces for who in set(piece["who"].to_pylist()) if who)
    assert all(number == 1 for number in users.values())


@given(users=some_users, cuts=some_cuts)
def test_no_chunk_splits_a_user(users, cuts):
    rows = rows_of(users)
    check_whole_users(rows, list(whole_users(batches_of(rows, cuts))))


@given(users=some_users)
def test_batches_of_one_row(users):
    rows = rows_of(users)
    check_whole_users(rows, list(whole_users(batches_of(rows, range(len(users))))))


def test_users_are_yielded_as_soon_as_they_are_complete():
    """Otherwise all rows of a log would wait in memory."""
    taken = []

    def batches():
        for batch in batches_of(rows_of([None, None, *"aaabbbccc"]), [2, 4, 5, 8]):
            taken.append(batch)
            yield batch

    when = [(piece["who"].to_pylist(), len(taken)) for piece in whole_users(batches())]
    assert when == [([None, None], 1), (list("aaa"), 4), (list("bbb"), 5), (list("ccc"), 5)]


# --- sessions -------------------------------------------------------------------------------------

some_row = st.tuples(
    st.sampled_from(["a", "b", "c"]),
    st.integers(0, 12),
    st.sampled_from(["x", "y", "x y z", "blocked", "w"]),
    st.integers(0, 1),
    st.sampled_from(["", "x!", "'x'"]),
)
some_log = st.lists(some_row, max_size=40)


def sorted_rows(log):
    """Sort like an engine; the index of a row is its line."""
    rows = [
        (place_of(file, line), KEPT, who, 10 * step, query, form)
        for line, (who, step, query, file, *form_of) in enumerate(log, 1)
        for form in form_of or [""]
    ]
    no_rows = [(place_of(0, 900 + i), Reason.TIME, None, None, None, None) for i in range(3)]
    return batch_of([*no_rows, *sorted(rows, key=lambda row: (*row[2:5], row[0]))])


def everything(batches):
    """The sessions and all counts, summed over the batches."""
    sessions, counts, rows_of_file, rejects = [], Counter(), Counter(), []
    for batch in batches:
        sessions += batch.sessions.to_pylist()
        counts += batch.counts
        rows_of_file += batch.rows_of_file
        rejects += zip(batch.rejects.tolist(), batch.reject_reasons.tolist())
    return sessions, counts, rows_of_file, rejects


@given(log=some_log, cuts=some_cuts)
def test_sessions_are_the_same_for_any_batches(log, cuts):
    rules = Rules(1, min_queries=2, max_queries=4, max_query_tokens=2, block_list=("blocked",))
    rows = sorted_rows(log)
    in_one = everything(find_sessions(batches_of(rows, []), rules))
    assert everything(find_sessions(batches_of(rows, cuts), rules)) == in_one
    assert everything(find_sessions(batches_of(rows, range(43)), rules)) == in_one
    assert in_one[2] == Counter(file for *_, file, _ in log)
    assert [place for place, _ in in_one[3]] == [900, 901, 902]


def test_rows_of_one_query_get_its_alphabetically_first_form():
    click = np.array([False, True, True, False, False, True, True])
    for forms, expected in {
        ("b", "a", "c", "z", "y", "", "x"): ["a", "z", ""],
        ("b", "b", "b", "z", "", "", ""): ["b", "z", ""],
    }.items():
        found = one_form_each(pa.array(forms), click)
        assert found.filter(pa.array(~click)).to_pylist() == expected


@given(
    log=st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.integers(0, 2),
            st.sampled_from("xy"),
            st.just(0),
            st.sampled_from(["", "x!", "'x'"]),
        ),
        min_size=5,
        max_size=20,
    ),
    dice=st.randoms(),
)
def test_forms_do_not_depend_on_the_order_of_rows(log, dice):
    """Only the order of rows of one query may vary; all else is sorted."""
    shuffled = dice.sample(log, len(log))
    rules = Rules(1, min_queries=2, max_queries=4)
    one, other = (everything(find_sessions([sorted_rows(each)], rules)) for each in (log, shuffled))
    assert one[0] == other[0]
    typed = {(who, query, form) for who, _, query, _, form in log}
    for session in one[0]:
        for query, form in zip(session["queries"], session["forms"]):
            assert (session["who"], query, form) in typed


def backwards(*rows):
    return everything(find_sessions([sorted_rows(rows)], Rules()))[1][BACKWARDS]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("a", 1, "x", 0), ("a", 2, "y", 0), ("a", 3, "w", 0)], 0),
        ([("a", 2, "x", 0), ("a", 1, "y", 0)], 1),
        ([("a", 3, "x", 0), ("a", 2, "x", 0), ("a", 1, "x", 0)], 2),
        ([("a", 1, "y", 0), ("a", 1, "x", 0)], 0),  # the same second has no order
        ([("a", 2, "x", 0), ("a", 1, "y", 1)], 0),  # nor have files
        ([("b", 2, "x", 0), ("a", 1, "y", 0)], 0),  # nor users
    ],
)
def test_rows_out_of_time_order_are_counted(rows, expected):
    assert backwards(*rows) == expected


# --- pairs ----------------------------------------------------------------------------------------

some_sessions = st.lists(
    st.tuples(st.sampled_from("abc"), st.lists(st.sampled_from(["x", "é y", "z"]), min_size=2)),
    max_size=12,
).map(lambda sessions: sorted(sessions, key=lambda session: session[0]))


def session_batch(sessions):
    queries = [queries for _, queries in sessions]
    columns = [[who for who, _ in sessions], range(len(sessions)), queries, queries]
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA)], schema=SCHEMA
    )


def plain_pairs(sessions, history):
    for _, mine in groupby(sessions, key=lambda session: session[0]):
        wholes = []
        for _, queries in mine:
            earlier = wholes[-history:] if history else []
            for known in range(1, len(queries)):
                so_far = " <q> ".join(queries[:known])
                yield " <session> ".join([*earlier, so_far]), queries[known]
            wholes.append(" <q> ".join(queries))


@examples(200)
@given(sessions=some_sessions, history=st.integers(0, 4), before=st.integers(0, 3))
def test_pairs_with_history_equal_plain_python(sessions, history, before):
    """Also for a slice of another batch, whose offsets do not start at 0."""
    others = [("A", ["no", "pair", "of", "mine"])] * before
    batch = session_batch(others + sessions).slice(before)
    pairs = unroll(batch, whole_sessions(batch), history)
    found = list(zip(pairs.source.to_pylist(), pairs.target.to_pylist()))
    assert found == list(plain_pairs(sessions, history))
    numbers = [i for i, (_, queries) in enumerate(sessions) for _ in queries[1:]]
    assert np.array_equal(pairs.session, numbers)
