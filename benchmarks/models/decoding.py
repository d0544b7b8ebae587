"""Decoding with one architecture: fairseq's own generator, one batch at a time."""

from pathlib import Path
from typing import List, Optional, Tuple, Type

import torch
from fairseq import tasks
from fairseq.sequence_generator import SequenceGenerator
from measure import clock
from training import configuration


class Decoding:
    """Decodes like fairseq-generate, with untrained weights.

    All hypotheses have the same number of words, because an untrained model ends at random.

    Args:
        data: a folder of binarised pairs
        flags: architecture and sizes
        batch: sessions per batch
        beam: hypotheses per session
        words: per hypothesis
        search: a generator class to replace the task's own
        frozen: weights without gradients, as usual in serving. torch then multiplies
            three-dimensional
            features differently, up to 7 times slower, unless they can be flattened without a copy
    """

    def __init__(
        self,
        data: Path,
        flags: List[str],
        batch: int,
        beam: int = 5,
        words: int = 4,
        search: Optional[Type[SequenceGenerator]] = None,
        frozen: bool = False,
    ) -> None:
        cfg = configuration(data, flags)
        torch.manual_seed(1)
        self.task = tasks.setup_task(cfg.task)
        self.model = self.task.build_model(cfg.model).eval()
        self.model.prepare_for_inference_(cfg)
        self.model.requires_grad_(not frozen)
        cfg.generation.beam, cfg.generation.nbest = beam, beam
        cfg.generation.min_len, cfg.generation.max_len_b = words, words
        self.generator = self.task.build_generator([self.model], cfg.generation, search)
        self.task.load_dataset("test")
        self.parameters = sum(p.numel() for p in self.model.parameters())
        dataset = self.task.dataset("test")
        self.batches = list(
            self.task.get_batch_iterator(
                dataset, max_sentences=batch, max_positions=(1024, 1024)
            ).next_epoch_itr(shuffle=False)
        )

    def step(self) -> Tuple[int, float]:
        """Decode one batch; returns the number of pairs and the seconds."""
        sample = self.batches.pop(len(self.batches) // 2)  # sources of medium length
        start = clock()
        hypotheses = self.task.inference_step(self.generator, [self.model], sample)
        return len(hypotheses), clock() - start
