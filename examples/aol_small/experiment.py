#!/usr/bin/env python3
"""The paper's experiment on the AOL excerpt, on a machine without a GPU.

    python examples/aol_small/experiment.py LOG [--output runs/aol_small]

LOG is what users_to_log.py wrote. All models have as many parameters outside the words' tables and
train for the same time; learning rate and dropout are chosen for each on validation data. It may be
stopped at any moment and called again does what is missing; its end is report.md and report.html.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple

from parts import Part, Training, once, run_all, tell
from recipes import (
    SUGGESTERS,
    SYSTEMS,
    YARDSTICKS,
    ListMaker,
    Settings,
    System,
    dropouts,
    next_rates,
)
from rows import Row, Run, evaluation, manifest

BEAM = 10


class Plan(NamedTuple):
    """What all systems of an experiment have in common.

    Args:
        title: of the report
        about: a sentence for its head: data, machine, budget
        systems: by name
        suggesters: by name; the model of their beam is that of `beam_of`
        beam_of: one of the systems
        pecos: a Python that has libpecos, for the rival; "" to leave it out
        settings: learning rate and dropout of each; searched on validation data where there is none
        training: flags of fairseq-train
        updates: of the flat Transformer, and of the others as many as take the same time; 0 where
            `training` says how long
        rate_updates: likewise, of a try of a learning rate
        generation: flags of fairseq-generate
        preparation: flags of mtn-log-to-sessions
        threshold: words seen less often in training are <unk>
        pieces: how many word pieces, for systems that read them
        seeds: how many
    """

    title: str
    about: str
    systems: Dict[str, System]
    suggesters: Dict[str, ListMaker]
    beam_of: str
    pecos: str
    settings: Dict[str, Settings]
    training: str
    updates: int
    rate_updates: int
    generation: str
    preparation: List[str]
    threshold: int
    pieces: int
    seeds: int


class Experiment:
    """All parts, in the folder `output`.

    Args:
        plan: what is compared
        logs: in AOL's format
        output: folder; what is there already is not done again
        at_once: parts that run at the same time
    """

    def __init__(self, plan: Plan, logs: List[Path], output: Path, at_once: int) -> None:
        self.plan, self.output, self.at_once = plan, output.resolve(), at_once
        self.logs = " ".join(str(log.resolve()) for log in logs)
        self.seeds = range(1, plan.seeds + 1)

    def run(self) -> None:
        tell("== data")
        run_all(self.data_parts(), at_once=1)
        run_all(map(self.yardstick, YARDSTICKS), self.at_once)
        tell("== learning rate and dropout")
        settings = {**self.choose_settings(), **self.plan.settings}
        for name, chosen in settings.items():
            tell(f"{name}: {chosen.name}")
        tell("== models")
        run_all(self.model_parts(settings), self.at_once)
        tell("== suggestions from all sources")
        run_all(self.counts(), self.at_once)
        run_all(self.suggester_parts(settings), self.at_once)
        run_all(map(self.pecos, self._pecos_seeds()), self.at_once)
        tell("== scores and report")
        evaluation(self.output, self.rows(settings)).run_again()
        self.write_manifest(settings)
        self.report().run_again()
        tell(f"{self.output}/report/report.md")

    def print_commands(self) -> None:
        """What `run` would do; of the tries on validation data, the first of each."""
        searched = {name: next_rates({})[0] for name in self._searched()}
        tries = [self._rate_try(name, settings) for name, settings in searched.items()]
        settings = {**searched, **self.plan.settings}
        models = self.model_parts(settings)
        yardsticks = map(self.yardstick, YARDSTICKS)
        beyond = [
            *self.counts(),
            *self.suggester_parts(settings),
            *map(self.pecos, self._pecos_seeds()),
        ]
        ends = [evaluation(self.output, self.rows(settings)), self.report()]
        for part in [*self.data_parts(), *yardsticks, *tries, *models, *beyond, *ends]:
            for _, command in part.commands:
                tell(command)

    def data_parts(self) -> List[Part]:
        kinds = {False, *(system.pieces for system in self.plan.systems.values())}
        return [self.data(pieces) for pieces in sorted(kinds)]

    def model_parts(self, settings: Dict[str, Settings]) -> List[Part]:
        """All of one seed before the next, so that a run cut short has compared them all."""
        return [
            part
            for seed in self.seeds
            for name, system in self.plan.systems.items()
            for part in self.model(name, settings[system.settings_of or name], seed)
        ]

    def data(self, pieces: bool) -> Part:
        """Text and binarised text, in words or in word pieces."""
        folder = self.data_folder(pieces)
        text = f"{folder}/text"
        prepare = [f"mtn-log-to-sessions {self.logs} --output {text}", *self.plan.preparation]
        if pieces:
            prepare.append(f"--sentencepiece {self.plan.pieces}")
        prefixes = " ".join(f"--{split}pref {text}/{split}" for split in ("train", "valid", "test"))
        return Part(
            folder,
            [
                ("sessions", " ".join(prepare)),
                ("clean", f"rm -rf {folder}/data-bin"),
                (
                    "binarise",
                    "fairseq-preprocess --user-dir mtn_fairseq --task session_to_query"
                    " --source-lang session --target-lang next --joined-dictionary"
                    f" --thresholdsrc {0 if pieces else self.plan.threshold} {prefixes}"
                    f" --destdir {folder}/data-bin --workers 2",
                ),
            ],
        )

    def data_folder(self, pieces: bool) -> Path:
        return self.output / ("pieces" if pieces else "words")

    def yardstick(self, method: str) -> Part:
        text = self.data_folder(pieces=False) / "text"
        command = f"mtn-yardstick {method} --nbest {BEAM} --train {text}/train --test {text}/test"
        return Part(self.output / "yardsticks" / method, [("generate", command)])

    def choose_settings(self) -> Dict[str, Settings]:
        """For each system that does not take another's: the learning rate, then the dropout."""
        names = self._searched()
        while True:
            tried = {name: self._rates_tried(name) for name in names}
            wanted = [(name, s) for name, losses in tried.items() for s in next_rates(losses)]
            if not wanted:
                break
            run_all([self._rate_try(*each) for each in wanted], self.at_once)
        # What dropout prevents comes late: its tries are whole trainings, the best is kept.
        tries = {
            (name, settings): self.training(name, settings, seed=1)
            for name, losses in tried.items()
            for settings in dropouts(_lowest(losses))
        }
        run_all(tries.values(), self.at_once)
        return {
            name: _lowest({s: part.loss() for (of, s), part in tries.items() if of == name})
            for name in names
        }

    def _rates_tried(self, name: str) -> Dict[Settings, float]:
        """The validation loss of each try, up to the first that is not done."""
        losses: Dict[Settings, float] = {}
        while True:
            tries = {settings: self._rate_try(name, settings) for settings in next_rates(losses)}
            if not tries or not all(part.done for part in tries.values()):
                return losses
            losses.update({settings: part.loss() for settings, part in tries.items()})

    def _searched(self) -> List[str]:
        return [
            name
            for name, system in self.plan.systems.items()
            if not system.settings_of and name not in self.plan.settings
        ]

    def _rate_try(self, name: str, settings: Settings) -> "Training":
        """Shorter than a training; its validation loss is all that is wanted."""
        folder = self.output / "rates" / f"{name}-{settings.name}"
        train = self._train(name, settings, 1, self.plan.rate_updates, "--no-save")
        return Training(folder, [("train", train)])

    def model(self, name: str, settings: Settings, seed: int) -> List[Part]:
        """Trained, and asked for suggestions."""
        training = self.training(name, settings, seed)
        data = self.data_folder(self.plan.systems[name].pieces) / "data-bin"
        ask = (
            f"fairseq-generate {data} --user-dir mtn_fairseq --task session_to_query"
            f" --path {training.checkpoint}"
            f" --beam {BEAM} --nbest {BEAM} --max-len-b 30 {self.plan.generation}"
        )
        commands = [("generate", ask), ("reference", f"{ask} --score-reference")]
        return [training, Part(self.answers(name, seed), commands)]

    def training(self, name: str, settings: Settings, seed: int) -> "Training":
        folder = self.output / "trained" / f"{name}-{settings.name}-{seed}"
        train = self._train(name, settings, seed, self.plan.updates, f"--save-dir {folder}")
        return Training(folder, [("train", train)])

    def answers(self, name: str, seed: int) -> Path:
        return self.output / "answers" / f"{name}-{seed}"

    def _train(self, name: str, settings: Settings, seed: int, updates: int, flags: str) -> str:
        system = self.plan.systems[name]
        if updates:
            in_same_time = round(updates / system.cost)
            flags += f" --max-update {in_same_time} --total-num-update {in_same_time}"
        return (
            f"fairseq-train {self.data_folder(system.pieces)}/data-bin --user-dir mtn_fairseq"
            f" --task session_to_query {self.plan.training} {system.flags} {settings.flags}"
            f" --seed {seed} {flags}"
        )

    def counts(self) -> List[Part]:
        text = self.data_folder(pieces=False) / "text"
        folder = self.output / "counts"
        count = f"mtn-count-next --train {text}/train --output {folder}/next-queries"
        return [Part(folder, [("count", count)])] if self.plan.suggesters else []

    def suggester_parts(self, settings: Dict[str, Settings]) -> List[Part]:
        return [
            self.suggester(name, settings, seed)
            for seed in self.seeds
            for name in self.plan.suggesters
        ]

    def suggester(self, name: str, settings: Dict[str, Settings], seed: int) -> Part:
        """A ranker is fitted on the validation text; then every source and the ranker answer."""
        maker, words = self.plan.suggesters[name], self.data_folder(pieces=False)
        folder = self.answers(name, seed)
        chosen = settings[self.plan.systems[self.plan.beam_of].settings_of or self.plan.beam_of]
        sources = (
            f"--model {self.training(self.plan.beam_of, chosen, seed).checkpoint}"
            f" --data {words}/data-bin --counts {self.output}/counts/next-queries {maker.flags}"
        )
        commands = []
        if maker.ranked:
            fit = f"mtn-fit-ranker {sources} --valid {words}/text/valid --output {folder}/ranker"
            commands.append(("fit", fit))
            sources += f" --ranker {folder}/ranker"
        commands.append(("generate", f"mtn-suggest {sources} --test {words}/text/test"))
        return Part(folder, commands)

    def pecos(self, seed: int) -> Part:
        text = self.data_folder(pieces=False) / "text"
        command = (
            f"{self.plan.pecos} {Path(__file__).with_name('rival_pecos.py')} --nbest {BEAM}"
            f" --train {text}/train --test {text}/test --seed {seed}"
        )
        return Part(self.answers("pecos", seed), [("generate", command)])

    def _pecos_seeds(self) -> List[int]:
        return list(self.seeds) if self.plan.pecos else []

    def rows(self, settings: Dict[str, Settings]) -> List[Row]:
        """All that is compared."""
        rows = [
            Row(name, label, ("yardstick",), [Run(name, self.output / "yardsticks" / name)])
            for name, label in YARDSTICKS.items()
        ]
        for name, system in self.plan.systems.items():
            chosen = settings[system.settings_of or name]
            runs = [
                self._run(name, seed)._replace(training=self.training(name, chosen, seed))
                for seed in self.seeds
            ]
            rows.append(Row(name, system.label, system.group, runs, system))
        for name, maker in self.plan.suggesters.items():
            runs = [self._run(name, seed) for seed in self.seeds]
            rows.append(Row(name, maker.label, ("beyond",), runs))
        if self.plan.pecos:
            runs = [self._run("pecos", seed) for seed in self.seeds]
            rows.append(Row("pecos", "PECOS (XR-Linear)", ("beyond",), runs))
        return rows

    def _run(self, name: str, seed: int) -> Run:
        return Run(f"{name}-{seed}", self.answers(name, seed), seed)

    def write_manifest(self, settings: Dict[str, Settings]) -> None:
        chosen = "; ".join(
            f"{self.plan.systems[name].label} {setting.rate:g} and {setting.dropout:g}"
            for name, setting in settings.items()
        )
        about = [
            self.plan.about,
            f"Learning rate and dropout: {chosen}; other rows take those of the model they vary.",
        ]
        contents = manifest(self.output, self.plan.title, about, self.rows(settings))
        (self.output / "report.json").write_text(json.dumps(contents, indent=1) + "\n")

    def report(self) -> Part:
        folder = self.output / "report"
        return Part(folder, [("report", f"mtn-report {self.output} --output {folder}")])


