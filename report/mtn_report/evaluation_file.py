"""Read a file of `mtn-evaluate --json`, and check that it has what a report needs."""

import math
from pathlib import Path
from typing import Any, Iterator, Tuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.json_file import read_json

SCHEMA = 1
TEXTS = ("raw", "unk")
_REMEDY = "evaluate again with mtn-evaluate --json"
_ENTRIES = {"schema", "systems", "test", "signature", "notes"}


def read_evaluation(path: Path) -> dict:
    result = read_json(path, _REMEDY)
    if not isinstance(result, dict) or not result.keys() >= _ENTRIES or result["schema"] != SCHEMA:
        raise InputError(
            f"not an evaluation of schema {SCHEMA}", "give a file of `mtn-evaluate --json`", path
        )
    for place, is_valid in _checks(result):
        if not is_valid:
            raise InputError(f"missing or invalid entry: {place}", _REMEDY, path)
    return result


def _checks(result: dict) -> Iterator[Tuple[str, bool]]:
    """Places in the file, and whether each is valid; lazy, to stop at the first invalid one."""
    test = result["test"]
    yield "test", isinstance(test, dict)
    yield "test: pairs", _is_count(test.get("pairs"))
    yield "test: words", _is_count(test.get("words"))
    yield "test: sha256", isinstance(test.get("sha256"), str)
    unknown = test.get("unknown_words")
    # The share of unknown words divides by the number of words.
    yield "test: unknown_words", unknown is None or (_is_count(unknown) and test["words"] > 0)
    yield "signature", isinstance(result["signature"], str)
    yield "notes", _is_list(result["notes"], str)
    yield "systems", _is_list(result["systems"], dict)
    for number, system in enumerate(result["systems"], 1):
        yield f"systems: name of system {number}", isinstance(system.get("name"), str)
        yield from _system_checks(system)
    comparisons = result.get("comparisons", [])
    yield "comparisons", _is_list(comparisons, dict)
    for each in comparisons:
        words = [each.get(name) for name in ("system", "baseline", "text", "figure")]
        numbers = [each.get(name) for name in ("difference", "low", "high")]
        yield "comparisons", _is_list(words, str) and all(map(_is_number, numbers))
    bootstrap = result.get("bootstrap")  # older versions do not have this entry
    yield "bootstrap", bootstrap is None or isinstance(bootstrap, dict)
    unit = bootstrap.get("unit") if bootstrap else None
    yield "bootstrap: unit", unit is None or isinstance(unit, str)
    runs = result.get("runs", {})
    yield "runs", isinstance(runs, dict) and all(_is_list(names, str) for names in runs.values())


def _system_checks(system: dict) -> Iterator[Tuple[str, bool]]:
    name = system["name"]
    yield from _figure_checks(name, system)
    perplexity = system.get("perplexity")
    if perplexity is not None:
        yield f"{name}: perplexity", isinstance(perplexity, dict)
        yield f"{name}: value of perplexity", _is_number(perplexity.get("value"))
        yield f"{name}: tokens of perplexity", _is_count(perplexity.get("tokens"))
    groups = system.get("groups")
    yield f"{name}: groups", isinstance(groups, dict)
    for kind, found in system["groups"].items():
        yield f"{name}: groups by {kind}", _is_list(found, dict)
        for group in found:
            yield f"{name}: groups by {kind}", isinstance(group.get("group"), str)
            yield f"{name}: pairs of groups by {kind}", _is_count(group.get("pairs"))
            yield from _figure_checks(f"{name}: groups by {kind}", group)


def _figure_checks(place: str, found: dict) -> Iterator[Tuple[str, bool]]:
    yield f"{place}: raw", isinstance(found.get("raw"), dict)
    for text in TEXTS:
        figures = found.get(text) or {}  # without --dict there is only raw text
        yield f"{place}: {text}", isinstance(figures, dict)
        for figure, value in figures.items():
            yield f"{place}: {text}: {figure}", value is None or _is_number(value)


def _is_number(value: Any) -> bool:
    """A finite number. JSON has no NaN, but Python reads it; and `true` is an int in Python."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_list(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(each, kind) for each in value)
