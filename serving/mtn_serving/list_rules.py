"""Which candidates belong in a list, however likely they are.

Two kinds of candidates spoil a list for its readers:

    made up      nobody asked it; its words only seem to belong together
    unrelated    about something else than the session, and hardly anybody asked it after the last
                 query: mostly popular queries, such as the names of large sites

Made-up text is shown if it has at least two words and a score of the model: single words that
nobody asks look broken, and a sum over words favours them. It must also repeat only words of the
session, because a new word seldom fits, or be likelier than every query that people asked.
Unrelated text is not shown, because a short list helps more than a long one that is the same for
everybody. It can be appended to make lists long.
"""

from typing import List, NamedTuple, Sequence

import numpy as np

from .features import NAMES

MIN_WORDS = 2  # of made-up text
MIN_FROM_SESSION = 0.5  # minimum of the feature `from_session`
MIN_PEOPLE_AFTER = 2  # minimum number of people who asked it after the last query

# The rules that place a suggestion.
LIKELY, UNRELATED = RULES = ("likely", "unrelated")


class Placed(NamedTuple):
    row: int
    rule: str  # of RULES


def arrange(features: np.ndarray, ranked: Sequence[int], unrelated: bool = False) -> List[Placed]:
    """The rows of a list, in order.

    Args:
        features: (candidates, NAMES)
        ranked: rows of `features`, likeliest first
        unrelated: whether to append unrelated candidates
    """
    related = _related(features)
    made_up = (_column(features, "made_up") == 1) & ~(related & _is_plausible(features))
    asked = [row for row in ranked if not made_up[row]]
    appended = [row for row in asked if not related[row]] if unrelated else []
    return [
        *(Placed(row, LIKELY) for row in asked if related[row]),
        *(Placed(row, UNRELATED) for row in appended),
    ]


def _is_plausible(features: np.ndarray) -> np.ndarray:
    """Whether made-up text may be shown; without a model, it may not."""
    scored = ~np.isnan(_column(features, "log_probability"))
    repeats = (_column(features, "new_words") == 0) | (_column(features, "above_asked") > 0)
    return scored & repeats & (_column(features, "words") >= MIN_WORDS)


def _related(features: np.ndarray) -> np.ndarray:
    """Whether candidates are related. The person's own queries always are; without counts, all
    candidates are, because nobody knows what people ask after what."""
    is_similar = _column(features, "from_session") >= MIN_FROM_SESSION
    was_asked_next = ~(_column(features, "people_after") < MIN_PEOPLE_AFTER)
    own = ~np.isnan(_column(features, "queries_ago")) | (_column(features, "own_asked") > 0)
    return is_similar | was_asked_next | own


def _column(features: np.ndarray, name: str) -> np.ndarray:
    return features[:, NAMES.index(name)]
