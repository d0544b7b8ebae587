"""The scores of all runs, from one or several outputs of `mtn-evaluate --json`."""

from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence

from ..errors import InputError
from .manifest import Manifest, System, read_json

SCHEMA = 1
FIGURES = ("1-gram", "2-gram", "3-gram", "4-gram", "bleu", "exact", "mrr@10")
TEXTS = ("raw", "unk")
_ENTRIES = {"schema", "systems", "test", "signature", "notes"}
# What makes evaluations comparable, and what to do where it differs.
_SAME = {
    "sha256": ("another test set", "evaluate all systems on one test text"),
    "unknown_words": ("another dictionary", "evaluate all systems with the same --dict"),
    "unknown_sha256": ("another dictionary", "evaluate all systems with the same --dict"),
}


class Figure(NamedTuple):
    """Over the runs of a system."""

    mean: float
    low: float
    high: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[Optional[float]]) -> Optional["Figure"]:
        """None where a run lacks it: a mean of the others would stand for another set of runs."""
        known = [value for value in values if value is not None]
        if not known or len(known) != len(values):
            return None
        return cls(sum(known) / len(known), min(known), max(known), len(known))


class Evaluations(NamedTuple):
    test: dict
    signature: str
    of_name: Dict[str, dict]  # what was evaluated, by its name there
    notes: List[str]
    comparisons: List[dict]

    def results(self, system: System) -> List[dict]:
        """One a run that was evaluated."""
        return [self.of_name[run.scores] for run in system.runs if run.scores is not None]

    def figure(self, system: System, text: str, name: str) -> Optional[Figure]:
        found = [result.get(text) or {} for result in self.results(system)]
        return Figure.of([figures.get(name) for figures in found])

    def groups(self, system: System, kind: str) -> Dict[str, List[dict]]:
        """By the group's label, one entry a run."""
        found: Dict[str, List[dict]] = {}
        for result in self.results(system):
            for group in result["groups"].get(kind, []):
                found.setdefault(group["group"], []).append(group)
        return found

    def differences(self, system: System, baseline: System, text: str) -> Dict[str, dict]:
        """By figure, where both were compared."""
        names = (system.compared, baseline.compared, text)
        return {
            found["figure"]: found
            for found in self.comparisons
            if (found["system"], found["baseline"], found["text"]) == names
        }


def read_evaluations(manifest: Manifest) -> Optional[Evaluations]:
    """None where there are none.

    Raises:
        InputError: they are of different test sets, or lack a system that the manifest names.
    """
    if not manifest.evaluations:
        return None
    of_name: Dict[str, dict] = {}
    notes: List[str] = []
    comparisons: List[dict] = []
    read = [_read(path) for path in manifest.evaluations]
    for path, result in zip(manifest.evaluations, read):
        _check_same(manifest.evaluations[0], read[0], path, result)
        for system in result["systems"]:
            if system["name"] in of_name:
                raise InputError(
                    f"system {system['name']!r} was evaluated in another file too",
                    "evaluate again under a name of its own",
                    path,
                )
            of_name[system["name"]] = system
        notes += result["notes"]
        comparisons += result.get("comparisons", [])
    _check_names(manifest, of_name)
    _check_compared(manifest, comparisons)
    return Evaluations(read[0]["test"], read[0]["signature"], of_name, notes, comparisons)


def unshown(manifest: Manifest, evaluations: Evaluations) -> List[str]:
    """Names that were evaluated and that no run has."""
    shown = {run.scores for system in manifest.systems for run in system.runs}
    return [name for name in evaluations.of_name if name not in shown]


def _read(path: Path) -> dict:
    result = read_json(path)
    if not isinstance(result, dict) or not result.keys() >= _ENTRIES or result["schema"] != SCHEMA:
        raise InputError(
            f"no evaluation of schema {SCHEMA}", "give a file of `mtn-evaluate --json`", path
        )
    return result


def _check_same(first_path: Path, first: dict, path: Path, result: dict) -> None:
    for name, (reason, remedy) in _SAME.items():
        if result["test"].get(name) != first["test"].get(name):
            raise InputError(f"{reason} than {first_path}", remedy, path)
    if _seen(result) != _seen(first):
        raise InputError(
            f"another training text than {first_path}",
            "evaluate all systems with the same --train",
            path,
        )
    if result["signature"] != first["signature"]:
        raise InputError(
            f"BLEU counted otherwise than in {first_path}",
            "evaluate all with one version of sacrebleu",
            path,
        )


def _seen(result: dict) -> List[int]:
    """How many next queries the training text has, and has not."""
    groups = result["systems"][0]["groups"] if result["systems"] else {}
    return [group["pairs"] for group in groups.get("seen", [])]


def _check_compared(manifest: Manifest, comparisons: Sequence[dict]) -> None:
    found = [tuple(map(each.get, ("system", "baseline", "text", "figure"))) for each in comparisons]
    if len(set(found)) != len(found):
        raise InputError(
            "the evaluations compare the same systems twice", "leave one out", manifest.file
        )
    names = {name for system, baseline, *_ in found for name in (system, baseline)}
    for system in manifest.systems:
        if names and system.compared is not None and system.compared not in names:
            raise InputError(
                f"{system.label}: `compared` is {system.compared!r}, which no comparison has",
                f"they have {', '.join(sorted(map(str, names)))}",
                manifest.file,
            )


def _check_names(manifest: Manifest, of_name: Dict[str, dict]) -> None:
    taken: Dict[str, str] = {}
    for system in manifest.systems:
        for run in system.runs:
            if run.scores is None:
                continue
            if run.scores not in of_name:
                raise InputError(
                    f"{system.label}: no system {run.scores!r} in the evaluations",
                    f"they have {', '.join(of_name)}",
                    manifest.file,
                )
            if run.scores in taken:
                raise InputError(
                    f"{system.label}: the scores {run.scores!r} are those of "
                    f"{taken[run.scores]} already",
                    "give each run its own",
                    manifest.file,
                )
            taken[run.scores] = system.label
