#!/usr/bin/env python3
"""From a raw search log to suggested queries, by the commands that you would type yourself.

Each step prints its command. Everything is written below --output; the folder is made anew. Flags
that are not listed here go to fairseq-train, such as --decoder-context query.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Optional

from mtn_fairseq.sample_log import Yardstick, read_pairs
from mtn_fairseq.scoring.generate_log import read_generate_log
from mtn_fairseq.scoring.suggestion_scores import score

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# What of fairseq's long output a reader wants to see; all of it is kept in a file.
PROGRESS = ("| train_inner |", "| valid |", "model params", "Wrote preprocessed", "Generate test")


def main() -> None:
    args = parse_args()
    output = args.output.resolve()
    os.chdir(ROOT)  # so that the printed commands work as they stand, from the project's folder
    run = Path(os.path.relpath(output))
    if run.exists():
        if not (run / "log.tsv").exists():
            sys.exit(f"{run} is not of an earlier demo; remove it or name another --output")
        shutil.rmtree(run)
    run.mkdir(parents=True)
    started = time.time()

    title(f"1/6  A sample log in AOL's format, seed {args.log_seed}")
    log = run / "log.tsv"
    command(f"mtn-sample-log --users {args.users} --seed {args.log_seed} --output {log}")
    show_first_lines(log, 6)

    title("2/6  Log -> sessions -> pairs of (session so far, next query)")
    history = f" --history {args.history}" if args.levels == 3 else ""
    command(
        f"python preprocess/log_to_sessions.py {log} --output {run}/text --split 90,5,5{history}"
    )
    show_first_lines(run / "text/train.session", 3)
    show_first_lines(run / "text/train.next", 3)

    title("3/6  Text -> binary, with one dictionary for both sides")
    command(
        "fairseq-preprocess --user-dir mtn_fairseq --task session_to_query"
        " --source-lang session --target-lang next --joined-dictionary --thresholdsrc 8"
        f" --trainpref {run}/text/train --validpref {run}/text/valid --testpref {run}/text/test"
        f" --destdir {run}/data-bin --workers 2",
        keep=run / "preprocess.log",
    )

    title(f"4/6  Train a {args.levels}-level Multiresolution Transformer")
    command(train_command(args, run), keep=run / "train.log")

    title("5/6  Suggest 5 next queries for every test session")
    command(
        f"fairseq-generate {run}/data-bin --user-dir mtn_fairseq --task session_to_query"
        f" --path {run}/checkpoints/checkpoint_best.pt --cpu --batch-size 128 --beam 5 --nbest 5",
        keep=run / "generate.log",
    )

    title("6/6  What came out")
    pairs = read_generate_log(str(run / "generate.log"))
    print_suggestions(pairs)
    scores = print_scores(pairs, run / "text/test")
    scores["seconds"] = round(time.time() - started)
    (run / "scores.json").write_text(json.dumps(scores, indent=2) + "\n")
    print(
        f"\n{scores['seconds']} seconds in all; everything is in {run}. To type sessions yourself:"
    )
    print(
        f"  fairseq-interactive {run}/data-bin --user-dir mtn_fairseq --task session_to_query"
        f" --path {run}/checkpoints/checkpoint_best.pt --cpu --beam 5 --nbest 5"
    )


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=ROOT / "runs/demo", help="folder to write")
    parser.add_argument("--levels", type=int, choices=(2, 3), default=2, help="3: earlier sessions")
    parser.add_argument("--history", type=int, default=3, help="earlier sessions, at 3 levels")
    parser.add_argument("--users", type=int, default=6000, help="users in the sample log")
    parser.add_argument("--log-seed", type=int, default=1, help="seed of the sample log")
    parser.add_argument("--seed", type=int, default=1, help="seed of the training")
    parser.add_argument("--updates", type=int, default=3000, help="training updates")
    args, args.train_flags = parser.parse_known_args()
    return args


def train_command(args: argparse.Namespace, run: Path) -> str:
    layers = "2,1" if args.levels == 2 else "2,1,1"
    return (
        f"fairseq-train {run}/data-bin --user-dir mtn_fairseq --task session_to_query"
        f" --arch mtn_tiny --level-layers {layers} --seed {args.seed} --cpu --dropout 0"
        " --encoder-normalize-before --decoder-normalize-before --share-decoder-input-output-embed"
        " --criterion label_smoothed_cross_entropy --label-smoothing 0.05"
        " --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0"
        " --lr 0.002 --lr-scheduler polynomial_decay --warmup-updates 300"
        f" --max-update {args.updates} --total-num-update {args.updates}"
        f" --max-tokens 1000 --save-dir {run}/checkpoints"
        " --no-epoch-checkpoints --log-format simple --log-interval 100 "
        + shlex.join(args.train_flags)
    )


def title(text: str) -> None:
    print(f"\n=== {text}", flush=True)


def command(line: str, keep: Optional[Path] = None) -> None:
    """Print a command and run it; with `keep`, its whole output goes there, progress is shown."""
    print(f"$ {line}", flush=True)
    words = shlex.split(line)
    # The commands of the environment that runs this script, whether it is activated or not.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}
    if keep is None:
        subprocess.run(words, check=True, env=environment)
        return
    with open(keep, "w", encoding="utf-8") as log, subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for output in process.stdout:
            log.write(output)
            if any(mark in output for mark in PROGRESS):
                print("  " + output.split(" | INFO | ")[-1].strip()[:150], flush=True)
    if process.returncode:
        sys.exit(f"failed; the last lines of {keep}:\n" + "".join(keep.open().readlines()[-15:]))


def show_first_lines(path: Path, count: int) -> None:
    print(f"first lines of {path}:")
    with open(path, encoding="utf-8") as stream:
        for _ in range(count):
            print("  " + next(stream).rstrip("\n").replace("\t", "  "))


def print_suggestions(pairs: list, count: int = 12) -> None:
    """A dozen sessions, spread over the test set, beside what was really asked next."""
    for pair in pairs[:: max(1, len(pairs) // count)][:count]:
        print("\n  " + pair.session.replace(" <session> ", "  ||  ").replace(" <q> ", "  >  "))
        print(f"      asked next: {pair.next_query}")
        for rank, suggestion in enumerate(pair.ranked, 1):
            print(f"    {'✓' if suggestion == pair.next_query else ' '} {rank}. {suggestion}")


def print_scores(pairs: list, text: Path) -> dict:
    best = Yardstick().measure(read_pairs(str(text)))
    scores = score(pairs)
    assert len(pairs) == best.pairs, "every test pair is answered"
    scores["best_last_query"] = 100 * best.actual_last_query
    scores["best_last_and_place"] = 100 * best.actual_last_and_place
    scores["best_whole_session"] = 100 * best.actual_whole_session
    margin = scores["exact"] - scores["best_last_query"]
    print(f"\nExact match over all {len(pairs)} test pairs, first suggestion:")
    print(f"  best possible with the last query only  {scores['best_last_query']:5.1f} %")
    print(f"  ... and how many queries came before    {scores['best_last_and_place']:5.1f} %")
    print(f"  this model                              {scores['exact']:5.1f} %")
    print(f"  best possible with the whole session    {scores['best_whole_session']:5.1f} %")
    print(
        f"Hit@5 {scores['hit']:.1f} %, MRR@5 {scores['mrr']:.1f} %, BLEU {scores['bleu']:.2f}, "
        "1/2/3/4-gram " + "/".join(f"{scores[f'{n}-gram']:.1f}" for n in range(1, 5))
    )
    verdict = "is ahead of" if margin > 0 else "is NOT ahead of"
    print(f"The model {verdict} anything that reads the last query only, by {margin:.1f} points.")
    return scores


if __name__ == "__main__":
    main()
