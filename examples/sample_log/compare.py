#!/usr/bin/env python3
"""Train every architecture on the sample log: same data, same time, each with its best rate.

Each architecture is first timed, then tried with several learning rates for a third of the time
each, until the best of them is neither the lowest nor the highest, then trained with that one. Time
is CPU time of one thread, so other load on the machine does not matter. Models copy words if the
architecture can. Writes curves.png, scores.json and the pages of mtn-report below --output, with
count baselines beside the models. An interrupted run continues where it stopped.
"""

import argparse
import json
import os
import re
import resource
import shutil
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Tuple

import matplotlib

matplotlib.use("Agg")
import steps
from matplotlib import pyplot

from mtn_evaluation import read_generate_log
from mtn_preprocess.files.result_file import open_result_file, write_result_file


class Recipe(NamedTuple):
    """The training settings of an architecture, besides steps.TRAINING."""

    rates: Tuple[float, ...]  # to try first, each twice the one before
    flags: str


TIED = "--criterion cross_entropy --copy-attention --share-decoder-input-output-embed"
TRANSFORMER = Recipe((0.001, 0.002, 0.004), TIED)
LSTM = Recipe((0.002, 0.004, 0.008), "--criterion cross_entropy")
RECIPES = {
    "mtn_small": TRANSFORMER,
    "transformer_small": TRANSFORMER,
    "seq2seq_attn_small": LSTM._replace(flags=LSTM.flags + " --copy-attention"),
    "hlstm_small": LSTM,
    "mnsrf_small": LSTM._replace(flags="--criterion entropy_regularized_cross_entropy"),
}
YARDSTICKS = ("echo", "last", "session")
BOUNDS = {
    "best_last_query": "best possible with the last query only",
    "best_whole_session": "best possible with the whole session",
}
PROBES = 20, 120  # updates; their difference excludes the start-up time of a training
VALIDATIONS = 8  # per training
BEAM = 10
SAMPLES = 3  # test sessions in the report, of at least four queries
_VALID = re.compile(r"\| valid \|.*\| (?:nll_)?loss ([0-9.]+) .*?\| num_updates (\d+)")


