"""The scores of all runs, from one or more outputs of `mtn-evaluate --json`."""

from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Set

from mtn_preprocess.errors import InputError

from .evaluation_file import read_evaluation
from .manifest import Manifest, System

FIGURES = ("1-gram", "2-gram", "3-gram", "4-gram", "bleu", "exact", "mrr@10")
# Entries that must be equal in all evaluations, with reason and remedy of the error.
_MUST_MATCH = {
    "sha256": ("its test set differs", "evaluate all systems on the same test text"),
    "unknown_words": ("its dictionary differs", "evaluate all systems with the same --dict"),
    "unknown_sha256": ("its dictionary differs", "evaluate all systems with the same --dict"),
}


class Figure(NamedTuple):
    """The mean and range of a figure over the runs of a system."""

    mean: float
    low: float
    high: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[Optional[float]]) -> Optional["Figure"]:
        """None if any run lacks the figure: a mean over fewer runs would be misleading."""
        known = [value for value in values if value is not None]
        if not known or len(known) != len(values):
            return None
        return cls(sum(known) / len(known), min(known), max(known), len(known))


class Evaluations(NamedTuple):
    test: dict
    signature: str
    of_name: Dict[str, dict]  # results by name in the evaluations
    notes: List[str]
    comparisons: List[dict]
    resampled: str  # what the bootstrap of the comparisons resamples: `people`, `pairs`, both or ""

    def results(self, system: System) -> List[dict]:
        """One result per evaluated run."""
        return [self.of_name[run.scores] for run in system.runs if run.scores is not None]

    def figure(self, system: System, text: str, name: str) -> Optional[Figure]:
        found = [result.get(text) or {} for result in self.results(system)]
        return Figure.of([figures.get(name) for figures in found])

    def groups(self, system: System, kind: str) -> Dict[str, List[dict]]:
        """Group label -> one entry per run."""
        found: Dict[str, List[dict]] = {}
        for result in self.results(system):
            for group in result["groups"].get(kind, []):
                found.setdefault(group["group"], []).append(group)
        return found

    def perplexities(self, system: System) -> List[dict]:
        """One perplexity per run; empty if any run lacks it, as for other figures."""
        found = [result.get("perplexity") for result in self.results(system)]
        return [each for each in found if each is not None] if all(found) else []

    def differences(self, system: System, baseline: System, text: str) -> Dict[str, dict]:
        """Differences by figure; empty if the two systems were not compared."""
        names = (system.compared, baseline.compared, text)
        return {
            found["figure"]: found
            for found in self.comparisons
            if (found["system"], found["baseline"], found["text"]) == names
        }


def read_evaluations(manifest: Manifest) -> Optional[Evaluations]:
    """The evaluations of a manifest; None if it names none.

    Raises:
        InputError: their test sets differ, or they lack a system that the manifest names.
    """
    if not manifest.evaluations:
        return None
    of_name: Dict[str, dict] = {}
    notes: List[str] = []
    comparisons: List[dict] = []
    units: List[str] = []
    read = [read_evaluation(path) for path in manifest.evaluations]
    _check_same_sessions(manifest.evaluations, read)
    for path, result in zip(manifest.evaluations, read):
        _check_same(manifest.evaluations[0], read[0], path, result)
        for system in result["systems"]:
            if system["name"] in of_name:
                raise InputError(
                    f"system {system['name']!r} is also in another evaluation",
                    "evaluate it again under a different name",
                    path,
                )
            of_name[system["name"]] = system
        notes += result["notes"]
        comparisons += result.get("comparisons", [])
        units.append((result.get("bootstrap") or {}).get("unit", ""))
    _check_names(manifest, of_name)
    _check_compared(manifest, comparisons)
    _check_compared_runs(manifest, read)
    resampled = " or ".join(dict.fromkeys(filter(None, units)))
    test, signature = read[0]["test"], read[0]["signature"]
    return Evaluations(test, signature, of_name, notes, comparisons, resampled)


