"""Sizes of sessions, and truncation: by hand, and compared with a slow implementation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtn_fairseq.data.flat_lines import FlatLines
from mtn_fairseq.data.session_shapes import measure
from mtn_preprocess.text.level_sizes import fit

EOS, Q, SESSION, UNIT3 = 2, 4, 5, 6
SEPARATORS = [Q, SESSION, UNIT3]
A, B, C, D, E, F, G, H = range(10, 18)

# a b <q> c <session> d e <q> f <q> g </s>
HISTORY = [A, B, Q, C, SESSION, D, E, Q, F, Q, G, EOS]


def arrays(*lines):
    return FlatLines.of([np.array(line) for line in lines])


def test_measure_two_levels():
    shapes = measure(arrays([A, B, Q, C, EOS], [A, EOS], [A, Q, B, Q, C, D, E, EOS]), [Q])
    assert shapes.tokens.tolist() == [5, 2, 8]
    assert shapes.queries.tolist() == [2, 1, 3]
    assert shapes.longest.tolist() == [[3, 2], [2, 1], [4, 3]]
    assert shapes.empty.tolist() == [False, False, False]


def test_measure_three_levels():
    shapes = measure(arrays(HISTORY, [A, EOS]), [Q, SESSION])
    assert shapes.tokens.tolist() == [12, 2]
    assert shapes.queries.tolist() == [5, 1]
    assert shapes.longest.tolist() == [[3, 3, 2], [2, 1, 1]]


@pytest.mark.parametrize(
    "line, queries",
    [
        ([EOS], 1),
        ([Q, EOS], 2),
        ([Q, A, EOS], 2),
        ([A, Q, EOS], 2),
        ([A, Q, Q, B, EOS], 3),
        ([A, Q, SESSION, B, EOS], 3),
    ],
)
def test_measure_finds_empty_queries(line, queries):
    shapes = measure(arrays([A, EOS], line, [A, Q, B, EOS]), [Q, SESSION])
    assert shapes.empty.tolist() == [False, True, False]
    assert shapes.queries.tolist() == [1, queries, 2]


def test_measure_nothing():
    shapes = measure(arrays(), [Q, SESSION])
    assert shapes.tokens.shape == shapes.queries.shape == shapes.empty.shape == (0,)
    assert shapes.longest.shape == (0, 3)


# --- compared with a slow implementation ----------------------------------------------------------


def split(line, ends):
    """Split a list after each element that is in `ends`."""
    units = [[]]
    for i, token in enumerate(line):
        units[-1].append(token)
        if token in ends and i + 1 < len(line):
            units.append([])
    return units


def slow_shape(line, separators):
    longest = [max(map(len, split(line, separators)))]
    for level in range(1, len(separators) + 1):
        units = split(line, separators[level:])
        longest.append(max(len(split(unit, separators[level - 1 :])) for unit in units))
    return longest


@st.composite
def lines(draw, levels=4):
    """A line of at most `levels` levels, without empty queries."""
    ends = (
        draw(st.lists(st.sampled_from(SEPARATORS[: levels - 1]), max_size=7)) if levels > 1 else []
    )
    line = []
    for end in [*ends, EOS]:
        line += [*draw(st.lists(st.integers(A, H), min_size=1, max_size=5)), end]
    return line


@given(st.lists(lines(), max_size=6), st.integers(1, 3))
def test_measure_equals_the_slow_implementation(some_lines, levels):
    separators = SEPARATORS[:levels]
    shapes = measure(arrays(*some_lines), separators)
    assert shapes.tokens.tolist() == [len(line) for line in some_lines]
    assert shapes.queries.tolist() == [len(split(line, separators)) for line in some_lines]
    assert shapes.longest.tolist() == [slow_shape(line, separators) for line in some_lines]
    assert not shapes.empty.any()


# --- fit ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sizes, max_tokens, expected",
    [
        ([9, 9, 9], 99, HISTORY),
        ([3, 3, 2], 12, HISTORY),  # just fits
        # Two queries per session: the oldest query of the second session is dropped.
        ([9, 2, 9], 99, [A, B, Q, C, SESSION, F, Q, G, EOS]),
        ([9, 1, 9], 99, [C, SESSION, G, EOS]),
        # One session: the first session is dropped.
        ([9, 9, 1], 99, [D, E, Q, F, Q, G, EOS]),
        # Two tokens per query, including its end: the first word stays.
        ([2, 9, 9], 99, [A, Q, C, SESSION, D, Q, F, Q, G, EOS]),
        # Eleven tokens in all: whole queries are dropped, oldest first.
        ([9, 9, 9], 11, [C, SESSION, D, E, Q, F, Q, G, EOS]),
        ([9, 9, 9], 8, [D, E, Q, F, Q, G, EOS]),
        ([9, 9, 9], 2, [G, EOS]),
        ([2, 2, 1], 3, [G, EOS]),
    ],
)
def test_fit_by_hand(sizes, max_tokens, expected):
    assert fit(HISTORY, [Q, SESSION], sizes, max_tokens) == expected


def test_fit_one_long_query():
    assert fit([A, B, C, D, EOS], [Q], [9, 9], 3) == [A, B, EOS]
    assert fit([A, Q, B, C, D, E, EOS], [Q], [4, 9], 99) == [A, Q, B, C, D, EOS]


def test_fit_two_levels():
    line = [A, Q, B, C, Q, D, EOS]
    assert fit(line, [Q], [9, 2], 99) == [B, C, Q, D, EOS]
    assert fit(line, [Q], [9, 1], 99) == [D, EOS]


def test_fit_with_sizes_for_the_levels_that_are_used():
    """A dictionary always has `<session>`; `--level-sizes 12,10` is enough for plain sessions."""
    line = [A, B, C, D, Q, E, Q, F, EOS]
    assert fit(line, [Q, SESSION], [3, 2], 99) == [E, Q, F, EOS]
    assert fit(line, [Q, SESSION], [3, 9], 99) == [A, B, Q, E, Q, F, EOS]


levels_and_lines = st.integers(1, 4).flatmap(lambda k: st.tuples(st.just(k), lines(levels=k)))
sizes_and_tokens = st.tuples(
    st.lists(st.integers(2, 4), min_size=4, max_size=4), st.integers(2, 20)
)


@given(levels_and_lines, sizes_and_tokens)
def test_fit_keeps_its_invariants(levels_and_line, limits):
    (levels, line), (sizes, max_tokens) = levels_and_line, limits
    separators, sizes = SEPARATORS[: levels - 1], sizes[:levels]
    fitted = fit(line, separators, sizes, max_tokens)

    assert len(fitted) <= max_tokens
    assert all(found <= size for found, size in zip(slow_shape(fitted, separators), sizes))
    assert fit(fitted, separators, sizes, max_tokens) == fitted
    before, after = split(line, separators), split(fitted, separators)
    # The newest query stays; it only loses its last words if it is too long by itself.
    room = min(sizes[0], max_tokens)
    assert after[-1] == cut(before[-1], room)
    # Older queries keep their order, and are cut only to the maximum size of a query.
    remaining = iter([cut(query, sizes[0]) for query in before])
    assert all(query in remaining for query in after[:-1])
    if len(line) <= max_tokens and all(
        found <= size for found, size in zip(slow_shape(line, separators), sizes)
    ):
        assert fitted == line


@given(lines(levels=2), sizes_and_tokens)
def test_fit_keeps_the_newest_queries(line, limits):
    """In plain sessions: the newest queries, without a gap, as many as fit."""
    (tokens, queries, *_), max_tokens = limits
    after = split(fit(line, [Q], [tokens, queries], max_tokens), [Q])
    newest = [cut(query, tokens) for query in split(line, [Q])][-queries:]
    while len(newest) > 1 and sum(map(len, newest)) > max_tokens:
        newest.pop(0)
    assert after == [*newest[:-1], cut(newest[-1], max_tokens)]


def cut(query, size):
    return query if len(query) <= size else query[: size - 1] + query[-1:]