def main() -> None:
    args = parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    run = prepare(args)
    scores = {}
    for method in YARDSTICKS:
        pairs = steps.suggest_by_counting(run, method, run / method)
        scores[method] = measure(pairs, run)
    curves = {}
    for name in args.architectures:
        cost = kept(run / name / "cost.json", lambda name=name: seconds_per_update(run, name))
        updates = round(args.seconds / cost)
        rate = kept(
            run / name / "rate.json",
            lambda name=name, updates=updates: best_rate(run, name, updates // 3, args.seed),
        )
        folder = run / name
        if not (folder / "generate.log").exists():
            train(run, name, rate, updates, args.seed, folder)
            steps.suggest(run, folder, BEAM)
        pairs = read_generate_log(str(folder / "generate.log"))
        scores[name] = {**measure(pairs, run), "lr": rate, "updates": updates}
        curve = read_curve(folder / "train.log")
        curves[name] = [(at * args.seconds / updates, loss) for at, loss in curve]
    write_result_file(str(run / "scores.json"), json.dumps(scores, indent=2) + "\n")
    draw(curves, scores, run / "curves.png")
    print_table(scores)
    report(run, args)
    print(f"\nThe picture: {run}/curves.png\nThe report: {run}/report/report.html")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    add = parser.add_argument
    add("--output", type=Path, default=steps.ROOT / "runs/compare", help="folder to write")
    add("--architectures", nargs="+", choices=list(RECIPES), default=list(RECIPES), metavar="A")
    add("--seconds", type=int, default=180, help="CPU time of each training, of one thread")
    add("--users", type=int, default=24000, help="users in the sample log")
    add("--log-seed", type=int, default=1, help="seed of the sample log")
    add("--seed", type=int, default=1, help="seed of the training")
    return parser.parse_args()


def prepare(args: argparse.Namespace) -> Path:
    """The folder with the data; existing data with the same settings are kept."""
    asked = {name: getattr(args, name) for name in ("seconds", "users", "log_seed", "seed")}
    settings = args.output.resolve() / "settings.json"
    if settings.exists() and json.loads(settings.read_text(encoding="utf-8")) == asked:
        os.chdir(steps.ROOT)
        return Path(os.path.relpath(args.output.resolve()))
    run = steps.new_folder(args.output.resolve())
    steps.title("The data")
    steps.make_log(run, args.users, args.log_seed)
    steps.find_sessions(run)
    steps.binarise(run)
    write_result_file(str(run / "settings.json"), json.dumps(asked) + "\n")
    return run


def kept(path: Path, measured: Callable[[], float]) -> float:
    """A number from its file; measured and written if the file does not exist."""
    if not path.exists():
        value = measured()
        path.parent.mkdir(exist_ok=True)
        write_result_file(str(path), json.dumps(value) + "\n")
    return float(json.loads(path.read_text(encoding="utf-8")))


def train(run: Path, name: str, rate: float, updates: int, seed: int, into: Path) -> None:
    every = max(1, updates // VALIDATIONS)
    _train(run, name, rate, f"--validate-interval-updates {every}", updates, seed, into)


def _train(
    run: Path, name: str, rate: float, more: str, updates: int, seed: int, into: Path
) -> None:
    steps.title(f"{name}: {updates} updates at a rate of {rate}")
    shutil.rmtree(into / "checkpoints", ignore_errors=True)  # left by an interrupted training
    flags = f"--arch {name} --lr {rate} {RECIPES[name].flags} {more}"
    steps.train(run, flags, updates, seed, into)


def seconds_per_update(run: Path, name: str) -> float:
    """The CPU time per update."""
    used = []
    for updates in PROBES:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        rate, only_time = RECIPES[name].rates[0], "--disable-validation --no-save"
        _train(run, name, rate, only_time, updates, seed=1, into=run / name / "probe")
        used.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return (used[1] - used[0]) / (PROBES[1] - PROBES[0])


def best_rate(run: Path, name: str, updates: int, seed: int) -> float:
    """The rate with the lowest final validation loss; neither the lowest nor the highest tried."""
    losses: Dict[float, float] = {}
    wanted = list(RECIPES[name].rates)
    while wanted:
        for rate in wanted:
            losses[rate] = kept(
                run / name / f"rate-{rate}" / "loss.json",
                lambda rate=rate: last_loss(run, name, rate, updates, seed),
            )
        best = min(losses, key=lambda rate: losses[rate])
        wanted = [rate for rate in (best / 2, best * 2) if rate not in losses]
    print(f"{name}: validation loss by rate: {losses}", flush=True)
    return best


def last_loss(run: Path, name: str, rate: float, updates: int, seed: int) -> float:
    into = run / name / f"rate-{rate}"
    train(run, name, rate, updates, seed, into)
    return read_curve(into / "train.log")[-1][1]


def measure(pairs: list, run: Path) -> dict:
    return {
        **steps.measure(pairs, run / "text/test"),
        "by_place": steps.exact_by_place(pairs),
        "best_by_place": steps.best_by_place(pairs),
    }


def read_curve(log: Path) -> List[Tuple[int, float]]:
    """(updates, validation loss in bits per token), from the output of fairseq-train."""
    return [(int(n), float(loss)) for loss, n in _VALID.findall(log.read_text(encoding="utf-8"))]


def draw(curves: Dict[str, list], scores: Dict[str, dict], path: Path) -> None:
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.2))
    colours = {}
    for name, curve in curves.items():
        (line,) = left.plot(*zip(*curve), label=name, marker="o", markersize=3)
        colours[name] = line.get_color()
    left.set(xlabel="training time (seconds of CPU)", ylabel="validation loss (bits per token)")
    left.set(ylim=(0.5, 2.2))
    left.legend()
    names = list(scores)
    exact = [scores[name]["exact"] for name in names]
    bars = right.barh(names, exact, color=[colours.get(name, "grey") for name in names])
    boxes = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # over the dotted lines
    right.bar_label(bars, fmt="%.1f", padding=3, bbox=boxes)
    right.invert_yaxis()
    for (key, text), style in zip(BOUNDS.items(), ("--", ":")):
        right.axvline(scores[names[0]][key], color="black", linestyle=style, label=text)
    right.set(xlabel="exact match of the first suggestion (%)", xlim=(0, 75))
    right.legend(loc="upper center", bbox_to_anchor=(0.5, 1.2), fontsize="small")
    figure.tight_layout()
    with open_result_file(str(path)) as stream:
        figure.savefig(stream, format="png", dpi=120)


