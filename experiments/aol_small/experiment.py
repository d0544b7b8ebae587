#!/usr/bin/env python3
"""The paper's experiment on the AOL excerpt, on a machine without a GPU.

    python experiments/aol_small/experiment.py LOG [--output runs/aol_small]

LOG is the output of users_to_log.py. All models have the same number of parameters outside the word
embeddings and train for the same time, by the measured cost of an update. Learning rate and dropout
are chosen per model on validation data. It can be interrupted at any time; run it again to
continue. It ends with report.md and report.html.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Dict, Iterable, List

from lists import counts, pecos, suggester, yardstick
from models import Models
from parts import PLUGIN, Part, once, run_all, tell, write_whole
from plan import Plan
from recipes import SIZES, SUGGESTERS, TRAINING, YARDSTICKS, Settings, System, next_rates, systems
from rows import Row, Run, evaluation, manifest

from mtn_preprocess.errors import InputError

CHOSEN = "settings.json"  # learning rate and dropout of each system
_SPLIT_SEED = 1
_MIN_COUNT = 5  # words seen less often in training are unknown
_BEAM_OF = "mtn-copying"  # the model in the lists from all sources


class Experiment:
    """All parts of an experiment, in the folder `output`.

    Args:
        plan: what is compared
        logs: in AOL's format
        output: folder; existing results are kept
        at_once: number of parts that run in parallel
    """

    def __init__(self, plan: Plan, logs: List[Path], output: Path, at_once: int) -> None:
        self.plan, self.output, self.at_once = plan, output.resolve(), at_once
        self.logs = " ".join(str(log.resolve()) for log in logs)
        self.seeds = range(1, plan.seeds + 1)
        self.models = Models(plan, self.output, at_once)

    def run(self) -> None:
        self.keep_settings(self.plan.settings)  # refuse changed settings before all the work
        tell("== data")
        run_all(self.data(), at_once=1)
        run_all(self.yardsticks(), self.at_once)
        tell("== learning rate and dropout")
        settings = {**self.models.choose_settings(), **self.plan.settings}
        for name, chosen in settings.items():
            tell(f"{name}: {chosen.name}")
        self.keep_settings(settings)
        tell("== models")
        run_all(self.answers(settings), self.at_once)
        tell("== suggestions from all sources")
        run_all(self.beyond(settings), self.at_once)
        tell("== scores and report")
        self.write_manifest(settings)
        for part in self.ends(settings):
            part.run_again()
        tell(f"{self.output}/report/report.md")

    def keep_settings(self, settings: Dict[str, Settings]) -> None:
        """Write the settings; raises if existing results were made with other settings."""
        file = self.output / CHOSEN
        kept = read_settings(file) if file.is_file() else {}
        for name, each in settings.items():
            if kept.get(name, each) != each:
                raise InputError(
                    f"{name} was begun with {kept[name].name}, not {each.name}",
                    "name another --output, or take the settings of this file",
                    file,
                )
        write_settings(file, {**kept, **settings})

    def print_commands(self) -> None:
        """Print what `run` would do; for the searches on validation data, only the first step."""
        searched = {name: next_rates({})[0] for name in self.models.searched()}
        tries = [self.models.rate_try(name, settings) for name, settings in searched.items()]
        settings = {**searched, **self.plan.settings}
        for part in [
            *self.data(),
            *self.yardsticks(),
            *tries,
            *self.answers(settings),
            *self.beyond(settings),
            *self.ends(settings),
        ]:
            for command in part.all_commands():
                tell(command)

    def data(self) -> List[Part]:
        """Text and binarised text, in words and as systems need it otherwise; and counts."""
        words = System("", "", ())
        kinds = {each.data: each for each in (words, *self.plan.systems.values())}
        parts = [self.data_of(kinds[kind]) for kind in sorted(kinds, reverse=True)]
        return [*parts, counts(self.output)] if self.plan.suggesters else parts

    def data_of(self, system: System) -> Part:
        folder = self.output / system.data
        text = f"{folder}/text"
        prepare = [f"mtn-log-to-sessions {self.logs} --output {text}", *self.plan.preparation]
        if system.pieces:
            prepare.append(f"--sentencepiece {self.plan.pieces}")
        if system.history:
            prepare.append(f"--history {system.history}")
        prefixes = " ".join(f"--{split}pref {text}/{split}" for split in ("train", "valid", "test"))
        binarise = (
            f"fairseq-preprocess {PLUGIN}"
            " --source-lang session --target-lang next --joined-dictionary"
            f" --thresholdsrc {0 if system.pieces else self.plan.threshold} {prefixes}"
            f" --destdir {folder}/data-bin --workers 2"
        )
        return Part(
            folder,
            [
                ("sessions", " ".join(prepare)),
                ("clean", f"rm -rf {folder}/data-bin"),
                ("binarise", binarise),
            ],
        )

    def yardsticks(self) -> List[Part]:
        return [yardstick(self.output, method) for method in YARDSTICKS]

    def answers(self, settings: Dict[str, Settings]) -> List[Part]:
        """All systems with one seed before the next seed, so that a short run compares all."""
        return [
            self.models.answers(name, settings[system.settings_of or name], seed)
            for seed in self.seeds
            for name, system in self.plan.systems.items()
        ]

    def beyond(self, settings: Dict[str, Settings]) -> List[Part]:
        """Systems beyond the paper: lists from all sources, and the rival's."""
        parts = []
        if self.plan.suggesters:
            base = self.plan.beam_of
            chosen = settings[self.plan.systems[base].settings_of or base]
            parts = [
                suggester(self.output, name, maker, self.models.training(base, chosen, seed), seed)
                for name, maker in self.plan.suggesters.items()
                for seed in (self.seeds if maker.every_seed else self.seeds[:1])
            ]
        if self.plan.pecos:
            parts += [pecos(self.output, self.plan.pecos, seed) for seed in self.seeds]
        return parts

    def ends(self, settings: Dict[str, Settings]) -> List[Part]:
        """The parts for scores and report."""
        folder = self.output / "report"
        report = Part(folder, [("report", f"mtn-report {self.output} --output {folder}")])
        rows = self.rows(settings)
        compared = {row.name for row in rows}
        baselines = [name for name in ("mtn", "last", self.plan.beam_of) if name in compared]
        return [evaluation(self.output, rows, baselines), report]

    def rows(self, settings: Dict[str, Settings]) -> List[Row]:
        """All compared rows."""
        rows = [
            Row(name, label, ("yardstick",), [Run(name, self.output / "yardsticks" / name)])
            for name, label in YARDSTICKS.items()
        ]
        for name, system in self.plan.systems.items():
            chosen = settings[system.settings_of or name]
            runs = [
                run._replace(training=self.models.training(name, chosen, run.seed))
                for run in self._runs(name)
            ]
            rows.append(Row(name, system.label, system.group, runs, system))
        for name, maker in self.plan.suggesters.items():
            runs = self._runs(name)
            rows.append(Row(name, maker.label, ("beyond",), runs if maker.every_seed else runs[:1]))
        if self.plan.pecos:
            rows.append(Row("pecos", "PECOS (XR-Linear)", ("beyond",), self._runs("pecos")))
        return rows

    def _runs(self, name: str) -> List[Run]:
        return [
            Run(f"{name}-{seed}", self.output / "answers" / f"{name}-{seed}", seed)
            for seed in self.seeds
        ]

    def write_manifest(self, settings: Dict[str, Settings]) -> None:
        chosen = "; ".join(
            f"{self.plan.systems[name].label} {setting.rate:g} and {setting.dropout:g}"
            for name, setting in settings.items()
        )
        about = [
            self.plan.about,
            f"Learning rate and dropout: {chosen}; other rows take those of the model they vary.",
        ]
        contents = manifest(self.output, self.plan, about, self.rows(settings))
        write_whole(self.output / "report.json", json.dumps(contents, indent=1) + "\n")


