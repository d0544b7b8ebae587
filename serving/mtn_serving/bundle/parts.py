"""Put each part into a bundle, and return its facts for the manifest: numbers only."""

import shutil
from pathlib import Path
from typing import Any, Dict, Type

from ..kept_folder import HEADER, read_header, write_header
from ..next_queries import KIND as COUNTS_KIND
from ..next_queries import NextQueries
from ..optional_imports import WHOLE_PROJECT, needed_for
from ..ranker import LEARNER, TREES, Ranker, read_lightgbm
from .samples import NAME as SAMPLES_FILE
from .samples import read_sample_lines

_COUNT_FACTS = ("pairs", "queries", "contexts", "longest_context", "users", "min_users")

Facts = Dict[str, Any]


def add_model(checkpoint: Path, data: Path, folder: Path, int8: bool, shortlist: int = 0) -> Facts:
    """Lazy import: torch and fairseq take seconds, and other parts do not need them."""
    with needed_for("exporting a model", WHOLE_PROJECT):
        from ..export.export_model import export_model

    folder.mkdir()
    return export_model(checkpoint, data, folder, int8, shortlist)


def add_counts(source: Path, folder: Path) -> Facts:
    """Copy a table, after a check of all its files."""
    table = NextQueries.open(source, verify=True)
    header = read_header(source, COUNTS_KIND)
    folder.mkdir()
    for name in (HEADER, *header["files"]):
        shutil.copyfile(source / name, folder / name)
    return {name: table.facts.get(name) for name in _COUNT_FACTS}


def add_ranker(source: Path, folder: Path, kind: Type[Ranker] = Ranker) -> Facts:
    """Convert a ranker's trees to a graph; LightGBM's own file is kept for explanations."""
    ranker = kind.load(source)
    header = ranker.facts
    folder.mkdir()
    if TREES in header["files"]:  # from another bundle
        for name in (HEADER, *header["files"]):
            shutil.copyfile(source / name, folder / name)
    else:
        _write_ranker(source, folder, kind, header)
    conditions = header["conditions"]
    return {
        "examples": header.get("examples"),
        "sources": conditions["sources"],
        "beam": conditions["beam"],
    }


def add_samples(source: Path, folder: Path) -> Facts:
    """Copy all samples; those that may not be shown are removed when the bundle is complete."""
    lines = read_sample_lines(source)
    folder.mkdir()
    text = "".join(f"{line}\n" for line in lines)
    (folder / SAMPLES_FILE).write_text(text, encoding="utf-8")
    return {}


def _write_ranker(source: Path, folder: Path, kind: Type[Ranker], header: Facts) -> None:
    with needed_for("exporting a ranker", WHOLE_PROJECT):
        from .tree_graph import tree_graph

    graph = tree_graph(read_lightgbm(source, kind.kind, header))
    (folder / TREES).write_bytes(graph)
    shutil.copyfile(source / LEARNER, folder / LEARNER)
    facts = {name: value for name, value in header.items() if name not in ("files", "sha256")}
    in_bundle = kind.kind._replace(files=frozenset({LEARNER, TREES}))
    write_header(folder, in_bundle, facts)
