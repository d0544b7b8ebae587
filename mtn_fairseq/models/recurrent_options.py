"""What the LSTM models share: options, embedding, layers."""

from dataclasses import dataclass, field
from typing import Optional, Tuple

from fairseq import utils
from fairseq.data import Dictionary
from fairseq.dataclass import FairseqDataclass
from fairseq.models.lstm import Embedding, Linear, LSTMEncoder
from fairseq.tasks import FairseqTask
from omegaconf import II
from torch import nn


@dataclass
class RecurrentOptions(FairseqDataclass):
    encoder_embed_dim: int = field(
        default=300, metadata={"help": "channels of the embedding, of source and target"}
    )
    encoder_embed_path: Optional[str] = field(
        default=None, metadata={"help": "path to pre-trained embeddings"}
    )
    encoder_hidden_size: int = field(
        default=256,
        metadata={"help": "channels of each direction of the encoder; all else has twice as many"},
    )
    dropout: float = field(
        default=0.1, metadata={"help": "dropout on embeddings, on codes and before the output"}
    )
    max_source_positions: int = II("task.max_source_positions")
    max_target_positions: int = II("task.max_target_positions")


def bidirectional_lstm(cfg: RecurrentOptions, task: FairseqTask) -> LSTMEncoder:
    """An encoder with the embedding that the decoder shares."""
    return LSTMEncoder(
        task.source_dictionary,
        cfg.encoder_embed_dim,
        cfg.encoder_hidden_size,
        dropout_in=cfg.dropout,
        dropout_out=cfg.dropout,
        bidirectional=True,
        left_pad=False,
        pretrained_embed=_token_embedding(cfg, task.source_dictionary),
        max_source_positions=cfg.max_source_positions,
    )


def decoder_parts(
    cfg: RecurrentOptions, task: FairseqTask, encoder: LSTMEncoder, features: int
) -> Tuple:
    """The arguments of every recurrent decoder, see `RecurrentDecoder`."""
    return (
        task.target_dictionary,
        encoder.embed_tokens,
        Linear(features, len(task.target_dictionary)),
        cfg.dropout,
        cfg.max_target_positions,
    )


def _token_embedding(cfg: RecurrentOptions, dictionary: Dictionary) -> nn.Embedding:
    embedding = Embedding(len(dictionary), cfg.encoder_embed_dim, dictionary.pad())
    if cfg.encoder_embed_path:
        utils.load_embedding(utils.parse_embedding(cfg.encoder_embed_path), dictionary, embedding)
    return embedding
