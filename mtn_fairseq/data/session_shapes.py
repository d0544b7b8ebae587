"""Sizes of binarised sessions, and making those that are too large fit."""

from typing import List, NamedTuple, Sequence, Union

import numpy as np

from .flat_lines import FlatLines


class Shapes(NamedTuple):
    """One number a source line."""

    tokens: np.ndarray  # in all, separators and end counted
    queries: np.ndarray
    longest: np.ndarray  # (lines, levels): tokens per query, queries per session, … at most
    empty: np.ndarray  # whether some query has no token


def measure(lines: FlatLines, separators: Sequence[int]) -> Shapes:
    """Shapes of many lines at once; the last token of a line is its end, `</s>`."""
    flat, tokens = lines
    count = len(tokens)
    line_of = np.repeat(np.arange(count), tokens)

    rank = np.zeros(len(flat), dtype=np.int64)  # the level of the largest unit that a token ends
    for level, separator in enumerate(separators, 1):
        rank[flat == separator] = level
    rank[np.cumsum(tokens) - 1] = len(separators) + 1  # the end of a line ends everything

    ends = np.flatnonzero(rank)  # one entry a query
    parts = np.diff(ends, prepend=-1)  # its tokens, the end included
    queries = np.bincount(line_of[ends], minlength=count)
    empty = np.bincount(line_of[ends], weights=parts == 1, minlength=count) > 0
    longest = np.zeros((count, len(separators) + 1), dtype=np.int64)
    for level in range(len(separators) + 1):
        np.maximum.at(longest[:, level], line_of[ends], parts)
        # The units of the next level: those ends that a higher separator makes.
        higher = np.flatnonzero(rank[ends] > level + 1)
        parts, ends = np.diff(higher, prepend=-1), ends[higher]
    return Shapes(tokens, queries, longest, empty)


def fit(
    line: Sequence[int], separators: Sequence[int], sizes: Sequence[int], max_tokens: int
) -> List[int]:
    """The line cut to the sizes of each level and to `max_tokens` in all.

    The oldest queries and sessions go first, always whole, the query in progress last of all. A
    query that is too long by itself keeps its first words, and its end.
    """
    levels = min(len(sizes), len(separators) + 1)
    units = _nest(list(line), separators[: levels - 1])
    fitted = _fit_unit(units, sizes[:levels])
    while len(fitted) > max_tokens and _oldest_query_end(fitted, separators):
        fitted = fitted[_oldest_query_end(fitted, separators) :]
    return fitted if len(fitted) <= max_tokens else fitted[: max_tokens - 1] + fitted[-1:]


def _nest(line: List[int], separators: Sequence[int]) -> list:
    """Tokens -> queries -> sessions -> …, each with the separator that ends it."""
    units: list = line
    for level in range(len(separators)):
        ends = set(separators[level:])
        nested: list = [[]]
        for unit in units:
            nested[-1].append(unit)
            if _last_token(unit) in ends:
                nested.append([])
        units = nested
    return units


def _last_token(unit: Union[int, list]) -> int:
    while isinstance(unit, list):
        unit = unit[-1]
    return unit


def _fit_unit(unit: list, sizes: Sequence[int]) -> List[int]:
    """A unit of level `len(sizes)`, cut and flattened."""
    if len(sizes) == 1:
        return unit if len(unit) <= sizes[0] else unit[: sizes[0] - 1] + unit[-1:]
    return [token for part in unit[-sizes[-1] :] for token in _fit_unit(part, sizes[:-1])]


def _oldest_query_end(line: List[int], separators: Sequence[int]) -> int:
    """Where the second query starts; 0 if there is only one."""
    return next((i + 1 for i, token in enumerate(line) if token in separators), 0)