def _lowest(losses: Dict[Settings, float]) -> Settings:
    return min(losses, key=lambda settings: losses[settings])


def run_or_print(experiment: Experiment, dry_run: bool, budget: Dict[str, int]) -> None:
    """A folder that was begun with another log or budget is refused."""
    if dry_run:
        return experiment.print_commands()
    settings = json.dumps({"logs": experiment.logs, **budget}) + "\n"
    begun = once(experiment.output / "settings.json", lambda: settings)
    if begun != settings:
        sys.exit(f"{experiment.output} was begun with {begun.strip()}: name another --output")
    experiment.run()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("log", type=Path, help="what users_to_log.py wrote")
    add("--output", type=Path, default=Path("runs/aol_small"), help="folder (%(default)s)")
    add("--seeds", type=int, default=3, help="of each model (%(default)s)")
    add("--updates", type=int, default=1600, help="of the flat Transformer (%(default)s)")
    add("--rate-updates", type=int, default=400, help="of its tries of a rate (%(default)s)")
    add("--pecos", metavar="PYTHON", default="", help="a Python with libpecos: the rival, too")
    add("--at-once", type=int, default=2, help="parts at the same time, a core each (%(default)s)")
    add("--dry-run", action="store_true", help="print the commands and do nothing")
    args = parser.parse_args()
    budget = {"updates": args.updates, "rate updates": args.rate_updates}
    plan = Plan(
        title="The paper's experiment on an excerpt of the AOL log",
        about=f"1000 users, {args.seeds} seeds. All models train for the same time, that of "
        f"{args.updates} updates of the flat Transformer, of about 164 pairs, drawn at random. "
        f"Learning rate (in the time of {args.rate_updates}), then dropout are chosen on "
        "validation data with seed 1.",
        systems=SYSTEMS,
        suggesters=SUGGESTERS,
        beam_of="mtn-copying",
        pecos=args.pecos and str(Path(args.pecos).absolute()),
        settings={},
        training="--optimizer fused_adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0"
        " --lr-scheduler polynomial_decay --warmup-updates 200 --train-batches random --cpu"
        " --no-epoch-checkpoints --log-format simple --log-interval 100",
        updates=args.updates,
        rate_updates=args.rate_updates,
        generation="--cpu --batch-size 64",
        preparation=["--split 80,10,10"],  # of few sessions, more for the test
        threshold=5,
        pieces=4000,
        seeds=args.seeds,
    )
    run_or_print(Experiment(plan, [args.log], args.output, args.at_once), args.dry_run, budget)


if __name__ == "__main__":
    main()
