"""A trained model with its task; sessions come in as text."""

from argparse import Namespace
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import torch
from fairseq import utils
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.tasks import FairseqTask
from torch import Tensor

from mtn_fairseq.checkpoints.loading import load_model
from mtn_fairseq.data.spelled_words import UnknownWords
from mtn_fairseq.description import ModelDescription
from mtn_fairseq.modules.attention_weights import session_attention
from mtn_fairseq.modules.mtn_encoder import MTNEncoder
from mtn_preprocess.errors import InputError

from ..engine import HistorySize, Hypotheses, Scores
from .beam_candidates import BeamCandidates
from .candidate_scores import score_candidates


class TrainedModel:
    """Text in, text and tensors out; always in words, even if the dictionary has word pieces.

    Thread-safe: no state is kept between calls. The out-of-vocabulary words of a batch are part of
    `sources`.

    Args:
        model: as loaded
        task: its `session_to_query` task
    """

    def __init__(self, model: FairseqEncoderDecoderModel, task: FairseqTask) -> None:
        self.model, self.task = model.eval(), task
        self.dictionary = task.target_dictionary
        self.text_settings, self.settings_file = task.text_settings, task.settings_file
        self.pieces = task.build_bpe(Namespace(bpe=None))  # None if the data are in words
        self.history_size = _history_size(model, task.level_sizes)
        self.on_gpu = next(model.parameters()).is_cuda

    @classmethod
    def load(cls, checkpoint: Path, data: Path, cpu: bool = True) -> "TrainedModel":
        if not cpu and not torch.cuda.is_available():
            raise InputError("torch finds no GPU here", "leave out --gpu")
        model, task = load_model(Path(checkpoint), Path(data))
        return cls(model if cpu else model.cuda(), task)

    def targets(self, queries: Sequence[str], unknown_words: UnknownWords) -> List[Tensor]:
        """Candidates as target tokens, with `</s>` at the end.

        Args:
            unknown_words: of the sessions, from `sources`
        """
        opened = self.task.open([self._encoded(query) for query in queries], unknown_words)
        return [opened[i] for i in range(len(queries))]

    def _encoded(self, line: str) -> Tensor:
        if self.pieces is not None:
            line = self.pieces.encode(line)
        return self.dictionary.encode_line(line, add_if_not_exist=False).long()

    def text(self, tokens: Tensor, unknown_words: UnknownWords) -> str:
        line = self.dictionary.showing(unknown_words).string(tokens)
        return line if self.pieces is None else self.pieces.decode(line)

    def sources(self, sessions: Sequence[str]) -> Dict[str, Any]:
        """A batch of sessions, truncated to the model's size as in training.

        Make it once for both beam and scores: truncation is reported here.
        """
        tokens, words = [self._encoded(session) for session in sessions], UnknownWords()
        dataset = self.task.build_dataset_for_inference(
            tokens, [len(line) for line in tokens], unknown_words=words
        )
        batch = dataset.collater([dataset[i] for i in range(len(dataset))])
        # fairseq's collater sorts by length; restore the order of the sessions.
        return {**self.placed(in_order(batch)), "unknown_words": words}

    def longer(self, session: str, shorter: Dict[str, Any]) -> Dict[str, Any]:
        """Nothing is reused: sources are encoded later, by each call."""
        return self.sources([session])

    def attention(self, sources: Dict[str, Any]) -> Optional[List[np.ndarray]]:
        encoder = self.model.encoder
        if not isinstance(encoder, MTNEncoder) or not len(encoder.levels):
            return None
        tokens = sources["net_input"]["src_tokens"]
        found = [session_attention(encoder, row[row != encoder.padding_idx]) for row in tokens]
        return [torch.stack(layers).mean(0)[-1].cpu().numpy() for layers in found]

    def beam_search(self, beam: int) -> BeamCandidates:
        return BeamCandidates(self, beam)

    def scores(
        self,
        sources: Dict[str, Any],
        candidates: Sequence[Sequence[str]],
        beams: Sequence[Hypotheses] = (),
    ) -> List[Scores]:
        """Score all candidates, including those from the beam: fairseq's generator returns scores
        after penalties, per token."""
        return score_candidates(self, sources, candidates)

    def placed(self, batch: Any) -> Any:
        return utils.move_to_cuda(batch) if self.on_gpu else batch


def _history_size(model: FairseqEncoderDecoderModel, level_sizes: Sequence[int]) -> HistorySize:
    """A model of three levels reads its number of sessions less one: the session in progress."""
    if getattr(model, "description", ModelDescription()).levels < 3:
        return HistorySize(0, 0)
    return HistorySize(level_sizes[2] - 1, level_sizes[1])


def in_order(batch: Dict[str, Any]) -> Dict[str, Any]:
    order = torch.argsort(batch["id"])
    inputs = batch["net_input"]
    return {
        "net_input": {key: inputs[key][order] for key in ("src_tokens", "src_lengths")},
    }
