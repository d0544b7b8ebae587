"""Sizes of binarised sessions."""

from typing import NamedTuple, Sequence

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
