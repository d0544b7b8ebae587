"""Which completions are likely: the ranker of lists, with features of the typed text."""

from typing import List

import numpy as np

from ..kept_folder import Kind
from ..ranker import LEARNER, Ranked, Ranker
from .features import NAMES

TYPED = "typed"  # the rule of all that starts with what was typed


class CompletionRanker(Ranker):
    """Orders all completions that may be shown: what was typed says what they must have to do with
    the session."""

    kind = Kind("completion ranker", 1, "mtn-fit-ranker --completion", frozenset({LEARNER}))
    names = NAMES

    def order(self, features: np.ndarray, unrelated: bool = True) -> List[Ranked]:
        """(completions, NAMES) -> all of them, best first; of equals, the first row first."""
        probabilities = self.probabilities(features)
        likeliest = np.argsort(-probabilities, kind="stable").tolist()
        return [Ranked(row, float(probabilities[row]), TYPED) for row in likeliest]
