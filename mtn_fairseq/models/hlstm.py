"""`hlstm`: a bidirectional LSTM over each query, one over the queries, an LSTM decoder.

`mnsrf` is the same network, trained with `--criterion entropy_regularized_cross_entropy`.
"""

from argparse import Namespace
from dataclasses import dataclass, field

from fairseq.models import register_model, register_model_architecture
from fairseq.models.lstm import LSTM, LSTMCell
from fairseq.tasks import FairseqTask

from ..modules.recurrent_decoders import LSTMDecoder
from ..modules.recurrent_encoders import HierarchicalLSTMEncoder
from .recurrent_options import RecurrentOptions, bidirectional_lstm, decoder_parts
from .session_model import SessionModel, separators_of


@dataclass
class HLSTMConfig(RecurrentOptions):
    encoder_hidden_size: int = field(
        default=512,
        metadata={"help": "channels of each direction of the encoder; all else has twice as many"},
    )


@register_model("hlstm", dataclass=HLSTMConfig)
class HLSTMModel(SessionModel):
    """The initial state, from the session level, is all that the decoder reads of the source."""

    @classmethod
    def build_model(cls, cfg: HLSTMConfig, task: FairseqTask) -> "HLSTMModel":
        query_lstm = bidirectional_lstm(cfg, task)
        state = query_lstm.output_units
        encoder = HierarchicalLSTMEncoder(
            query_lstm,
            LSTMCell(state, state),
            cfg.dropout,
            separators_of(task),
            cfg.max_source_positions,
        )
        lstm = LSTM(cfg.encoder_embed_dim, state, batch_first=True)
        return cls(encoder, LSTMDecoder(lstm, *decoder_parts(cfg, task, query_lstm, state)))


@register_model("mnsrf", dataclass=HLSTMConfig)
class MNSRFModel(HLSTMModel):
    """M-NSRF without its document ranker; only its loss differs from `hlstm`."""


@register_model_architecture("hlstm", "hlstm_aol")
@register_model_architecture("mnsrf", "mnsrf_aol")
def hlstm_aol(args: Namespace) -> None:
    """The paper's size (Section 5.2)."""


@register_model_architecture("hlstm", "hlstm_small")
@register_model_architecture("mnsrf", "mnsrf_small")
def hlstm_small(args: Namespace) -> None:
    """For a machine without a GPU; of the same size as the other `…_small` architectures."""
    args.encoder_embed_dim = getattr(args, "encoder_embed_dim", 192)
    args.encoder_hidden_size = getattr(args, "encoder_hidden_size", 174)
