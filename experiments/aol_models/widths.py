#!/usr/bin/env python3
"""Does more width help? Trains copying models at several widths and scores validation data.

    python experiments/aol_models/widths.py LOG [--work runs/aol_models]

Every width gets as many updates as the table's models, so wider ones train longer. Feed-forward
layers have twice the width, at least 256 channels; attention heads have 32 channels. Rates are
those of 128 channels times the square root of 128 / width, or, with --same-rate, as they are. Every
training ends with a file of numbers in widths/ and is not repeated; tables.py shows them.
"""

import argparse
import math
import statistics
import sys
from pathlib import Path
from time import process_time
from typing import Callable, Dict, Iterator, NamedTuple

import torch
from results import WIDTHS, Result, score_answers, write_result

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "aol_small"))
from costs import BATCHES, updates_of
from experiment import Experiment
from parts import tell
from recipes import SIZES, Settings, Size, System, systems
from trainings import DATA, UPDATES, WIDTH, experiment_of

COMPARED = ("mtn-copying", "transformer-copying")
_CHANNELS_PER_HEAD = 32
_ROUNDS = 5  # of measuring the time of an update


class Job(NamedTuple):
    """One training, whose suggestions for validation data are scored."""

    data: str
    system: str
    width: int
    settings: Settings
    seed: int
    experiment: Experiment

    @property
    def file(self) -> Path:
        name = f"{self.system}-{self.width}-lr{self.settings.rate}-{self.seed}.json"
        return WIDTHS / self.data / name


def size_of(width: int) -> Size:
    """Sizes of MTN and the flat Transformer."""
    heads = max(width // _CHANNELS_PER_HEAD, 1)
    return SIZES[WIDTH]._replace(width=width, heads=heads, feed_forward=max(2 * width, 256))


def settings_at(width: int, settings: Settings, same_rate: bool) -> Settings:
    factor = 1.0 if same_rate else math.sqrt(WIDTH / width)
    return settings._replace(rate=float(f"{settings.rate * factor:.2g}"))


def jobs(args: argparse.Namespace) -> Iterator[Job]:
    for data in args.data:
        for system in args.systems:
            for width in args.widths:
                wide = systems(size_of(width))[system]
                experiment = experiment_of(
                    data, args.log, args.work, args.updates, {f"{system}-{width}": wide}
                )
                chosen = experiment.plan.settings[wide.settings_of]
                settings = settings_at(width, chosen, args.same_rate)
                yield Job(data, system, width, settings, args.seed, experiment)


def run(job: Job) -> None:
    """Prepare the data if needed, train, generate, score and write the result."""
    ((name, wide),) = job.experiment.plan.systems.items()
    data = job.experiment.data_of(wide)
    data.run()
    part = job.experiment.models.valid_answers(name, job.settings, job.seed)
    part.run()
    found = score_answers(part.folder, data.folder, with_model=True, split="valid")
    about = {
        "data": job.data,
        "system": job.system,
        "width": job.width,
        "rate": job.settings.rate,
        "seed": job.seed,
        "updates": round(job.experiment.plan.updates / wide.cost),
        **time_of_update(job.system, wide, job.experiment.output),
    }
    write_result(job.file, Result(about, *found))


def time_of_update(name: str, wide: System, folder: Path) -> Dict[str, float]:
    """CPU time of an update, also relative to the table's width; both are measured in turn."""
    torch.set_num_threads(1)
    usual = systems(SIZES[WIDTH])[name]
    both = [updates_of(system, folder) for system in (wide, usual)]
    rounds = [[_seconds(update_all) for update_all in both] for _ in range(1 + _ROUNDS)]
    rounds = rounds[1:]  # without the warm-up
    return {
        "seconds per update": round(statistics.median(each for each, _ in rounds) / BATCHES, 4),
        "cost": round(statistics.median(each / other for each, other in rounds), 2),
    }


def _seconds(update_all: Callable[[], None]) -> float:
    start = process_time()
    update_all()
    return process_time() - start


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("log", type=Path, help="output of users_to_log.py")
    add("--work", type=Path, default=Path("runs/aol_models"), help="folder to write (%(default)s)")
    add("--data", nargs="+", choices=DATA, default=["session", "user"], metavar="DATA")
    add("--systems", nargs="+", choices=COMPARED, default=COMPARED[:1], metavar="NAME")
    add("--widths", nargs="+", type=int, default=[64, 128, 192, 256], metavar="CHANNELS")
    add("--same-rate", action="store_true", help="the rate of 128 channels at every width")
    add("--seed", type=int, default=1, help="seed of the training (%(default)s)")
    add("--updates", type=int, default=UPDATES, help="of the flat Transformer (%(default)s)")
    add("--dry-run", action="store_true", help="print the missing trainings without running them")
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    for job in jobs(args):
        if job.file.is_file():
            continue
        if args.dry_run:
            for name in job.experiment.plan.systems:
                part = job.experiment.models.valid_answers(name, job.settings, job.seed)
                tell("\n".join(part.all_commands()))
            continue
        run(job)
        tell(f"{job.file.name}: written below {WIDTHS}")


if __name__ == "__main__":
    main()
