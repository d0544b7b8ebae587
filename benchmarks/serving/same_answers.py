#!/usr/bin/env python3
"""Are a bundle's hypotheses those of `fairseq-generate`? Every exported architecture, trained.

    same_answers.py [--runs FOLDER] [--only NAME …] [--output FOLDER]

Trains each model of `same_answers_models.py` for a short while on the sample log, exports it, and
compares both engines on the test sessions with beams 1, 5 and 10. Writes same_answers.json and
same_answers.md. Trainings and what fairseq-generate printed are kept; each run exports anew.
"""

import argparse
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy and onnxruntime are imported

from same_answers_models import MODELS, Model

from mtn_preprocess.commands.user_dir import plugin_folder
from mtn_serving.onnx_engine.exported_model import ExportedModel

HERE = Path(__file__).resolve().parent
PLUGIN = f"--user-dir {shlex.quote(str(plugin_folder()))} --task session_to_query"
BEAMS = (1, 5, 10)
TIE = 1e-5  # scores that differ less are equal
USERS, SPLIT = 6_000, "88,4,8"
AT_ONCE = 64


class Hypothesis(NamedTuple):
    text: str  # as the model says it: words, or pieces
    score: float  # natural logarithm per token


Lists = List[List[Hypothesis]]  # of each session


# --- making models ------------------------------------------------------------------------------


def run(line: str, keep: Path) -> None:
    """Run a command of this environment; `keep` has its output once it has succeeded."""
    if keep.exists():
        return
    print(f"$ {line}", flush=True)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    partial = keep.with_name(f"{keep.name}.part")
    with open(partial, "w", encoding="utf-8") as output:
        done = subprocess.run(
            shlex.split(line),
            env={**os.environ, "PATH": path},
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
        )
    if done.returncode:
        sys.exit(f"failed: {done.stderr[-3000:]}")
    partial.replace(keep)


def prepare(runs: Path, model: Model, sessions: int) -> Path:
    """The folder of the text and data that the model learns from."""
    folder = runs / model.data
    folder.mkdir(parents=True, exist_ok=True)
    log, text = runs / "log.tsv", folder / "text"
    run(f"mtn-sample-log --users {USERS} --seed 1 --output {log}", runs / "log.done")
    flags = "".join(
        [
            " --history 2" if model.history else "",
            " --sentencepiece 300" if model.pieces else "",
        ]
    )
    run(
        f"mtn-log-to-sessions {log} --split {SPLIT}{flags} --output {text} --overwrite",
        folder / "text.done",
    )
    keep_distinct(text, sessions)
    threshold = "" if model.pieces else " --thresholdsrc 20"
    run(
        f"fairseq-preprocess {PLUGIN} --source-lang session --target-lang next"
        f" --joined-dictionary{threshold} --trainpref {text}/train --validpref {text}/valid"
        f" --testpref {text}/asked --destdir {folder}/data-bin",
        folder / "data.done",
    )
    return folder


def keep_distinct(text: Path, count: int) -> None:
    """The first `count` sessions of the test text that differ, as the split `asked`."""
    lines = [
        (text / f"test.{side}").read_text(encoding="utf-8").splitlines()
        for side in ("session", "next")
    ]
    following = dict(zip(*lines))
    if len(following) < count:
        sys.exit(f"{text}/test has {len(following)} distinct sessions, {count} are wanted")
    for side, kept in (("session", following), ("next", following.values())):
        whole = "".join(f"{line}\n" for line in list(kept)[:count])
        (text / f"asked.{side}").write_text(whole, encoding="utf-8")


def train_and_export(folder: Path, data: Path, model: Model, updates: int) -> None:
    """A short training, and its bundle."""
    run(
        f"fairseq-train {data} {PLUGIN} --cpu --num-workers 0 {model.flags}"
        f" --level-sizes {model.level_sizes} --optimizer fused_adam --clip-norm 1.0 --lr 0.004"
        f" --lr-scheduler polynomial_decay --warmup-updates {updates // 10}"
        f" --total-num-update {updates} --max-update {updates} --max-tokens 1000 --dropout 0"
        f" --disable-validation --no-epoch-checkpoints --seed 1 --save-dir {folder}/save"
        " --no-save-optimizer-state --log-format simple",
        folder / "train.log",
    )
    shutil.rmtree(folder / "bundle", ignore_errors=True)
    (folder / "export.log").unlink(missing_ok=True)
    run(
        f"mtn-export --checkpoint {folder}/save/checkpoint_last.pt --data {data}"
        f" --output {folder}/bundle",
        folder / "export.log",
    )


# --- both engines -------------------------------------------------------------------------------


def of_fairseq(folder: Path, data: Path, model: Model, beam: int) -> Lists:
    """What `fairseq-generate` prints; its scores are to base 2."""
    log = folder / f"generate-{beam}.log"
    longest = model.level_sizes.partition(",")[0]  # as many words as a bundle's engine allows
    run(
        f"fairseq-generate {data} {PLUGIN} --path {folder}/save/checkpoint_last.pt --cpu"
        f" --batch-size {AT_ONCE} --beam {beam} --nbest {beam} --max-len-b {longest}"
        f" --level-sizes {model.level_sizes}",
        log,
    )
    found: Dict[int, List[Hypothesis]] = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        match = re.match(r"H-(\d+)\t(\S+)\t(.*)", line)
        if match:
            number, score, text = match.groups()
            hypothesis = Hypothesis(text.strip(), float(score) * math.log(2))
            found.setdefault(int(number), []).append(hypothesis)
    return [found[number] for number in range(len(found))]


