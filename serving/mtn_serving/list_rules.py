"""Which candidates belong in a list, however likely they are.

Lists read by eye are spoiled by two kinds:

    made up      nobody asked it; its words only look as if they belonged together
    unrelated    says something else than the session, and hardly anybody asked it after the last
                 query: mostly what everybody asks at any time, such as the names of large sites

Made-up text has two words or more, and a model scored it: single words that nobody asks look
broken, and a sum over words favours them. It only repeats words of the session, or the model finds
it likelier than all that people asked: a new word seldom fits. Unrelated text is not shown: a short
list helps more than a long one that is the same for everybody. Who wants long lists may have it
behind the rest.
"""

from typing import List, NamedTuple, Sequence

import numpy as np

from .features import NAMES

MIN_WORDS = 2  # of made-up text
MIN_FROM_SESSION = 0.5  # of what it says; see `features`
MIN_PEOPLE_AFTER = 2  # who asked it after the last query

# Why a suggestion stands where it does.
LIKELY, UNRELATED = RULES = ("likely", "unrelated")


class Placed(NamedTuple):
    row: int
    rule: str  # of RULES


def arrange(features: np.ndarray, ranked: Sequence[int], unrelated: bool = False) -> List[Placed]:
    """The rows of a list.

    Args:
        features: (candidates, NAMES)
        ranked: rows of it, likeliest first
        unrelated: whether that is shown, too
    """
    related = _related(features)
    made_up = (_of(features, "made_up") == 1) & ~(related & _makes_sense(features))
    asked = [row for row in ranked if not made_up[row]]
    behind = [row for row in asked if not related[row]] if unrelated else []
    return [
        *(Placed(row, LIKELY) for row in asked if related[row]),
        *(Placed(row, UNRELATED) for row in behind),
    ]


def _makes_sense(features: np.ndarray) -> np.ndarray:
    """Of made-up text; nothing does without a model."""
    scored = ~np.isnan(_of(features, "log_probability"))
    repeats = (_of(features, "new_words") == 0) | (_of(features, "above_asked") > 0)
    return scored & repeats & (_of(features, "words") >= MIN_WORDS)


def _related(features: np.ndarray) -> np.ndarray:
    """What this person asked before, in this session or earlier, always is; without counts, all is:
    nobody knows what people ask after what."""
    says_the_same = _of(features, "from_session") >= MIN_FROM_SESSION
    led_to = ~(_of(features, "people_after") < MIN_PEOPLE_AFTER)
    own = ~np.isnan(_of(features, "queries_ago")) | (_of(features, "own_asked") > 0)
    return says_the_same | led_to | own


def _of(features: np.ndarray, name: str) -> np.ndarray:
    return features[:, NAMES.index(name)]
