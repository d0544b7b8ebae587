"""Learning curves from the output of `fairseq-train --log-format simple`, tqdm or json."""

import json
import math
import re
from pathlib import Path
from typing import Dict, List, NamedTuple, Sequence, Tuple

from mtn_preprocess.errors import InputError

Points = List[Tuple[int, float]]  # updates, bits per token

_LINE = re.compile(r"\| (train_inner|valid) \| (.*)")
_FIELD = re.compile(r"(?<!\w)(?:valid_)?(loss|nll_loss|num_updates)[ =]([^\s,|]+)")


class Curve(NamedTuple):
    training: Points
    validation: Points


def read_curve(path: Path) -> Curve:
    """Read `nll_loss`, which excludes label smoothing and entropy: criterions are comparable.
    `cross_entropy` logs only `loss`, which is the same.

    If a resumed run repeats an update, the last value counts. Losses that are not finite are
    dropped: a run that diverged at the start has no points.
    """
    found: Dict[str, Dict[int, float]] = {"train_inner": {}, "valid": {}}
    if not path.is_file():
        raise InputError("not a file", "give the complete output of fairseq-train", path)
    with open(path, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            # The last line of a killed run may be truncated in the middle of a number.
            match = _LINE.search(line) if line.endswith("\n") else None
            fields = _fields(match[2]) if match else {}
            loss = fields.get("nll_loss", fields.get("loss"))
            updates = fields.get("num_updates", math.nan)
            if match and loss is not None and math.isfinite(updates):
                found[match[1]][int(updates)] = loss
    if not found["valid"]:
        raise InputError(
            "no validation loss",
            "give the complete output of fairseq-train --log-format simple",
            path,
        )
    return Curve(*map(_finite, found.values()))


def shared_updates(runs: Sequence[Points]) -> List[int]:
    """The updates at which every run has a point."""
    found = [{updates for updates, _ in points} for points in runs]
    return sorted(set.intersection(*found)) if found else []


def _finite(losses: Dict[int, float]) -> Points:
    return sorted((updates, loss) for updates, loss in losses.items() if math.isfinite(loss))


def _fields(text: str) -> Dict[str, float]:
    """The fields of a line; none if the line is damaged, for example cut when a run was killed."""
    try:
        if text.startswith("{"):
            text = ", ".join(f"{name}={value}" for name, value in json.loads(text).items())
        return {name: float(value) for name, value in _FIELD.findall(text)}
    except (ValueError, RecursionError):
        return {}