def of_bundle(exported: ExportedModel, sessions: List[str], beam: int) -> Lists:
    lists: Lists = []
    for first in range(0, len(sessions), AT_ONCE):
        sources = exported.sources(sessions[first : first + AT_ONCE])
        for source, hypotheses in zip(sources.sources, exported.hypotheses(sources, beam)):
            words = [source.words_of(each.columns, exported.vocabulary) for each in hypotheses]
            scores = [each.score for each in hypotheses]
            lists.append([Hypothesis(" ".join(w), s) for w, s in zip(words, scores)])
    return lists


# --- comparing ----------------------------------------------------------------------------------


def differs_by_ties(ours: List[Hypothesis], theirs: List[Hypothesis]) -> bool:
    """Wherever another text stands, both lists give it an equal score.

    A text that the other list lacks must tie with that list's end.
    """
    score_of = {each.text: each.score for each in theirs}
    return len(ours) == len(theirs) and all(
        mine.text == other.text
        or (
            abs(score_of.get(mine.text, theirs[-1].score) - other.score) <= TIE
            and abs(mine.score - other.score) <= TIE
        )
        for mine, other in zip(ours, theirs)
    )


def compare(ours: Lists, theirs: Lists, sessions: List[str]) -> Dict[str, Any]:
    if len(ours) != len(theirs):
        sys.exit(f"{len(ours)} lists of the bundle, {len(theirs)} of fairseq-generate")
    identical = ties = 0
    largest, others = 0.0, []
    for session, mine, other in zip(sessions, ours, theirs):
        scores = {each.text: each.score for each in other}
        common = [abs(each.score - scores[each.text]) for each in mine if each.text in scores]
        largest = max([largest, *common])
        if [each.text for each in mine] == [each.text for each in other]:
            identical += 1
        elif differs_by_ties(mine, other) and differs_by_ties(other, mine):
            ties += 1
        else:
            others.append({"session": session, "bundle": mine, "fairseq": other})
    return {
        "sessions": len(theirs),
        "identical": identical,
        "ties": ties,
        "other": len(others),
        "largest_difference": largest,
        "distinct_first": len({each[0].text for each in theirs}),
        "examples": others[:3],
    }


def measure(runs: Path, model: Model, args: argparse.Namespace) -> List[Dict[str, Any]]:
    """One row per beam."""
    prepared = prepare(runs, model, args.sessions)
    folder, data = runs / model.folder, prepared / "data-bin"
    folder.mkdir(exist_ok=True)
    train_and_export(folder, data, model, args.updates)
    sessions = (prepared / "text/asked.session").read_text(encoding="utf-8").splitlines()
    exported = ExportedModel.load(folder / "bundle/model")
    rows = []
    for beam in BEAMS:
        theirs = of_fairseq(folder, data, model, beam)
        found = compare(of_bundle(exported, sessions, beam), theirs, sessions)
        rows.append({"model": model.name, "beam": beam, **found})
        print({key: value for key, value in rows[-1].items() if key != "examples"}, flush=True)
    return rows


# --- results ------------------------------------------------------------------------------------


def table(rows: List[Dict[str, Any]], sessions: int, updates: int) -> str:
    command = "python benchmarks/serving/same_answers.py"
    lines = [
        "# The bundle's hypotheses beside those of fairseq-generate",
        "",
        f"Output of `{command}`: {sessions:,} distinct test sessions of the sample log (seed 1,"
        f" {USERS:,} users), models trained for {updates} updates.",
        f"Ties: lists that differ only where scores are equal within {TIE}. Difference: the largest"
        " of two scores (natural logarithm per token) of one hypothesis.",
        "",
        "| model | beam | identical | ties | other | largest difference | distinct first |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        counts = " | ".join(f"{row[key]:,}" for key in ("identical", "ties", "other"))
        lines.append(
            f"| {row['model']} | {row['beam']} | {counts} | {row['largest_difference']:.1e}"
            f" | {row['distinct_first']:,} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    args = parse_args()
    runs = args.runs.resolve()
    for folder in (runs, args.output):
        folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for model in MODELS:
        if not args.only or model.name in args.only:
            rows += measure(runs, model, args)
            text = table(rows, args.sessions, args.updates)
            (args.output / "same_answers.json").write_text(json.dumps(rows, indent=1) + "\n")
            (args.output / "same_answers.md").write_text(text, encoding="utf-8")
    print(text)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--runs", type=Path, default=HERE.parents[1] / "runs/same_answers", help="scratch folder")
    add("--output", type=Path, default=HERE, help="folder for the results (default: %(default)s)")
    add("--only", nargs="+", choices=[model.name for model in MODELS], metavar="NAME")
    add("--sessions", type=int, default=2000, help="that are asked (default: %(default)s)")
    add("--updates", type=int, default=300, help="of each training (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