def unshown(manifest: Manifest, evaluations: Evaluations) -> List[str]:
    """Names in the evaluations that no run names as its scores."""
    shown = {run.scores for system in manifest.systems for run in system.runs}
    return [name for name in evaluations.of_name if name not in shown]


def uncompared(manifest: Manifest, evaluations: Evaluations) -> List[str]:
    """Names in the comparisons that no system names as `compared`."""
    shown = {system.compared for system in manifest.systems}
    return sorted(_names(evaluations.comparisons) - shown)


def _names(comparisons: Sequence[dict]) -> Set[str]:
    return {each[side] for each in comparisons for side in ("system", "baseline")}


def _check_same(first_path: Path, first: dict, path: Path, result: dict) -> None:
    for name, (reason, remedy) in _MUST_MATCH.items():
        if result["test"].get(name) != first["test"].get(name):
            raise InputError(f"{reason} from that of {first_path}", remedy, path)
    if _seen(result) != _seen(first):
        raise InputError(
            f"its training text differs from that of {first_path}",
            "evaluate all systems with the same --train",
            path,
        )
    if result["signature"] != first["signature"]:
        raise InputError(
            f"its BLEU signature differs from that of {first_path}",
            "evaluate all systems with the same version of sacrebleu",
            path,
        )


def _check_same_sessions(paths: Sequence[Path], read: Sequence[dict]) -> None:
    """Refuse evaluations of different sessions, even if their next queries are the same. Older
    versions do not write this entry."""
    known = [
        (path, result["test"]["sessions_sha256"])
        for path, result in zip(paths, read)
        if result["test"].get("sessions_sha256") is not None
    ]
    for path, sessions in known:
        if sessions != known[0][1]:
            raise InputError(
                f"its sessions differ from those of {known[0][0]}, but not its next queries",
                "evaluate all systems on the same test text",
                path,
            )


def _seen(result: dict) -> List[int]:
    """The numbers of next queries in the training text and not in it."""
    groups = result["systems"][0]["groups"] if result["systems"] else {}
    return [group["pairs"] for group in groups.get("seen", [])]


def _check_compared(manifest: Manifest, comparisons: Sequence[dict]) -> None:
    found = [(c["system"], c["baseline"], c["text"], c["figure"]) for c in comparisons]
    if len(set(found)) != len(found):
        raise InputError(
            "the evaluations have the same comparison twice", "remove one", manifest.file
        )
    names = _names(comparisons)
    for system in manifest.systems:
        if names and system.compared is not None and system.compared not in names:
            raise InputError(
                f"{system.label}: `compared` is {system.compared!r}, the name of no comparison",
                f"choose from {', '.join(sorted(names))}",
                manifest.file,
            )


def _check_compared_runs(manifest: Manifest, read: Sequence[dict]) -> None:
    """Refuse differences between other runs than those in the tables. Older versions do not list
    the runs."""
    for result in read:
        if "runs" not in result:
            continue
        names = _names(result.get("comparisons", []))
        for system in manifest.systems:
            if system.compared not in names:
                continue
            compared = result["runs"].get(system.compared, [system.compared])
            own = [run.scores for run in system.runs if run.scores is not None]
            if sorted(compared) != sorted(own):
                raise InputError(
                    f"{system.label}: the comparison {system.compared!r} is of the runs "
                    f"{', '.join(compared)}, but this system has {', '.join(own) or 'none'}",
                    "compare the same runs, with mtn-evaluate --runs",
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
                    f"choose from {', '.join(of_name)}",
                    manifest.file,
                )
            if run.scores in taken:
                raise InputError(
                    f"{system.label}: the scores {run.scores!r} are also those of "
                    f"{taken[run.scores]}",
                    "give each run its own scores",
                    manifest.file,
                )
            taken[run.scores] = system.label
