#!/usr/bin/env python3
"""Every architecture on the sample log: the same data, sizes alike; LSTMs get more updates.

Trains them one after another, asks each for suggestions, and writes curves.png and scores.json
below --output. The counting baselines stand beside them.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple

import matplotlib

matplotlib.use("Agg")
import steps
from matplotlib import pyplot

from mtn_evaluation import read_generate_log
from mtn_preprocess.files.result_file import open_result_file, write_result_file


class Recipe(NamedTuple):
    """What an architecture is trained with, beside steps.TRAINING."""

    updates: int
    flags: str


# LSTMs learn slowly to copy words through their state, and get three times the updates.
TRANSFORMER = Recipe(1000, "--lr 0.002 --share-decoder-input-output-embed")
LSTM = Recipe(3000, "--lr 0.004")
ENTROPY = " --criterion entropy_regularized_cross_entropy --label-smoothing 0"
RECIPES = {
    "mtn_small": TRANSFORMER,
    "transformer_small": TRANSFORMER,
    "seq2seq_attn_small": LSTM,
    "hlstm_small": LSTM,
    "mnsrf_small": LSTM._replace(flags=LSTM.flags + ENTROPY),
}
YARDSTICKS = ("echo", "last", "session")
BOUNDS = {
    "best_last_query": "best possible with the last query only",
    "best_whole_session": "best possible with the whole session",
}
_VALID = re.compile(r"\| valid \|.*?\| nll_loss ([0-9.]+) .*?\| num_updates (\d+)")


def main() -> None:
    args = parse_args()
    run = steps.new_folder(args.output.resolve())
    steps.title("The data")
    steps.make_log(run, args.users, args.log_seed)
    steps.find_sessions(run)
    steps.binarise(run)
    scores = {}
    for method in YARDSTICKS:
        steps.title(f"Yardstick: {method}")
        log = run / f"{method}.log"
        steps.command(
            f"mtn-yardstick {method} --train {run}/text/train --test {run}/text/test", keep=log
        )
        scores[method] = steps.measure(read_generate_log(str(log)), run / "text/test")
    for architecture in args.architectures:
        steps.title(architecture)
        updates, flags = RECIPES[architecture]
        flags = f"--arch {architecture} --dropout 0 --validate-interval-updates 250 {flags}"
        steps.train(run, flags, updates, args.seed, run / architecture)
        pairs = steps.suggest(run, run / architecture)
        scores[architecture] = steps.measure(pairs, run / "text/test")
    write_result_file(str(run / "scores.json"), json.dumps(scores, indent=2) + "\n")
    curves = {name: read_curve(run / name / "train.log") for name in args.architectures}
    draw(curves, scores, run / "curves.png")
    print_table(scores)
    print(f"\nThe picture: {run}/curves.png")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    add = parser.add_argument
    add("--output", type=Path, default=steps.ROOT / "runs/compare", help="folder to write")
    add("--architectures", nargs="+", choices=list(RECIPES), default=list(RECIPES), metavar="A")
    add("--users", type=int, default=6000, help="users in the sample log")
    add("--log-seed", type=int, default=1, help="seed of the sample log")
    add("--seed", type=int, default=1, help="seed of the training")
    return parser.parse_args()


def read_curve(log: Path) -> List[Tuple[int, float]]:
    """Updates and validation loss, in bits a token, from what fairseq-train printed."""
    return [(int(n), float(loss)) for loss, n in _VALID.findall(log.read_text(encoding="utf-8"))]


def draw(curves: Dict[str, list], scores: Dict[str, dict], path: Path) -> None:
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.2))
    colours = {}
    for name, curve in curves.items():
        (line,) = left.plot(*zip(*curve), label=name)
        colours[name] = line.get_color()
    left.set(xlabel="updates", ylabel="validation loss (bits a token)", ylim=(0.6, 2.2))
    left.legend()
    names = list(scores)
    exact = [scores[name]["exact"] for name in names]
    bars = right.barh(names, exact, color=[colours.get(name, "grey") for name in names])
    right.bar_label(bars, fmt="%.1f", padding=3)
    right.invert_yaxis()
    for (key, text), style in zip(BOUNDS.items(), ("--", ":")):
        right.axvline(scores[names[0]][key], color="black", linestyle=style, label=text)
    right.set(xlabel="exact match of the first suggestion (%)", xlim=(0, 75))
    right.legend(loc="upper center", bbox_to_anchor=(0.5, 1.2), fontsize="small")
    figure.tight_layout()
    with open_result_file(str(path)) as stream:
        figure.savefig(stream, format="png", dpi=120)


def print_table(scores: Dict[str, dict]) -> None:
    print("\n| | exact | hit@5 | MRR@5 | BLEU | 1/2/3/4-gram |\n|---|---|---|---|---|---|")
    for name, s in scores.items():
        grams = "/".join(f"{s[f'{n}-gram']:.1f}" for n in range(1, 5))
        figures = [f"{s[figure]:.1f}" for figure in ("exact", "hit@5", "mrr@5")]
        print(f"| `{name}` | {' | '.join(figures)} | {s['bleu']:.2f} | {grams} |")
    any_one = next(iter(scores.values()))
    for key, text in BOUNDS.items():
        print(f"| {text} | {any_one[key]:.1f} | | | | |")


if __name__ == "__main__":
    main()
