"""`report.json`: the files of a report. docs/report.md describes the format."""

import os
import unicodedata
from pathlib import Path
from reprlib import Repr
from typing import Any, Dict, Iterator, List, NamedTuple, NoReturn, Optional, Sequence

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.json_file import read_json

from . import paper

NAME = "report.json"
SCHEMA = 1
GROUPS = ("main", "ablation", "variant", "beyond", "yardstick")
_SHORT = Repr()
_SHORT.maxstring = 100
shortened = _SHORT.repr  # for values in errors, which may be long or nested


class Run(NamedTuple):
    """One training run of a system, or the single run of a baseline."""

    seed: Optional[int]
    scores: Optional[str]  # name in the evaluations
    checkpoint: Optional[Path]
    training_log: Optional[Path]
    suggestions: List[Path]


class System(NamedTuple):
    label: str
    groups: List[str]
    paper: Optional[str]
    arch: Optional[str]
    data: Optional[Path]  # only if its dictionary differs from the manifest's
    compared: Optional[str]  # name in the comparisons: of its only run, or of all runs
    runs: List[Run]

    def checkpoint(self) -> Optional[Path]:
        """The checkpoint of the first run that has one."""
        return next((run.checkpoint for run in self.runs if run.checkpoint), None)


class Manifest(NamedTuple):
    file: Path
    title: str
    about: List[str]
    stats: Optional[Path]
    evaluations: List[Path]
    data: Optional[Path]
    test: Optional[Path]
    sample_lines: List[int]
    attention: Optional[str]
    systems: List[System]

    def of_group(self, group: str) -> List[System]:
        return [system for system in self.systems if group in system.groups]

    def files(self) -> Iterator[Path]:
        """All input files of the report; of the binarised data, only the dictionaries."""
        yield self.file
        yield from self.evaluations
        yield from (path for path in (self.stats,) if path is not None)
        if self.test is not None:
            yield from (Path(f"{self.test}.{ending}") for ending in ("session", "next"))
        for data in (self.data, *(system.data for system in self.systems)):
            yield from (data / f"dict.{end}.txt" for end in ("session", "next") if data is not None)
        for run in (run for system in self.systems for run in system.runs):
            yield from (path for path in (run.checkpoint, run.training_log) if path is not None)
            yield from run.suggestions


def read_manifest(experiment: str) -> Manifest:
    """Read a manifest, given its path or its folder."""
    file = Path(experiment)
    file = file / NAME if os.path.isdir(file) else file
    if not os.path.isfile(file):  # unlike Path.is_file, also handles names that are too long
        raise InputError("no such file", f"give a {NAME}, see docs/report.md", file)
    entry = _Entry(read_json(file), file, "")
    if entry.number("schema") != SCHEMA:
        raise InputError(f"`schema` must be {SCHEMA}", "see docs/report.md", file)
    manifest = Manifest(
        file,
        entry.text("title") or "Query suggestion: the runs of one experiment",
        entry.texts("about"),
        entry.path("stats"),
        entry.paths("evaluations"),
        entry.path("data"),
        entry.path("test", ending=".session"),
        entry.numbers("sample_lines"),
        entry.text("attention"),
        [_system(system) for system in entry.entries("systems")],
    )
    entry.refuse_others()
    _check(manifest)
    return manifest


def _system(entry: "_Entry") -> System:
    system = System(
        entry.needed("label"),
        entry.texts("group"),
        entry.text("paper"),
        entry.text("arch"),
        entry.path("data"),
        entry.text("compared"),
        [_run(run) for run in entry.entries("runs")],
    )
    entry.refuse_others()
    for group in system.groups:
        entry.check_choice("group", group, GROUPS)
    if not system.groups:
        entry.refuse("no `group`", f"choose from {', '.join(GROUPS)}")
    if system.paper is not None:
        entry.check_choice("paper", system.paper, paper.NAMES)
    return system


def _run(entry: "_Entry") -> Run:
    run = Run(
        entry.number("seed"),
        entry.text("scores"),
        entry.path("checkpoint"),
        entry.path("training_log"),
        entry.paths("suggestions"),
    )
    entry.refuse_others()
    return run