def read_settings(file: Path) -> Dict[str, Settings]:
    try:
        chosen = json.loads(file.read_text(encoding="utf-8"))
        return {
            name: Settings(float(fields["rate"]), float(fields["dropout"]))
            for name, fields in chosen.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        remedy = f"give a file like {Path(__file__).with_name(CHOSEN)}"
        raise InputError("no rates and dropouts by name", remedy, file) from None


def given_settings(
    file: Path, every: Dict[str, System], chosen: Iterable[str]
) -> Dict[str, Settings]:
    """The settings of each chosen system that needs its own; raises if one is missing."""
    given = read_settings(file)
    own = [name for name, system in every.items() if not system.settings_of]
    for name in given:
        if name not in own:
            known = f"known are {', '.join(own)}"
            raise InputError(f"{name!r} is no model with settings of its own", known, file)
    wanted = [name for name in own if name in chosen]
    for name in wanted:
        if name not in given:
            raise InputError(f"no settings of {name}", "add them, or leave out --settings", file)
    return {name: given[name] for name in wanted}


def write_settings(file: Path, settings: Dict[str, Settings]) -> None:
    chosen = {name: each._asdict() for name, each in settings.items()}
    write_whole(file, json.dumps(chosen, indent=1) + "\n")


def run_or_print(experiment: Experiment, dry_run: bool, budget: Dict[str, int]) -> None:
    """Run or print the experiment; refuses a folder started with another log or budget."""
    if dry_run:
        return experiment.print_commands()
    settings = json.dumps({"logs": experiment.logs, **budget}) + "\n"
    begun = once(experiment.output / "budget.json", lambda: settings)
    if begun != settings:
        sys.exit(f"{experiment.output} was begun with {begun.strip()}: name another --output")
    experiment.run()


def names(text: str) -> List[str]:
    return [name for name in text.split(",") if name]


def line_numbers(text: str) -> List[int]:
    return [int(number) for number in text.split(",")]


def flags() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("log", type=Path, help="output of users_to_log.py")
    add("--output", type=Path, default=Path("runs/aol_small"), help="folder to write (%(default)s)")
    add("--seeds", type=int, default=3, help="seeds per model (%(default)s)")
    add(
        "--split-seed",
        type=int,
        default=_SPLIT_SEED,
        metavar="S",
        help="seed of the split into training, validation and test (%(default)s); with another "
        "seed and --settings, shows whether the results of the first split hold",
    )
    add(
        "--width",
        type=int,
        choices=SIZES,
        default=64,
        help="channels of the models; wider models train longer (%(default)s)",
    )
    add(
        "--systems",
        metavar="NAME,NAME",
        type=names,
        help=f"models to compare: {', '.join(systems(SIZES[64]))} (all)",
    )
    updates = ", ".join(f"{size.updates} for {width} channels" for width, size in SIZES.items())
    add("--updates", type=int, help=f"updates of the flat Transformer ({updates})")
    add("--rate-updates", type=int, default=300, help="updates per tried rate (%(default)s)")
    add(
        "--settings",
        type=Path,
        help=f"{CHOSEN} of an earlier run: use its learning rates and dropouts instead of "
        "searching them",
    )
    add("--pecos", metavar="PYTHON", default="", help="a Python with libpecos: also run the rival")
    add(
        "--lists",
        metavar="NAME,NAME",
        type=names,
        default=list(SUGGESTERS),
        help=f"lists from all sources to make: {', '.join(SUGGESTERS)} (all)",
    )
    add(
        "--sample-lines",
        metavar="N,N",
        type=line_numbers,
        default=[],
        help="lines of words/text/test whose suggestions the report shows (none); these are real "
        "queries: check them first",
    )
    add("--at-once", type=int, default=2, help="parallel parts, one core each (%(default)s)")
    add("--dry-run", action="store_true", help="print the commands without running them")
    return parser


def main() -> None:
    parser = flags()
    args = parser.parse_args()
    size = SIZES[args.width]
    every = systems(size)
    chosen = args.systems or list(every)
    for flag, wanted, known in (("--systems", chosen, every), ("--lists", args.lists, SUGGESTERS)):
        unknown = set(wanted) - set(known)
        if unknown:
            parser.error(f"{flag}: no {', '.join(sorted(unknown))}")
    needed = {"mtn", *(every[name].settings_of or name for name in chosen)}  # compare with mtn
    needed |= {_BEAM_OF} if args.lists else set()
    if not needed.issubset(chosen):
        missing = ", ".join(sorted(needed.difference(chosen)))
        parser.error(f"--systems: {missing} as well, or none of what needs it (--lists '')")
    settings = given_settings(args.settings, every, chosen) if args.settings else {}
    updates = args.updates or size.updates
    budget = {"updates": updates, "rate updates": args.rate_updates}
    if args.width != 64:  # as in folders made before the flag existed
        budget["width"] = args.width
    if args.split_seed != _SPLIT_SEED:
        budget["split seed"] = args.split_seed
    how_chosen = (
        f"Learning rates and dropouts are those of {args.settings.name}."
        if args.settings
        else f"Learning rates (in the time of {args.rate_updates}), then dropouts are chosen on "
        "validation data with seed 1."
    )
    plan = Plan(
        title="The paper's experiment on an excerpt of the AOL log",
        about=f"1000 users; seeds: {args.seeds}; seed of the split: {args.split_seed}. All models "
        f"train for the time of {updates} updates of the flat Transformer, of about 82 pairs, "
        "drawn at random, by what an update of each was measured to cost at 64 channels. "
        f"{how_chosen} Models know words seen at least {_MIN_COUNT} times in training.",
        systems={name: every[name] for name in every if name in chosen},
        suggesters={name: SUGGESTERS[name] for name in args.lists},
        beam_of=_BEAM_OF,
        pecos=args.pecos and str(Path(args.pecos).absolute()),
        settings=settings,
        training=TRAINING,
        updates=updates,
        rate_updates=args.rate_updates,
        generation="--cpu --batch-size 64",
        # The log has few sessions, so the test gets a larger share.
        preparation=["--split 80,10,10", f"--seed {args.split_seed}"],
        threshold=_MIN_COUNT,
        pieces=4000,
        seeds=args.seeds,
        checkpoint=size.checkpoint,
        dropouts=size.dropouts,
        sample_lines=args.sample_lines,
    )
    run_or_print(Experiment(plan, [args.log], args.output, args.at_once), args.dry_run, budget)


if __name__ == "__main__":
    main()
