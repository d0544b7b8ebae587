#!/usr/bin/env python3
"""All models on two splits of the AOL excerpt, one training at a time.

    python experiments/aol_models/experiment.py LOG [--work runs/aol_models]

LOG is the output of ../aol_small/users_to_log.py. Every training ends with a file of numbers in
results/. A training that has its file is not repeated, so another machine can continue. tables.py
makes tables from these files.
"""

import argparse
import sys
from pathlib import Path
from typing import Dict, Iterator, NamedTuple, Tuple

from results import RESULTS, Result, result_file, score_answers, write_result

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "aol_small"))
from experiment import Experiment, given_settings
from parts import Part, tell
from plan import Plan
from recipes import SIZES, TRAINING, YARDSTICKS, systems

WIDTH = 128
UPDATES = 1600  # of the flat Transformer; the other models train for the same time
SETTINGS = Path(__file__).with_name("settings.json")
BASELINES = ("echo", "last")
# In order of importance, for the case that the run is cut short.
SYSTEMS = (
    "transformer",
    "mtn",
    "seq2seq",
    "mtn-copying",
    "transformer-copying",
    "seq2seq-copying",
    "hlstm",
    "mnsrf",
)
# The test sessions are the paper's, of 3 to 5 queries; "-all" trains on those of 2 to 10.
DATA = {
    "user": "--split-by user",
    "session": "--split-by session",
    "user-all": "--split-by user --train-queries 2,10",
    "session-all": "--split-by session --train-queries 2,10",
}


class Job(NamedTuple):
    """One training and its suggestions, or the suggestions of a baseline."""

    data: str
    system: str
    seed: int  # 0 for baselines
    part: Part


def experiment_of(data: str, log: Path, work: Path, updates: int) -> Experiment:
    """The parts of aol_small, for one entry of DATA."""
    every = systems(SIZES[WIDTH])
    plan = Plan(
        title="",
        about="",
        systems={name: every[name] for name in SYSTEMS},
        suggesters={},
        beam_of="",
        pecos="",
        settings=given_settings(SETTINGS, every, SYSTEMS),
        training=TRAINING,
        updates=updates,
        rate_updates=0,
        generation="--cpu --batch-size 64",
        preparation=["--split 80,10,10 --seed 1 --users", DATA[data]],
        threshold=5,
        pieces=0,
        seeds=0,
        checkpoint=SIZES[WIDTH].checkpoint,
    )
    return Experiment(plan, [log], work / data, at_once=1)


def jobs(args: argparse.Namespace) -> Iterator[Job]:
    """All jobs; one seed on all data sets before the next seed."""
    experiments = {
        data: experiment_of(data, args.log, args.work, args.updates) for data in args.data
    }
    for data, parts in experiments.items():
        yardsticks = dict(zip(YARDSTICKS, parts.yardsticks()))
        for name in BASELINES:
            yield Job(data, name, 0, yardsticks[name])
    for seed in args.seeds:
        for name in args.systems:
            for data, parts in experiments.items():
                plan = parts.plan
                chosen = plan.settings[plan.systems[name].settings_of or name]
                yield Job(data, name, seed, parts.models.answers(name, chosen, seed))


def run(job: Job, data: Part, updates: int) -> None:
    """Prepare the data if needed, train, generate, score and write the result."""
    data.run()
    job.part.run()
    found = score_answers(job.part.folder, data.folder, with_model=job.seed > 0)
    about = {"data": job.data, "system": job.system, "seed": job.seed}
    if job.seed:
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
    add("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS, metavar="NAME", help="(all)")
    add("--seeds", nargs="+", type=int, default=[1, 2, 3], metavar="SEED", help="seeds (1 2 3)")
    add("--updates", type=int, default=UPDATES, help="of the flat Transformer (%(default)s)")
    add("--dry-run", action="store_true", help="print the missing commands without running them")
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    shown: Dict[Tuple[str, str], None] = {}
    for job in jobs(args):
        if result_file(job.data, job.system, job.seed).is_file():
            continue
        (data,) = experiment_of(job.data, args.log, args.work, args.updates).data()
        if not args.dry_run:
            run(job, data, args.updates)
            tell(f"{job.data} {job.system} {job.seed}: written below {RESULTS}")
            continue
        for command in [*data.all_commands(), *job.part.all_commands()]:
            if (job.data, command) not in shown:
                tell(command)
                shown[job.data, command] = None


if __name__ == "__main__":
    main()
