"""The rows of the tables: how they are scored, and what the report shows of them."""

import re
from pathlib import Path
from typing import Iterable, List, NamedTuple, Optional, Tuple

from parts import Part, Training
from plan import Plan
from recipes import System


class Run(NamedTuple):
    """Suggestions for every test pair, in `generate.log` of a folder.

    Args:
        name: in the scores
        answers: the folder; for a trained model, also with `with-unk.log` (suggestions that may
            contain <unk>) and `reference.log` (for perplexity)
        seed: if there are several
        training: of a trained model
    """

    name: str
    answers: Path
    seed: Optional[int] = None
    training: Optional[Training] = None


class Row(NamedTuple):
    """Runs that differ only in their seeds."""

    name: str
    label: str
    group: Tuple[str, ...]
    runs: List[Run]
    system: Optional[System] = None


def evaluation(output: Path, rows: List[Row], baselines: Iterable[str]) -> Part:
    """Score every run on the same test text, in words as typed, and compare with each baseline."""
    words = output / "words"
    runs = [run for row in rows for run in row.runs]
    flags = [f"{run.name}={run.answers}/generate.log" for run in runs]
    flags += [
        f"--perplexity {run.name}={run.answers}/reference.log"
        f" --with-unk {run.name}={run.answers}/with-unk.log"
        for run in runs
        if run.training
    ]
    flags += [
        f"--runs {row.name}={','.join(run.name for run in row.runs)}"
        for row in rows
        if row.runs[0].seed is not None
    ]
    flags += [f"--baseline {name}" for name in baselines]
    command = (
        f"mtn-evaluate {' '.join(flags)} --test {words}/text/test --train {words}/text/train"
        f" --dict {words}/data-bin/dict.next.txt"
        f" --json {output}/scores.json"
    )
    return Part(output / "scores", [("evaluate", command)])


def manifest(output: Path, plan: Plan, about: List[str], rows: List[Row]) -> dict:
    """The contents of report.json, for mtn-report."""
    (attention,) = [row.label for row in rows if row.name == plan.attention_of]
    return {
        "schema": 1,
        "title": plan.title,
        "about": about,
        "stats": "words/text/stats.json",
        "evaluations": ["scores.json"],
        "data": "words/data-bin",
        "test": "words/text/test",
        "sample_lines": list(plan.sample_lines),
        "attention": attention,
        "systems": [_entry(output, row) for row in rows],
    }


def _entry(output: Path, row: Row) -> dict:
    entry: dict = {"label": row.label, "group": list(row.group), "compared": row.name}
    if row.system:
        entry["arch"] = re.search(r"--arch (\S+)", row.system.flags)[1]
        if row.system.paper:
            entry["paper"] = row.system.paper
        if row.system.pieces:  # with its own dictionary
            entry["data"] = "pieces/data-bin"
    entry["runs"] = [_run(output, run) for run in row.runs]
    return entry


def _run(output: Path, run: Run) -> dict:
    shown: dict = {
        "scores": run.name,
        "suggestions": str((run.answers / "generate.log").relative_to(output)),
    }
    if run.seed is not None:
        shown["seed"] = run.seed
    if run.training:
        shown["checkpoint"] = str(run.training.checkpoint.relative_to(output))
        shown["training_log"] = str(run.training.log.relative_to(output))
    return shown
