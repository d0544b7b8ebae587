"""Sizes of binarised sessions."""

from typing import NamedTuple, Sequence

import numpy as np

from .flat_lines import FlatLines


class Shapes(NamedTuple):
    """One entry per source line."""

    tokens: np.ndarray  # including separators and `</s>`
    queries: np.ndarray
    longest: np.ndarray  # (lines, levels): maximum of tokens per query, queries per session, …
    empty: np.ndarray  # whether a query has no words


def measure(lines: FlatLines, separators: Sequence[int]) -> Shapes:
    """Shapes of many lines; the last token of each line is `</s>`."""
    flat, tokens = lines
    count = len(tokens)
    line_of = np.repeat(np.arange(count), tokens)

    rank = np.zeros(len(flat), dtype=np.int64)  # level of the largest unit that each token ends
    for level, separator in enumerate(separators, 1):
        rank[flat == separator] = level
    rank[np.cumsum(tokens) - 1] = len(separators) + 1  # `</s>` ends the units of all levels

    ends = np.flatnonzero(rank)  # one entry per query
    parts = np.diff(ends, prepend=-1)  # tokens per query, including its end
    queries = np.bincount(line_of[ends], minlength=count)
    empty = np.bincount(line_of[ends], weights=parts == 1, minlength=count) > 0
    longest = np.zeros((count, len(separators) + 1), dtype=np.int64)
    for level in range(len(separators) + 1):
        np.maximum.at(longest[:, level], line_of[ends], parts)
        # The units of the next level end at higher separators.
        higher = np.flatnonzero(rank[ends] > level + 1)
        parts, ends = np.diff(higher, prepend=-1), ends[higher]
    return Shapes(tokens, queries, longest, empty)
