"""Queries that people take back for a better spelling: `londen`, then `london`.

No dictionary is needed, so any language works: whoever misspells a query often asks it again, one
letter apart, and the right spelling is asked more often.
"""

from typing import Iterator

import numpy as np

from .next_queries import Followers

MIN_CORRECTED = 0.2  # of what follows a misspelt query, the share of one right spelling
MIN_LETTERS = 4  # of a misspelt query: shorter ones are similar to everything
MIN_TIMES = 2  # how many times as often the right spelling is asked


def misspelt_queries(table: Followers, asked: np.ndarray) -> Iterator[int]:
    """The numbers of misspelt queries.

    Args:
        asked: how often each query was asked
    """
    of_one_query = int(np.searchsorted(table.context_keys, np.uint64(1 << 32)))
    for context in range(of_one_query):
        query = int(table.context_keys[context])
        if len(table.queries[query]) < MIN_LETTERS:
            continue
        items, times = table.followers[context]
        often = items[times >= MIN_CORRECTED * times.sum()]
        likelier = often[asked[often] >= MIN_TIMES * asked[query]].tolist()
        if any(is_one_error(table.queries[query], table.queries[each]) for each in likelier):
            yield query


def is_one_error(text: str, other: str) -> bool:
    """Whether two texts differ by one extra or wrong letter, or by two swapped letters. Digits
    differ on purpose."""
    if len(text) > len(other):
        text, other = other, text
    if len(other) - len(text) > 1 or text == other:
        return False
    start = next((i for i, pair in enumerate(zip(text, other)) if pair[0] != pair[1]), len(text))
    ours, theirs = text[start:], other[start:]
    changed = theirs[:1] if len(ours) < len(theirs) else ours[:1] + theirs[:1]
    if any(map(str.isdigit, changed)):
        return False
    swapped = theirs[1:2] + theirs[:1] + theirs[2:]
    return theirs[1:] in (ours, ours[1:]) or ours == swapped
