"""The session-level attention of a trained model in the sample sessions."""

from pathlib import Path
from typing import List, NamedTuple

import numpy as np

from mtn_preprocess.errors import InputError

from .samples import Session


class Attention(NamedTuple):
    line: int
    queries: List[str]
    layers: List[np.ndarray]  # (Q, Q) per layer: weight of query j for query i


def read_attention(checkpoint: Path, data: Path, sessions: List[Session]) -> List[Attention]:
    """The attention in sessions with two or more queries; a single query attends only to itself."""
    from mtn_fairseq.checkpoints.loading import load_model  # imports torch and fairseq
    from mtn_fairseq.modules.attention_weights import session_attention
    from mtn_fairseq.modules.mtn_encoder import MTNEncoder

    model, task = load_model(checkpoint, data)
    encoder = model.encoder
    if not isinstance(encoder, MTNEncoder) or not encoder.levels:
        raise InputError(
            "the model has no session level",
            "give a system of `--arch mtn` with at least two levels as `attention`",
            checkpoint,
        )
    found = []
    for session in sessions:
        if len(session.queries) < 2:
            continue
        tokens = task.source_dictionary.encode_line(session.source, add_if_not_exist=False).long()
        # As in fairseq-generate: cut to the model's sizes, dropping the oldest queries first.
        source = task.build_dataset_for_inference([tokens], [len(tokens)])[0]["source"]
        layers = [weights.numpy() for weights in session_attention(encoder, source)]
        found.append(Attention(session.line, session.queries[-len(layers[0]) :], layers))
    return found
