#!/usr/bin/env python3
"""All models on two splits of the AOL excerpt, one training at a time.

    python experiments/aol_models/experiment.py LOG [--work runs/aol_models]

LOG is the output of ../aol_small/users_to_log.py. Every training ends with a file of numbers in
results/. A training that has its file is not repeated, so another machine can continue. tables.py
makes tables from these files.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Dict, Iterator, NamedTuple, Tuple

from results import RESULTS, Result, result_file, score_answers, write_result

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "aol_small"))
from lists import pecos
from parts import Part, tell
from recipes import YARDSTICKS, System
from trainings import DATA, SYSTEMS, UPDATES, experiment_of

BASELINES = ("echo", "last")
RIVAL = "pecos"
EVERY = (*SYSTEMS, RIVAL)


class Job(NamedTuple):
    """One training and its suggestions, or the suggestions of a baseline.

    Args:
        data: one of DATA
        system: its name
        seed: 0 for baselines that draw nothing at random
        text: the part that prepares its data
        part: the part that trains and generates
        with_model: false for what fairseq-generate does not make
    """

    data: str
    system: str
    seed: int
    text: Part
    part: Part
    with_model: bool


def jobs(args: argparse.Namespace) -> Iterator[Job]:
    """All jobs; one seed on all data sets before the next seed."""
    experiments = {
        data: experiment_of(data, args.log, args.work, args.updates) for data in args.data
    }
    words = System("", "", ())
    for data, parts in experiments.items():
        text = parts.data_of(words)
        yardsticks = dict(zip(YARDSTICKS, parts.yardsticks()))
        for name in BASELINES:
            yield Job(data, name, 0, text, yardsticks[name], with_model=False)
        for seed in args.seeds if RIVAL in args.systems and args.pecos else ():
            part = pecos(parts.output, args.pecos, seed)
            yield Job(data, RIVAL, seed, text, part, with_model=False)
    for seed in args.seeds:
        for name in args.systems:
            if name == RIVAL:
                continue
            for data, parts in experiments.items():
                system = parts.plan.systems[name]
                chosen = parts.plan.settings[system.settings_of or name]
                part = parts.models.answers(name, chosen, seed)
                yield Job(data, name, seed, parts.data_of(system), part, with_model=True)


def run(job: Job, updates: int) -> None:
    """Prepare the data if needed, train, generate, score and write the result."""
    job.text.run()
    job.part.run()
    found = score_answers(job.part.folder, job.text.folder, job.with_model)
    about = {"data": job.data, "system": job.system, "seed": job.seed}
    if job.with_model:
        about["updates of the flat Transformer"] = updates
    write_result(result_file(job.data, job.system, job.seed), Result(about, *found))


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("log", type=Path, help="output of users_to_log.py")
    add("--work", type=Path, default=Path("runs/aol_models"), help="folder to write (%(default)s)")
    add("--data", nargs="+", choices=DATA, default=list(DATA), metavar="DATA", help="(all)")
    add("--systems", nargs="+", choices=EVERY, default=EVERY, metavar="NAME", help="(all)")
    add("--seeds", nargs="+", type=int, default=[1, 2, 3], metavar="SEED", help="seeds (1 2 3)")
    add(
        "--pecos",
        metavar="PYTHON",
        default=os.environ.get("PECOS", ""),
        help="a Python with libpecos, for this rival (environment variable PECOS)",
    )
    add("--updates", type=int, default=UPDATES, help="of the flat Transformer (%(default)s)")
    add("--dry-run", action="store_true", help="print the missing commands without running them")
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    if RIVAL in args.systems and not args.pecos:
        print("PECOS is skipped: --pecos names no Python with libpecos", file=sys.stderr)
    shown: Dict[Tuple[str, str], None] = {}
    for job in jobs(args):
        if result_file(job.data, job.system, job.seed).is_file():
            continue
        if not args.dry_run:
            run(job, args.updates)
            tell(f"{job.data} {job.system} {job.seed}: written below {RESULTS}")
            continue
        for command in [*job.text.all_commands(), *job.part.all_commands()]:
            if (job.data, command) not in shown:
                tell(command)
                shown[job.data, command] = None


if __name__ == "__main__":
    main()
