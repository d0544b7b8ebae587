"""A trained model with its task, asked about sessions as text."""

from argparse import Namespace
from pathlib import Path
from threading import Lock
from typing import Any, ContextManager, Dict, List, Sequence

import torch
from fairseq import utils
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.tasks import FairseqTask
from torch import Tensor

from mtn_fairseq.checkpoints.loading import load_model
from mtn_fairseq.data.open_lines import OpenLines
from mtn_preprocess.errors import InputError

from ..engine import Scores
from .beam_candidates import BeamCandidates
from .candidate_scores import score_candidates


class TrainedModel:
    """Text in, text and tensors out; in words, whatever the model's dictionary is made of.

    Model, generator and task remember things from one step of an answer to the next: which words of
    the sessions the dictionary lacks, which columns a hypothesis has, … So whoever asks for
    `sources` holds `lock` until everything about them is known. Nothing else is kept here.

    Args:
        model: as loaded
        task: its `session_to_query` task
    """

    def __init__(self, model: FairseqEncoderDecoderModel, task: FairseqTask) -> None:
        self.model, self.task = model.eval(), task
        self.dictionary = task.target_dictionary
        self.text_settings, self.settings_file = task.text_settings, task.settings_file
        self.pieces = task.build_bpe(Namespace(bpe=None))  # None where the data are in words
        self.on_gpu = next(model.parameters()).is_cuda
        self.lock: ContextManager[Any] = Lock()

    @classmethod
    def load(cls, checkpoint: Path, data: Path, cpu: bool = True) -> "TrainedModel":
        if not cpu and not torch.cuda.is_available():
            raise InputError("torch finds no GPU here", "leave out --gpu")
        model, task = load_model(Path(checkpoint), Path(data))
        return cls(model if cpu else model.cuda(), task)

    def targets(self, queries: Sequence[str]) -> List[Tensor]:
        """Candidates as the model is to score them, `</s>` behind.

        Call it after `sources`: a word that the dictionary does not have is known by its session.
        """
        words = self.task.unknown_words if self.task.copies else None
        lines = [self._encoded(query) for query in queries]
        opened = OpenLines(lines, len(self.dictionary), words)
        return [opened[i] for i in range(len(lines))]

    def _encoded(self, line: str) -> Tensor:
        if self.pieces is not None:
            line = self.pieces.encode(line)
        return self.dictionary.encode_line(line, add_if_not_exist=False).long()

    def text(self, tokens: Tensor) -> str:
        line = self.dictionary.string(tokens)
        return line if self.pieces is None else self.pieces.decode(line)

    def sources(self, sessions: Sequence[str]) -> Dict[str, Any]:
        """A batch of sessions, cut to the size of the model as at training.

        Make it once for the beam and the scores: a session that is cut is reported here.
        """
        tokens = [self._encoded(session) for session in sessions]
        dataset = self.task.build_dataset_for_inference(tokens, [len(line) for line in tokens])
        batch = dataset.collater([dataset[i] for i in range(len(dataset))])
        # fairseq's collater puts the longest first; ours is the order of the sessions.
        return self.placed(in_order(batch))

    def beam_search(self, beam: int) -> BeamCandidates:
        return BeamCandidates(self, beam)

    def scores(self, sources: Dict[str, Any], candidates: Sequence[Sequence[str]]) -> List[Scores]:
        return score_candidates(self, sources, candidates)

    def placed(self, batch: Any) -> Any:
        return utils.move_to_cuda(batch) if self.on_gpu else batch


def in_order(batch: Dict[str, Any]) -> Dict[str, Any]:
    order = torch.argsort(batch["id"])
    inputs = batch["net_input"]
    return {
        "net_input": {key: inputs[key][order] for key in ("src_tokens", "src_lengths")},
    }