def _check(manifest: Manifest) -> None:
    """Checks that involve more than one entry."""
    labels = [system.label for system in manifest.systems]
    compared = [system.compared for system in manifest.systems if system.compared is not None]
    for names, what, remedy in (
        (labels, "label", "give each system a different label"),
        (compared, "compared", "a comparison belongs to one system: give each a different name"),
    ):
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"two systems with `{what}` {shortened(twice)}", remedy, manifest.file)
    _check_shown(manifest)
    if any(line < 1 for line in manifest.sample_lines):
        raise InputError("`sample_lines` below 1", "lines are counted from 1", manifest.file)
    if manifest.attention is not None and manifest.attention not in labels:
        raise InputError(
            f"`attention`: no system {shortened(manifest.attention)}",
            f"choose from {', '.join(labels)}",
            manifest.file,
        )
    if any(s.label == manifest.attention and s.data is not None for s in manifest.systems):
        raise InputError(
            f"`attention`: {manifest.attention} has its own `data`, with other tokens than `test`",
            "choose a system without `data`",
            manifest.file,
        )


def _check_shown(manifest: Manifest) -> None:
    """Control characters would break table rows; a lone surrogate cannot be encoded as UTF-8."""
    archs = [system.arch or "" for system in manifest.systems]
    paragraphs = [" ".join(text.split()) for text in manifest.about]  # may have several lines
    for text in (manifest.title, *(s.label for s in manifest.systems), *archs, *paragraphs):
        if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in text):
            raise InputError(
                f"{shortened(text)} has a line break or an unprintable character",
                "remove it",
                manifest.file,
            )


class _Entry:
    """One JSON object of the file; its values are read by name and type."""

    def __init__(self, given: Any, file: Path, place: str) -> None:
        self.file, self.place = file, place
        self.known: List[str] = []
        if not isinstance(given, dict):
            self.refuse("not a JSON object", "see docs/report.md")
        self.given: Dict[str, Any] = given

    def refuse(self, reason: str, remedy: str) -> NoReturn:
        raise InputError(f"{self.place}{reason}", remedy, self.file)

    def refuse_others(self) -> None:
        """Refuse unknown names: a misspelt name would silently drop a part of the report."""
        for name in self.given:
            if name not in self.known:
                self.refuse(f"unknown entry `{name}`", f"choose from {', '.join(self.known)}")

    def check_choice(self, name: str, value: str, choices: Sequence[str]) -> None:
        if value not in choices:
            self.refuse(f"`{name}` is {shortened(value)}", f"choose from {', '.join(choices)}")

    def _value(self, name: str, kind: type, what: str) -> Any:
        self.known.append(name)
        value = self.given.get(name)
        # In Python, unlike JSON, `true` is an int.
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            self.refuse(f"`{name}` is {shortened(value)}", f"write {what}")
        return value

    def number(self, name: str) -> Optional[int]:
        return self._value(name, int, "a whole number")

    def text(self, name: str) -> Optional[str]:
        return self._value(name, str, "a text")

    def needed(self, name: str) -> str:
        return self.text(name) or self.refuse(f"no `{name}`", "every system needs one")

    def _list(self, name: str, kind: type, what: str) -> List[Any]:
        """A list of values; a single text counts as a list of one."""
        self.known.append(name)
        value = self.given.get(name)
        values = [value] if isinstance(value, str) else [] if value is None else value
        if not isinstance(values, list) or not all(type(v) is kind for v in values):
            self.refuse(f"`{name}` is {shortened(value)}", f"write a list of {what}")
        return values

    def numbers(self, name: str) -> List[int]:
        return self._list(name, int, "whole numbers")

    def texts(self, name: str) -> List[str]:
        return self._list(name, str, "texts")

    def entries(self, name: str) -> List["_Entry"]:
        given = self._list(name, dict, "objects")
        if not given:
            self.refuse(f"no `{name}`", "list at least one")
        one = name.rstrip("s")
        return [
            _Entry(value, self.file, f"{self.place}{one} {value.get('label', number)}: ")
            for number, value in enumerate(given, 1)
        ]

    def path(self, name: str, ending: str = "") -> Optional[Path]:
        text = self.text(name)
        return None if text is None else self._found(name, text, ending)

    def paths(self, name: str) -> List[Path]:
        return [self._found(name, text) for text in self.texts(name)]

    def _found(self, name: str, text: str, ending: str = "") -> Path:
        path = self.file.parent / text
        if not os.path.exists(f"{path}{ending}"):
            self.refuse(
                f"`{name}`: no such file: {path}{ending}",
                "create it, or remove the entry: its section is then not shown",
            )
        return path
