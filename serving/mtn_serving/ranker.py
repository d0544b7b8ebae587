"""One ranker for the candidates of every source: how likely is each of them the next query?

A list is in the order of that probability, without what `list_rules` leaves out.
"""

from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Protocol, Tuple, Type, TypeVar

import numpy as np

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import settings_of

from .conditions import Conditions
from .features import NAMES
from .kept_folder import HEADER, Kind, new_folder, read_file, read_header
from .list_rules import arrange

LEARNER = "learner.txt"  # as LightGBM writes it
TREES = "trees.onnx"  # the same trees as a graph, in a bundle
KIND = Kind("ranker", 4, "mtn-fit-ranker", frozenset({LEARNER}))

AnyRanker = TypeVar("AnyRanker", bound="Ranker")


class Ranked(NamedTuple):
    row: int  # of the features
    probability: float  # that it is the next query; falls among rows of one rule
    rule: str  # of `list_rules.RULES`


class Calibration(NamedTuple):
    """A ranker learns an order; this line through its scores makes probabilities of them."""

    slope: float
    intercept: float

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-(self.slope * scores + self.intercept)))


class Learner(Protocol):
    """LightGBM's Booster, or the same trees as a graph."""

    def predict(self, features: np.ndarray) -> np.ndarray:
        """(candidates, features) -> (candidates,), the higher the likelier."""


class Ranker:
    """Fitted on validation data. Rankers of other candidates have a kind and features of their own.

    Args:
        learner: predicts scores that tell which candidate is likelier
        calibration: makes probabilities of them
        conditions: with what it was fitted
        facts: what else is worth keeping
        folder: where it is kept, for messages
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
        """(candidates, NAMES) -> those of a list, best first."""
        return order(features, self.probabilities(features), unrelated)

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
        """As mtn-fit-ranker wrote it; in a bundle there is a graph, which needs no LightGBM."""
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
    """Imported only here: lists without a ranker do not need ONNX Runtime."""
    from .trees import Trees

    return Trees(read_file(folder, kind, header, TREES), folder / TREES)


def read_lightgbm(folder: Path, kind: Kind, header: Dict[str, Any]) -> Any:
    """LightGBM's Booster.

    Args:
        folder: of a ranker, in a bundle or not
        header: of the folder
    """
    lightgbm = import_lightgbm()
    # LightGBM aborts the process, or never ends, on some damaged models: it is given none.
    text = read_file(folder, kind, header, LEARNER)
    try:
        return lightgbm.Booster(model_str=text.decode("utf-8"))
    except lightgbm.basic.LightGBMError:
        reason = f"not for LightGBM {lightgbm.__version__}"
        raise InputError(reason, kind.again, folder / LEARNER) from None


def order(features: np.ndarray, probabilities: np.ndarray, unrelated: bool = False) -> List[Ranked]:
    """The rows of a list, best first; of equals, the first row comes first.

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
    """JSON has lists only."""
    return {name: tuple(each) if isinstance(each, list) else each for name, each in fields.items()}


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