def report(run: Path, args: argparse.Namespace) -> None:
    """All scores with mtn-evaluate, and the pages of mtn-report."""
    names = [*YARDSTICKS, *args.architectures]
    logs = " ".join(f"{name}={run}/{name}/generate.log" for name in names)
    steps.command(
        f"mtn-evaluate {logs} --test {run}/text/test --train {run}/text/train"
        f" --dict {run}/data-bin/dict.next.txt --json {run}/evaluation.json",
        keep=run / "evaluation.txt",
    )
    about = f"Sample log (synthetic), {args.users:,} users; {args.seconds} seconds of CPU time for"
    contents = {
        "schema": 1,
        "title": "Every architecture on the sample log",
        "about": [f"{about} each training, each with the best of several learning rates."],
        "stats": "text/stats.json",
        "evaluations": ["evaluation.json"],
        "data": "data-bin",
        "test": "text/test",
        "sample_lines": sample_lines(run / "text/test.session"),
        "systems": [_report_entry(name, args.seed) for name in names],
    }
    if "mtn_small" in names:
        contents["attention"] = "mtn_small"
    write_result_file(str(run / "report.json"), json.dumps(contents, indent=1) + "\n")
    steps.command(f"mtn-report {run} --output {run}/report", keep=run / "report.txt")


def sample_lines(sessions: Path) -> List[int]:
    """Numbers of the first lines with enough queries for the attention picture."""
    lines = sessions.read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(lines, 1) if line.count(" <q> ") >= 3][:SAMPLES]


def _report_entry(name: str, seed: int) -> dict:
    answers = {"scores": name, "suggestions": f"{name}/generate.log"}
    if name in YARDSTICKS:
        return {"label": name, "group": "yardstick", "runs": [answers]}
    trained = {
        "seed": seed,
        "checkpoint": f"{name}/checkpoints/checkpoint_best.pt",
        "training_log": f"{name}/train.log",
    }
    return {"label": name, "group": "main", "arch": name, "runs": [{**answers, **trained}]}


def print_table(scores: Dict[str, dict]) -> None:
    places = list(next(iter(scores.values()))["by_place"])
    titles = [
        "rate",
        "updates",
        "exact",
        *(f"place {at}" for at in places),
        "hit@5",
        "MRR@5",
        "BLEU",
    ]
    print(f"\n| | {' | '.join(titles)} |\n|{'---|' * (len(titles) + 1)}")
    for name, s in scores.items():
        figures = [s["exact"], *s["by_place"].values(), s["hit@5"], s["mrr@5"], s["bleu"]]
        shown = " | ".join(f"{figure:.1f}" for figure in figures)
        print(f"| `{name}` | {s.get('lr', '')} | {s.get('updates', '')} | {shown} |")
    any_one = next(iter(scores.values()))
    for key, text in BOUNDS.items():
        by_place = [""] * len(places)
        if key == "best_whole_session":
            by_place = [f"{figure:.1f}" for figure in any_one["best_by_place"].values()]
        cells = ["", "", f"{any_one[key]:.1f}", *by_place, "", "", ""]
        print(f"| {text} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
