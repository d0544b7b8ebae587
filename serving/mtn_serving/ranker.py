"""One ranker for the candidates of all sources: it estimates the probability of each candidate.

A list is sorted by this probability, without the candidates that `list_rules` leaves out.
"""

from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Protocol, Sequence, Tuple, Type, TypeVar

import numpy as np

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import settings_of

from .conditions import Conditions
from .features import NAMES
from .kept_folder import HEADER, Kind, new_folder, read_file, read_header
from .list_rules import arrange

LEARNER = "learner.txt"  # in LightGBM's format
TREES = "trees.onnx"  # the same trees as a graph, in a bundle
KIND = Kind("ranker", 4, "mtn-fit-ranker", frozenset({LEARNER}))

AnyRanker = TypeVar("AnyRanker", bound="Ranker")


class Ranked(NamedTuple):
    row: int  # of the features
    probability: float  # of being the next query; descending within a rule
    rule: str  # of `list_rules.RULES`


class Calibration(NamedTuple):
    """Turns the scores of a ranker, which learns only an order, into probabilities."""

    slope: float
    intercept: float

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-(self.slope * scores + self.intercept)))


class Learner(Protocol):
    """LightGBM's Booster, or the same trees as a graph."""

    def predict(self, features: np.ndarray) -> np.ndarray:
        """(candidates, features) -> (candidates,); higher is more likely"""


class Ranker:
    """Fitted on validation data. Subclasses for other candidates have their own kind and features.

    Args:
        learner: predicts scores; higher is more likely
        calibration: turns scores into probabilities
        conditions: the setup that it was fitted with
        facts: further facts to keep
        folder: of the ranker, for messages
    """

    kind = KIND
    names: Tuple[str, ...] = NAMES  # of the features

    def __init__(
        self,
        learner: Any,
        calibration: Calibration,
        conditions: Conditions,
        facts: Dict[str, Any],
        folder: Optional[Path] = None,
    ) -> None:
        self.learner, self.calibration = learner, calibration
        self.conditions, self.facts = conditions, facts
        self.header = Path(folder or "") / HEADER

    def order(self, features: np.ndarray, unrelated: bool = False) -> List[Ranked]:
        """(candidates, NAMES) -> the candidates to list, best first"""
        return self.order_many([features], unrelated)[0]

    def order_many(
        self, features: Sequence[np.ndarray], unrelated: bool = False
    ) -> List[List[Ranked]]:
        """The same for several lists: the learner runs once."""
        rows = [each for each in features if len(each)]
        probabilities = self.probabilities(np.concatenate(rows)) if rows else np.empty(0)
        ends = np.cumsum([len(each) for each in features])[:-1]
        return [
            self._in_order(each, of_each, unrelated)
            for each, of_each in zip(features, np.split(probabilities, ends))
        ]

    def _in_order(
        self, features: np.ndarray, probabilities: np.ndarray, unrelated: bool
    ) -> List[Ranked]:
        return order(features, probabilities, unrelated)

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """(candidates, names) -> (candidates,)"""
        return self.calibration.probabilities(self.learner.predict(features))

    def save(self, folder: Path) -> None:
        text = self.conditions.text
        facts = {
            **self.facts,
            "conditions": {**self.conditions._asdict(), "text": text and text._asdict()},
            "calibration": self.calibration._asdict(),
            "features": list(self.names),
        }
        with new_folder(folder, self.kind, facts) as partial:
            learner = self.learner.model_to_string(num_iteration=-1)
            (partial / LEARNER).write_text(learner, encoding="utf-8")

    @classmethod
    def load(cls: Type[AnyRanker], folder: Path) -> AnyRanker:
        """Load LightGBM's file, or the graph in a bundle, which does not need LightGBM."""
        header = read_header(folder, cls.kind)
        if header.get("features") != list(cls.names):
            raise InputError("of another version", cls.kind.again, folder / HEADER)
        try:
            calibration = Calibration(**header["calibration"])
            conditions = Conditions(**_with_tuples(header["conditions"]))
            fitted_on = settings_of(conditions.text, folder / HEADER)
            has_trees = TREES in header["files"]
        except (KeyError, TypeError, AttributeError):
            raise InputError("damaged", cls.kind.again, folder / HEADER) from None
        read_learner = read_trees if has_trees else read_lightgbm
        learner = read_learner(folder, cls.kind, header)
        return cls(learner, calibration, conditions._replace(text=fitted_on), header, folder)


def read_trees(folder: Path, kind: Kind, header: Dict[str, Any]) -> Learner:
    """Lazy import: lists without a ranker do not need ONNX Runtime."""
    from .trees import Trees

    return Trees(read_file(folder, kind, header, TREES), folder / TREES)


def read_lightgbm(folder: Path, kind: Kind, header: Dict[str, Any]) -> Any:
    """LightGBM's Booster.

    Args:
        folder: of a ranker, inside or outside a bundle
        header: of the folder
    """
    lightgbm = import_lightgbm()
    # LightGBM crashes or hangs on some damaged models, so check the file first.
    text = read_file(folder, kind, header, LEARNER)
    try:
        return lightgbm.Booster(model_str=text.decode("utf-8"))
    except lightgbm.basic.LightGBMError:
        reason = f"not for LightGBM {lightgbm.__version__}"
        raise InputError(reason, kind.again, folder / LEARNER) from None


def order(features: np.ndarray, probabilities: np.ndarray, unrelated: bool = False) -> List[Ranked]:
    """The rows of a list, best first; ties go to the first row.

    Args:
        features: (candidates, NAMES)
        probabilities: (candidates,)
        unrelated: see `list_rules`
    """
    likeliest = np.argsort(-probabilities, kind="stable").tolist()
    return [
        Ranked(each.row, float(probabilities[each.row]), each.rule)
        for each in arrange(features, likeliest, unrelated)
    ]


def _with_tuples(fields: Dict[str, Any]) -> Dict[str, Any]:
    """Turn lists into tuples: JSON has only lists."""
    return {name: tuple(each) if isinstance(each, list) else each for name, each in fields.items()}


def import_lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError:
        raise InputError(
            "a ranker is made of LightGBM, which is not installed",
            "pip install 'lightgbm>=4.0'",
        ) from None
    except OSError as error:  # from its shared library
        raise InputError(
            f"LightGBM is installed, but does not start ({error})",
            "install OpenMP (Debian: apt install libgomp1)",
        ) from None
    return lightgbm
