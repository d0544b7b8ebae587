"""A list may have few of the two kinds of suggestions that spoil lists most, read by eye.

Each of them may well be the likeliest thing, and the first few stay where the ranker put them. But
eight ways to shorten the last query, or eight popular sites, are no more use than two.
"""

from typing import List, Sequence, Tuple

import numpy as np

from .features import CONTEXT_LENGTHS, NAMES

MAX_OF_A_KIND = 2  # of each kind, before all others


def without_too_many(features: np.ndarray, ranked: Sequence[int]) -> Tuple[List[int], List[int]]:
    """The rows but for those beyond `MAX_OF_A_KIND` of a kind, and these, which come last.

    Args:
        features: (candidates, NAMES)
        ranked: rows of it, best first
    """
    kinds = [_made_up(features), _strays(features)]
    first: List[int] = []
    behind: List[int] = []
    had = [0 for _ in kinds]
    for row in ranked:
        of = [number for number, kind in enumerate(kinds) if kind[row]]
        for number in of:
            had[number] += 1
        (behind if any(had[number] > MAX_OF_A_KIND for number in of) else first).append(row)
    return first, behind


def _made_up(features: np.ndarray) -> np.ndarray:
    """(candidates,): nobody asked it; it only takes words away, or mixes some that are there, or
    the model did not think of it."""
    nobody_asked = (_of(features, "asked") == 0) & np.isnan(_of(features, "queries_ago"))
    nobody_asked &= ~_own(features)
    nothing_new = _of(features, "new_words") == 0
    return nobody_asked & (nothing_new | np.isnan(_of(features, "hypothesis_place")))


def _strays(features: np.ndarray) -> np.ndarray:
    """(candidates,): it has no word of the session, nobody asked it after the last query, and this
    person never asked it."""
    followed = sum(np.nan_to_num(_of(features, f"count_after_{n}")) for n in CONTEXT_LENGTHS)
    shared = _of(features, "shared_with_last") + _of(features, "shared_with_earlier")
    return (shared == 0) & (followed == 0) & ~_own(features)


def _own(features: np.ndarray) -> np.ndarray:
    """(candidates,): this person asked it before."""
    return _of(features, "own_asked") > 0


def _of(features: np.ndarray, name: str) -> np.ndarray:
    return features[:, NAMES.index(name)]
