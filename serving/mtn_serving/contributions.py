"""How much each feature contributes to a ranker's score of one candidate.

LightGBM computes the contributions (SHAP values of trees). The graph in a bundle cannot; LightGBM's
own file is kept beside it and used where LightGBM is installed.
"""

from typing import Any, NamedTuple, Optional, Tuple

import numpy as np

from mtn_preprocess.errors import InputError

from .feature_meanings import MEANINGS
from .ranker import TREES, Ranker, read_lightgbm

MAX_CONTRIBUTIONS = 8


class Contribution(NamedTuple):
    feature: str  # of `features.NAMES`
    meaning: str  # the feature in words
    value: Optional[float]  # of the feature; None if it is unknown
    amount: float  # what the feature adds to the log-odds


Found = Tuple[Optional[Tuple[Contribution, ...]], Optional[str]]  # or why there are none


def contributions_of(ranker: Optional[Ranker], features: Optional[np.ndarray]) -> Found:
    """The largest contributions, largest first.

    Args:
        features: (features,) of one candidate; None for a text that is no candidate
    """
    if ranker is None:
        return None, "there is no ranker"
    if features is None:
        return None, "the ranker was not asked: it is no candidate that may be shown"
    try:
        learner = _lightgbm_of(ranker)
    except InputError as error:
        return None, str(error)
    parts = learner.predict(features[None], pred_contrib=True)[0, :-1]  # the last is the base value
    amounts = ranker.calibration.slope * parts
    largest = np.argsort(-np.abs(amounts), kind="stable")[:MAX_CONTRIBUTIONS].tolist()
    return tuple(
        Contribution(name, MEANINGS[name], _known(features[each]), float(amounts[each]))
        for each, name in ((each, ranker.names[each]) for each in largest)
        if amounts[each] != 0
    ), None


def _lightgbm_of(ranker: Ranker) -> Any:
    if TREES in ranker.facts.get("files", ()):
        return read_lightgbm(ranker.header.parent, ranker.kind, ranker.facts)
    if not hasattr(ranker.learner, "model_to_string"):
        raise InputError("the ranker is not of LightGBM", "fit one with mtn-fit-ranker")
    return ranker.learner


def _known(value: float) -> Optional[float]:
    return None if np.isnan(value) else float(value)
