"""Training with one architecture: fairseq's own trainer, one step at a time."""

import logging
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import torch
from fairseq import options, tasks
from fairseq.dataclass.configs import FairseqConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.trainer import Trainer
from measure import clock

PACKAGE = Path(__file__).resolve().parents[2] / "mtn_fairseq"
COMMON = ["--cpu", "--lr", "0.0001", "--dropout", "0.1", "--log-format", "none"]
COMMON += ["--num-workers", "0"]  # no worker processes
COMMON += ["-s", "session", "-t", "next", "--user-dir", str(PACKAGE)]


def configuration(data: Path, flags: List[str]) -> FairseqConfig:
    """The configuration that fairseq-train makes of these flags; later flags win."""
    logging.disable(logging.WARNING)  # fairseq's log would interrupt the tables
    default = ["--task", "session_to_query", "--criterion", "cross_entropy"]
    command = [str(data), *default, *COMMON, *flags]
    parser = options.get_training_parser()
    return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, command))


class Training:
    """What fairseq-train would do with these flags.

    Args:
        data: a folder of binarised pairs
        flags: architecture, sizes, batches
    """

    def __init__(self, data: Path, flags: List[str]) -> None:
        cfg = configuration(data, flags)
        torch.manual_seed(1)
        task = tasks.setup_task(cfg.task)
        model = task.build_model(cfg.model)
        self.trainer = Trainer(cfg, task, model, task.build_criterion(cfg.criterion))
        self.parameters = sum(p.numel() for p in model.parameters())
        self.batches = self._batches()

    def _batches(self) -> Iterator[List[Dict[str, Any]]]:
        epoch = 1
        while True:
            for batch in self.trainer.get_train_iterator(epoch).next_epoch_itr(shuffle=True):
                yield [batch]
            epoch += 1

    def step(self) -> Tuple[int, float]:
        """One update; returns the number of pairs and the seconds, including reading the batch."""
        start = clock()
        samples = next(self.batches)
        self.trainer.train_step(samples)
        return samples[0]["nsentences"], clock() - start
