"""One ranker for the candidates of every source.

Learners look at each candidate: one tells how likely it is the next query, the others how many
n-grams of the next query it has. The list is in the order of the first. Only its head is chosen by
all: among the likeliest few and the last query, the one that is expected to gain most. Where
nothing is likely, that is something like the last query, which shares words with the next one more
often than any guess does.
"""

import json
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Tuple

import numpy as np

from ..errors import InputError
from .features import NAMES

KIND = "mtn_fairseq ranker"
SCHEMA = 1
HEADER = "ranker.json"
EXACT = "exact"
MATCHES = ("1-gram", "2-gram", "3-gram", "4-gram")
LEARNERS = (EXACT, *MATCHES)
FEW = 3  # candidates for the head of the list

_QUERIES_AGO, _WORDS = NAMES.index("queries_ago"), NAMES.index("words")


class Weights(NamedTuple):
    """How the head of a list is chosen."""

    exact: float  # what being the next query is worth, beside the words it has
    word: float  # what a word is worth: too short suggestions have a penalty in BLEU
    ngram_gains: Tuple[float, ...]  # of an n-gram that matches, for n = 1, 2, 3, 4
    ngram_costs: Tuple[float, ...]  # of an n-gram at all


class Ranker:
    """Fitted on validation data.

    Args:
        learners: of LightGBM, by the names of LEARNERS
        weights: how the head of a list is chosen
        facts: how it was made
    """

    def __init__(self, learners: Dict[str, Any], weights: Weights, facts: Dict[str, Any]) -> None:
        self.learners, self.weights, self.facts = learners, weights, facts

    def order(self, features: np.ndarray) -> List[Tuple[int, float]]:
        """(candidates, NAMES) -> (row, probability that it is the next query), best first."""
        predicted = {name: self.learners[name].predict(features) for name in LEARNERS}
        ranked = order(features, predicted, self.weights)
        return [(row, float(predicted[EXACT][row])) for row in ranked]

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, learner in self.learners.items():
            text = learner.model_to_string(num_iteration=-1)
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
        header = {
            "kind": KIND,
            "schema": SCHEMA,
            "features": list(NAMES),
            "weights": self.weights._asdict(),
            **self.facts,
        }
        text = json.dumps(header, indent=2) + "\n"
        (folder / HEADER).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "Ranker":
        lightgbm = import_lightgbm()
        path = folder / HEADER
        try:
            header = json.loads(path.read_text(encoding="utf-8"))
            known = header["kind"], header["schema"], header["features"]
            weights = Weights(**header["weights"])
            gains, costs = tuple(weights.ngram_gains), tuple(weights.ngram_costs)
            weights = weights._replace(ngram_gains=gains, ngram_costs=costs)
        except (OSError, ValueError, KeyError, TypeError):
            reason = "missing, or not of a ranker"
            raise InputError(reason, "give the folder of mtn-fit-ranker", path) from None
        if known != (KIND, SCHEMA, list(NAMES)):
            raise InputError("of another version", "run mtn-fit-ranker again", path)
        learners = {}
        for name in LEARNERS:
            file = folder / f"{name}.txt"
            try:
                learners[name] = lightgbm.Booster(model_str=file.read_text(encoding="utf-8"))
            except (OSError, ValueError, lightgbm.basic.LightGBMError):
                reason = "missing or damaged"
                raise InputError(reason, "run mtn-fit-ranker again", file) from None
        return cls(learners, weights, header)


def order(features: np.ndarray, predicted: Dict[str, np.ndarray], weights: Weights) -> List[int]:
    """Rows, best first; of equals, the first.

    Args:
        features: (candidates, NAMES)
        predicted: (candidates,) for each of LEARNERS
    """
    likeliest = np.argsort(-predicted[EXACT], kind="stable")
    heads = set(likeliest[:FEW].tolist())
    heads.update(np.flatnonzero(features[:, _QUERIES_AGO] == 1).tolist())
    words = features[:, _WORDS]
    gain = weights.exact * predicted[EXACT] + weights.word * words
    for n, name in enumerate(MATCHES):
        gain += weights.ngram_gains[n] * predicted[name]
        gain -= weights.ngram_costs[n] * np.maximum(words - n, 0)
    head = max(sorted(heads), key=lambda row: gain[row])
    return [head, *(row for row in likeliest.tolist() if row != head)]


def import_lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError:
        raise InputError(
            "a ranker is made of LightGBM, which is not installed",
            "pip install 'mtn_fairseq[ranker]'",
        ) from None
    return lightgbm
