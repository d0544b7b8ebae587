#!/usr/bin/env python3
"""The paper's experiment at full size, on one GPU: five models, five epochs.

    python examples/aol/experiment.py AOL_FOLDER [--output runs/aol] [--dry-run]

It can be interrupted at any time; run it again to continue. It ends with report.md and
report.html. It uses the parts of experiments/aol_small with other numbers.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments/aol_small"))

from experiment import Experiment, run_or_print
from plan import Plan
from recipes import Settings, System

# Section 5.2: label smoothing 0.01 with 5 epochs. M-NSRF's learning rate is its authors'; the paper
# does not give those of the other LSTMs.
_SMOOTHED = "--criterion label_smoothed_cross_entropy --label-smoothing 0.01"
_ENTROPY = "--criterion entropy_regularized_cross_entropy"
_FILES = 10  # in the collection
SYSTEMS = {
    "seq2seq": System(
        "Seq2Seq with attention",
        f"--arch seq2seq_attn_aol {_SMOOTHED}",
        ("main",),
        paper="seq2seq_attn",
    ),
    "hlstm": System("H-LSTM", f"--arch hlstm_aol {_SMOOTHED}", ("main",), paper="hlstm"),
    "mnsrf": System("M-NSRF", f"--arch mnsrf_aol {_ENTROPY}", ("main",), paper="mnsrf"),
    "transformer-4": System(
        "Transformer 4 + 4",
        f"--arch transformer_aol --encoder-layers 4 {_SMOOTHED}",
        ("ablation",),
        paper="transformer_4",
        settings_of="transformer",
    ),
    "transformer": System(
        "Transformer 5 + 5",
        f"--arch transformer_aol {_SMOOTHED}",
        ("main", "ablation"),
        paper="transformer",
    ),
    "mtn": System(
        "MTN 3Q 2S + 3", f"--arch mtn_aol {_SMOOTHED}", ("main", "ablation"), paper="mtn"
    ),
}
SETTINGS = {
    "seq2seq": Settings(0.001, 0.1),
    "hlstm": Settings(0.001, 0.1),
    "mnsrf": Settings(0.001, 0.1),
    "transformer": Settings(0.0007, 0.1),
    "mtn": Settings(0.0007, 0.1),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("folder", type=Path, help="folder with user-ct-test-collection-*.txt or .txt.gz")
    add("--output", type=Path, default=Path("runs/aol"), help="folder to write (%(default)s)")
    add("--seeds", type=int, default=1, help="seeds per model (%(default)s)")
    add("--epochs", type=int, default=5, help="epochs per training (%(default)s)")
    add("--at-once", type=int, default=1, help="parts to run in parallel (%(default)s)")
    add("--dry-run", action="store_true", help="print the commands without running them")
    args = parser.parse_args()
    logs = sorted(
        log
        for ending in ("txt", "txt.gz")
        for log in args.folder.glob(f"user-ct-test-collection-*.{ending}")
    )
    if not logs:
        parser.error(f"{args.folder}: no user-ct-test-collection-*.txt or .txt.gz")
    twice = [log.name for log in logs if log.with_name(f"{log.name}.gz") in logs]
    if twice:
        parser.error(f"{args.folder}: {', '.join(twice)} as .gz too; leave one of the two there")
    note = "" if len(logs) == _FILES else f"; the whole collection has {_FILES}"
    print(f"{len(logs)} files{note}", file=sys.stderr)  # not among --dry-run's commands
    plan = Plan(
        title="The paper's experiment",
        about=f"The AOL log, {args.epochs} epochs, {args.seeds} seeds.",
        systems=SYSTEMS,
        suggesters={},
        beam_of="",
        pecos="",
        settings=SETTINGS,
        training="--optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9"
        " --lr-scheduler inverse_sqrt --warmup-updates 4000 --warmup-init-lr 1e-7"
        f" --max-tokens 4096 --max-epoch {args.epochs} --save-interval-updates 1000"
        " --keep-interval-updates 2 --no-epoch-checkpoints --log-format simple --log-interval 100",
        updates=0,
        rate_updates=0,
        generation="--batch-size 256",
        preparation=[],
        threshold=8,
        pieces=0,
        seeds=args.seeds,
    )
    budget = {"epochs": args.epochs}
    run_or_print(Experiment(plan, logs, args.output, args.at_once), args.dry_run, budget)


if __name__ == "__main__":
    main()
