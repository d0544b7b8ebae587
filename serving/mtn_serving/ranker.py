"""One ranker for the candidates of every source.

Learners look at each candidate: one tells how likely it is the next query, the others how many
n-grams of the next query it has. The list is in the order of the first, with some variety. Only its
head is chosen by all: among the likeliest few and the last query, the one that is expected to gain
most. Where nothing is likely, that is something like the last query, which shares words with the
next one more often than any guess does.
"""

from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import settings_of

from .conditions import Conditions
from .features import NAMES
from .kept_folder import HEADER, Kind, new_folder, read_file, read_header
from .variety import without_too_many

EXACT = "exact"
MATCHES = ("1-gram", "2-gram", "3-gram", "4-gram")
LEARNERS = (EXACT, *MATCHES)
KIND = Kind("ranker", 3, "mtn-fit-ranker", frozenset(f"{name}.txt" for name in LEARNERS))
FEW = 3  # candidates for the head of the list

# By which rule a suggestion stands where it does; see `Order`.
HEAD, LIKELY, TOO_MANY = RULES = ("head", "likely", "too many")

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
        conditions: with what it was fitted
        facts: what else is worth keeping
        folder: where it is kept, for messages
    """

    def __init__(
        self,
        learners: Dict[str, Any],
        weights: Weights,
        conditions: Conditions,
        facts: Dict[str, Any],
        folder: Optional[Path] = None,
    ) -> None:
        self.learners, self.weights = learners, weights
        self.conditions, self.facts = conditions, facts
        self.header = Path(folder or "") / HEADER

    def order(self, features: np.ndarray) -> List[Tuple[int, float, str]]:
        """(candidates, NAMES) -> (row, probability that it is the next query, rule), best first.

        The probability falls among rows of one rule.
        """
        predicted = {name: self.learners[name].predict(features) for name in LEARNERS}
        found = order(features, predicted, self.weights)
        rules = {HEAD: [found.head], LIKELY: found.likely, TOO_MANY: found.too_many}
        return [
            (row, float(predicted[EXACT][row]), rule)
            for rule, rows in rules.items()
            for row in rows
        ]

    def save(self, folder: Path) -> None:
        text = self.conditions.text
        facts = {
            **self.facts,
            "conditions": {**self.conditions._asdict(), "text": text and text._asdict()},
            "weights": self.weights._asdict(),
            "features": list(NAMES),
        }
        with new_folder(folder, KIND, facts) as partial:
            for name, learner in self.learners.items():
                text = learner.model_to_string(num_iteration=-1)
                (partial / f"{name}.txt").write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "Ranker":
        lightgbm = import_lightgbm()
        header = read_header(folder, KIND)
        if header.get("features") != list(NAMES):
            raise InputError("of another version", KIND.again, folder / HEADER)
        try:
            weights = Weights(**_with_tuples(header["weights"]))
            conditions = Conditions(**_with_tuples(header["conditions"]))
            fitted_on = settings_of(conditions.text, folder / HEADER)
        except (KeyError, TypeError, AttributeError):
            raise InputError("damaged", KIND.again, folder / HEADER) from None
        # LightGBM aborts the process, or never ends, on some damaged models: it is given none.
        texts = {name: read_file(folder, KIND, header, f"{name}.txt") for name in LEARNERS}
        learners = {}
        for name, text in texts.items():
            try:
                learners[name] = lightgbm.Booster(model_str=text.decode("utf-8"))
            except lightgbm.basic.LightGBMError:
                reason = f"not for LightGBM {lightgbm.__version__}"
                raise InputError(reason, KIND.again, folder / f"{name}.txt") from None
        return cls(learners, weights, conditions._replace(text=fitted_on), header, folder)


def _with_tuples(fields: Dict[str, Any]) -> Dict[str, Any]:
    """JSON has lists only."""
    return {name: tuple(each) if isinstance(each, list) else each for name, each in fields.items()}


class Order(NamedTuple):
    """Rows of features, best first."""

    head: int
    likely: List[int]
    too_many: List[int]

    def rows(self) -> List[int]:
        return [self.head, *self.likely, *self.too_many]


def order(features: np.ndarray, predicted: Dict[str, np.ndarray], weights: Weights) -> Order:
    """Of equals, the first row comes first.

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
    (_, *likely), too_many = without_too_many(
        features, [head, *(row for row in likeliest.tolist() if row != head)]
    )
    return Order(head, likely, too_many)


def import_lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError:
        raise InputError(
            "a ranker is made of LightGBM, which is not installed",
            "pip install 'lightgbm>=4.0'",
        ) from None
    except OSError as error:  # of its library
        raise InputError(
            f"LightGBM is installed, but does not start ({error})",
            "install OpenMP (Debian: apt install libgomp1)",
        ) from None
    return lightgbm
