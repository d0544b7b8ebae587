"""The ranker of completions: the ranker of lists with additional features of the prefix."""

from typing import List

import numpy as np

from ..kept_folder import Kind
from ..ranker import LEARNER, Ranked, Ranker
from .features import NAMES

TYPED = "typed"  # the rule of completions that start with the prefix


class CompletionRanker(Ranker):
    """Ranks all completions that may be shown: the prefix makes list rules unnecessary."""

    kind = Kind("completion ranker", 1, "mtn-fit-ranker --completion", frozenset({LEARNER}))
    names = NAMES

    def _in_order(
        self, features: np.ndarray, probabilities: np.ndarray, unrelated: bool
    ) -> List[Ranked]:
        """All completions, best first; ties keep their order."""
        likeliest = np.argsort(-probabilities, kind="stable").tolist()
        return [Ranked(row, float(probabilities[row]), TYPED) for row in likeliest]
