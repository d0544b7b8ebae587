#!/usr/bin/env python3
"""Measure the CPU time of an update of each system, relative to the flat Transformer.

    python experiments/aol_small/costs.py runs/aol_small [--width 128]

Reads the binarised data of an experiment, trains in turn on one core all systems whose data it has,
and prints the `cost` in recipes.py of each system: the median of several rounds, with the lowest
and the highest.
"""

import argparse
import statistics
from pathlib import Path
from time import process_time
from typing import Callable, Dict

import torch
from fairseq import options, tasks, utils
from parts import PLUGIN, words_of
from recipes import SIZES, System, history_systems, systems

BATCHES, ROUNDS = 8, 5  # every round trains all systems, so that other load affects all of them


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="folder of the experiment")
    parser.add_argument("--width", type=int, choices=SIZES, default=64, help="channels")
    parser.add_argument("--systems", nargs="+", metavar="NAME", help="besides `transformer` (all)")
    args = parser.parse_args()
    torch.set_num_threads(1)
    size = SIZES[args.width]
    every = {**systems(size), **history_systems(size)}
    rounds = {
        name: updates_of(system, args.folder)
        for name, system in every.items()
        if (args.folder / system.data).is_dir()
        and (not args.systems or name in ("transformer", *args.systems))
    }
    for update_all in rounds.values():
        update_all()
    seconds: Dict[str, list] = {name: [] for name in rounds}
    for _ in range(ROUNDS):
        for name, update_all in rounds.items():
            start = process_time()
            update_all()
            seconds[name].append(process_time() - start)
    for name, took in seconds.items():
        ratios = [each / flat for each, flat in zip(took, seconds["transformer"])]
        low, high = min(ratios), max(ratios)
        print(f"{name:24} {statistics.median(ratios):.2f}  ({low:.2f} … {high:.2f})")


def updates_of(system: System, folder: Path) -> Callable[[], None]:
    """A function that trains a model of this system on some batches, the same at each call."""
    data = folder / system.data / "data-bin"
    flags = (
        f"{data} {PLUGIN} {system.flags}"
        " --optimizer fused_adam --lr 0.001 --dropout 0.2 --clip-norm 1.0 --train-batches random"
    )
    args = options.parse_args_and_arch(options.get_training_parser(), words_of(flags))
    task = tasks.setup_task(args)
    model, criterion = task.build_model(args).train(), task.build_criterion(args)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    task.load_dataset("train")
    pairs = task.dataset("train")
    batches = pairs.batch_by_size(pairs.ordered_indices(), max_sentences=args.batch_size)
    samples = [pairs.collater([pairs[i] for i in batch]) for batch in batches[:BATCHES]]

    def update_all() -> None:
        for sample in samples:
            inputs = {**sample["net_input"], "packed": True}
            loss, size, _ = criterion(model, {**sample, "net_input": inputs})
            (loss / size).backward()
            utils.clip_grad_norm_(model.parameters(), args.clip_norm)
            optimizer.step()
            optimizer.zero_grad()

    return update_all


if __name__ == "__main__":
    main()
