"""Train models and generate, with the settings that are best on validation data."""

import math
import sys
from pathlib import Path
from typing import Dict, List

from parts import PLUGIN, Part, Training, Try, run_all
from plan import Plan
from recipes import BEAM, Settings, next_rates

from mtn_evaluation.generate_log import read_generate_log
from mtn_evaluation.suggestion_scores import score

_WARM_UP = 8  # warm-up takes the first eighth of the updates, also in a short try


class Models:
    """All uses of fairseq-train and fairseq-generate in an experiment.

    Args:
        plan: what is compared
        output: folder of the experiment
        at_once: number of parts that run in parallel
    """

    def __init__(self, plan: Plan, output: Path, at_once: int) -> None:
        self.plan, self.output, self.at_once = plan, output, at_once

    def searched(self) -> List[str]:
        """Systems whose settings are neither given nor shared with another system."""
        return [
            name
            for name, system in self.plan.systems.items()
            if not system.settings_of and name not in self.plan.settings
        ]

    def choose_settings(self) -> Dict[str, Settings]:
        """For each searched system: choose the learning rate, then the dropout."""
        names = self.searched()
        while True:
            tried = {name: self._rates_tried(name) for name in names}
            wanted = [(name, s) for name, losses in tried.items() for s in next_rates(losses)]
            if not wanted:
                break
            run_all([self.rate_try(*each) for each in wanted], self.at_once)
        # Overfitting shows late, so each dropout needs a whole training; the best one is kept. The
        # choice is by BLEU: with dropout the loss was lower, but so was BLEU.
        tries = {
            (name, settings): self._dropout_try(name, settings)
            for name, losses in tried.items()
            for settings in self._dropouts(_best(name, losses))
        }
        run_all(tries.values(), self.at_once)
        bleu = {each: _bleu(search) for each, search in tries.items()}
        return {
            name: max([s for of, s in tries if of == name], key=lambda s, name=name: bleu[name, s])
            for name in names
        }

    def _dropouts(self, best: Settings) -> List[Settings]:
        return [best._replace(dropout=dropout) for dropout in self.plan.dropouts]

    def _rates_tried(self, name: str) -> Dict[Settings, float]:
        """The validation loss of each try, up to the first that is not done."""
        losses: Dict[Settings, float] = {}
        while True:
            tries = {settings: self.rate_try(name, settings) for settings in next_rates(losses)}
            if not tries or not all(part.done for part in tries.values()):
                return losses
            losses.update({settings: part.loss() for settings, part in tries.items()})

    def _dropout_try(self, name: str, settings: Settings) -> Part:
        """A trained model's suggestions for the validation text."""
        training = self.training(name, settings, seed=1)
        ask = f"{self._generate_command(name, training)} --gen-subset valid"
        folder = self.output / "dropouts" / f"{name}-{settings.name}"
        return Part(folder, [("generate", ask)], after=training)

    def rate_try(self, name: str, settings: Settings) -> Try:
        """A short training, for its validation loss only."""
        folder = self.output / "rates" / f"{name}-{settings.name}"
        train = self._train(name, settings, 1, self.plan.rate_updates, "--no-save")
        return Try(folder, [("train", train)])

    def training(self, name: str, settings: Settings, seed: int) -> Training:
        folder = self.output / "trained" / f"{name}-{settings.name}-{seed}"
        train = self._train(name, settings, seed, self.plan.updates, f"--save-dir {folder}")
        return Training(folder, [("train", train)], self.plan.checkpoint)

    def answers(self, name: str, settings: Settings, seed: int) -> Part:
        """A trained model's suggestions for the test, and the scores of the real next queries."""
        training = self.training(name, settings, seed)
        ask = self._generate_command(name, training)
        return Part(
            self.output / "answers" / f"{name}-{seed}",
            [
                # Suggestions have no <unk>; the paper's scores count it as a word.
                ("generate", ask),
                ("with-unk", f"{ask} --generate-unknown"),
                ("reference", f"{ask} --score-reference"),
            ],
            after=training,
        )

    def valid_answers(self, name: str, settings: Settings, seed: int) -> Part:
        """The same for the validation text, without the paper's way of scoring."""
        training = self.training(name, settings, seed)
        ask = f"{self._generate_command(name, training)} --gen-subset valid"
        return Part(
            self.output / "valid" / f"{name}-{settings.name}-{seed}",
            [("generate", ask), ("reference", f"{ask} --score-reference")],
            after=training,
        )

    def _generate_command(self, name: str, training: Training) -> str:
        return (
            f"fairseq-generate {self._data(name)} {PLUGIN}"
            f" --path {training.checkpoint}"
            f" --beam {BEAM} --nbest {BEAM} --max-len-b 30 {self.plan.generation}"
        )

    def _train(self, name: str, settings: Settings, seed: int, updates: int, flags: str) -> str:
        system = self.plan.systems[name]
        if updates:
            in_same_time = round(updates / system.cost)
            flags += f" --max-update {in_same_time} --total-num-update {in_same_time}"
            flags += f" --warmup-updates {in_same_time // _WARM_UP}"
        return (
            f"fairseq-train {self._data(name)} {PLUGIN}"
            f" {self.plan.training} {system.flags} {settings.flags}"
            f" --seed {seed} {flags}"
        )

    def _data(self, name: str) -> Path:
        return self.output / self.plan.systems[name].data / "data-bin"


def _best(name: str, losses: Dict[Settings, float]) -> Settings:
    best = min(losses, key=lambda each: losses[each])
    if math.isinf(losses[best]):
        tried = ", ".join(f"{settings.rate:g}" for settings in losses)
        sys.exit(f"{name}: no try of a learning rate ended with a finite loss, of {tried}")
    return best


def _bleu(search: Part) -> float:
    return score(read_generate_log(str(search.folder / "generate.log")))["bleu"]
