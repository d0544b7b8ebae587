"""From an order by likelihood to a list that people can use.

Two kinds of candidates are often likely and seldom of use, as lists read by eye show:

    made up    nobody asked it; its words only look as if they belonged together
    stray      has no word of the session, and hardly anybody asked it after the last query: mostly
               what everybody asks at any time

The first places are for what has to do with the session. Made-up text comes behind what people
asked, unless the model finds it likelier than all of that.
"""

from typing import List, NamedTuple, Sequence

import numpy as np

from .features import NAMES

FIRST_PLACES = 3
MIN_PEOPLE_AFTER = 2  # who asked it after the last query

# Why a suggestion stands where it does.
FIRST, FIRST_MADE_UP, LIKELY, MADE_UP = RULES = ("first", "first made up", "likely", "made up")


class Placed(NamedTuple):
    row: int
    rule: str  # of RULES


def arrange(features: np.ndarray, ranked: Sequence[int]) -> List[Placed]:
    """All rows in the order of a list.

    Args:
        features: (candidates, NAMES)
        ranked: rows of it, likeliest first
    """
    made_up, stray = _made_up(features), _stray(features)
    asked = [row for row in ranked if not made_up[row]]
    invented = [row for row in ranked if made_up[row]]
    first = [row for row in asked if not stray[row]][:FIRST_PLACES]
    # Better some text that nobody asked but that has to do with the session than any popular query.
    filling = [row for row in invented if not stray[row]][: FIRST_PLACES - len(first)]
    taken = {*first, *filling}
    return [
        *(Placed(row, FIRST) for row in first),
        *(Placed(row, FIRST_MADE_UP) for row in filling),
        *(Placed(row, LIKELY) for row in asked if row not in taken),
        *(Placed(row, MADE_UP) for row in invented if row not in taken),
    ]


def _made_up(features: np.ndarray) -> np.ndarray:
    """(candidates,): but for what the model finds likelier than all that people asked."""
    return (_of(features, "made_up") == 1) & ~(_of(features, "above_asked") > 0)


def _stray(features: np.ndarray) -> np.ndarray:
    """(candidates,): what this person asked before, in this session or earlier, is none."""
    unrelated = _of(features, "shared_with_last") + _of(features, "shared_with_earlier") == 0
    unled = ~(_of(features, "people_after") >= MIN_PEOPLE_AFTER)
    others = np.isnan(_of(features, "queries_ago")) & (_of(features, "own_asked") == 0)
    return unrelated & unled & others


def _of(features: np.ndarray, name: str) -> np.ndarray:
    return features[:, NAMES.index(name)]
