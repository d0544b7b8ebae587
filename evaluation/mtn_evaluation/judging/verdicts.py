"""Count the verdicts of a filled form per system; returns numbers only, no queries."""

from math import sqrt
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from mtn_preprocess.errors import InputError

from .form import KINDS, VERDICTS, Verdict
from .sample import KEY_SCHEMA

SCHEMA = 1  # increased when an entry changes its meaning or is removed
CONFIDENCE = 95  # percent
_Z = 1.959963984540054  # quantile of the normal distribution for this confidence


class _Expected(NamedTuple):
    system: str
    is_empty: bool


def wilson(found: int, total: int) -> Tuple[float, float]:
    """The confidence interval of a share, in percent (Wilson 1927); valid for small counts, too."""
    share = found / total
    middle = share + _Z * _Z / (2 * total)
    width = _Z * sqrt(share * (1 - share) / total + _Z * _Z / (4 * total * total))
    low, high = ((middle + sign * width) / (1 + _Z * _Z / total) for sign in (-1, 1))
    return 100 * max(0.0, low), 100 * min(1.0, high)


def count_verdicts(verdicts: Sequence[Verdict], key: Any, form: str, key_file: str) -> dict:
    """Args:
    form: the path of the form, for messages
    """
    expected = _lists_of_key(key, key_file)
    judged: Dict[Tuple[int, str], Verdict] = {}
    for each in verdicts:
        if each.form != key["form"]:
            raise InputError(
                f"not a row of the form of {key_file}", "give its key", form, each.line
            )
        place = each.pair, each.letter
        if place not in expected:
            raise InputError("a list that was not drawn", "remove the row", form, each.line)
        if place in judged:
            raise InputError(
                f"the list of line {judged[place].line} again",
                "remove one of them",
                form,
                each.line,
            )
        judged[place] = each
    missing = [f"{pair}{letter}" for pair, letter in expected if (pair, letter) not in judged]
    if missing:
        raise InputError(
            f"{len(missing)} lists are missing, {missing[0]} first", "restore their rows", form
        )
    systems = []
    for name in key["systems"]:
        places = [place for place, each in expected.items() if each.system == name]
        empty = sum(expected[place].is_empty for place in places)
        systems.append(_count(name, [judged[place] for place in places], empty))
    return {
        "schema": SCHEMA,
        "form": key["form"],
        "test": key["test"],
        "drawn": key["drawn"],
        "nbest": key["nbest"],
        "pairs": len(key["pairs"]),
        "confidence": CONFIDENCE,
        "systems": systems,
    }


def _count(name: str, judged: List[Verdict], empty: int) -> dict:
    found: Dict[str, Any] = {"name": name, "lists": len(judged), "empty": empty}
    for verdict in VERDICTS:
        count = sum(each.verdict == verdict for each in judged)
        low, high = wilson(count, len(judged))
        share = 100 * count / len(judged)
        found[verdict] = {"count": count, "share": share, "low": low, "high": high}
    found["kinds"] = {kind: sum(kind in each.kinds for each in judged) for kind in KINDS}
    return found


def _lists_of_key(key: Any, path: str) -> Dict[Tuple[int, str], _Expected]:
    """The system of each list."""
    try:
        if key["schema"] != KEY_SCHEMA:
            raise KeyError("schema")
        expected = {
            (int(drawn["pair"]), str(letter)): _Expected(system, system in drawn["empty"])
            for drawn in key["pairs"]
            for letter, system in drawn["systems"].items()
        }
        whole = {each.system for each in expected.values()} == set(key["systems"])
        if not (whole and all(name in key for name in ("form", "test", "drawn", "nbest"))):
            raise KeyError("systems")
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError("not a key of mtn-judge sample", "give FORM.key.json", path) from None
    return expected
