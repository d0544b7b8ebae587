"""One ranker for the candidates of every source: how likely is each of them the next query?

A list is in the order of that probability, without what `list_rules` leaves out.
"""

from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional

import numpy as np

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_settings import settings_of

from .conditions import Conditions
from .features import NAMES
from .kept_folder import HEADER, Kind, new_folder, read_file, read_header
from .list_rules import arrange

LEARNER = "learner.txt"
KIND = Kind("ranker", 4, "mtn-fit-ranker", frozenset({LEARNER}))


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


class Ranker:
    """Fitted on validation data.

    Args:
        learner: of LightGBM; predicts scores that tell which candidate is likelier
        calibration: makes probabilities of them
        conditions: with what it was fitted
        facts: what else is worth keeping
        folder: where it is kept, for messages
    """

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
        probabilities = self.calibration.probabilities(self.learner.predict(features))
        return order(features, probabilities, unrelated)

    def save(self, folder: Path) -> None:
        text = self.conditions.text
        facts = {
            **self.facts,
            "conditions": {**self.conditions._asdict(), "text": text and text._asdict()},
            "calibration": self.calibration._asdict(),
            "features": list(NAMES),
        }
        with new_folder(folder, KIND, facts) as partial:
            learner = self.learner.model_to_string(num_iteration=-1)
            (partial / LEARNER).write_text(learner, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "Ranker":
        lightgbm = import_lightgbm()
        header = read_header(folder, KIND)
        if header.get("features") != list(NAMES):
            raise InputError("of another version", KIND.again, folder / HEADER)
        try:
            calibration = Calibration(**header["calibration"])
            conditions = Conditions(**_with_tuples(header["conditions"]))
            fitted_on = settings_of(conditions.text, folder / HEADER)
        except (KeyError, TypeError, AttributeError):
            raise InputError("damaged", KIND.again, folder / HEADER) from None
        # LightGBM aborts the process, or never ends, on some damaged models: it is given none.
        text = read_file(folder, KIND, header, LEARNER)
        try:
            learner = lightgbm.Booster(model_str=text.decode("utf-8"))
        except lightgbm.basic.LightGBMError:
            reason = f"not for LightGBM {lightgbm.__version__}"
            raise InputError(reason, KIND.again, folder / LEARNER) from None
        return cls(learner, calibration, conditions._replace(text=fitted_on), header, folder)


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
