"""`seq2seq_attn`: a bidirectional LSTM over the flat session, an LSTM decoder with attention."""

from argparse import Namespace
from dataclasses import dataclass, field

from fairseq.dataclass import ChoiceEnum
from fairseq.models import register_model, register_model_architecture
from fairseq.models.lstm import LSTMCell
from fairseq.tasks import FairseqTask

from ..copying.option import copy_option
from ..copying.pointer import Pointer
from ..modules.flat_source import SOURCE_CONTEXTS
from ..modules.recurrent_decoders import AttentionLSTMDecoder
from ..modules.recurrent_encoders import FlatLSTMEncoder
from .recurrent_options import RecurrentOptions, bidirectional_lstm, decoder_parts
from .session_model import SessionModel, separators_of


@dataclass
class Seq2SeqAttnConfig(RecurrentOptions):
    source_context: ChoiceEnum(SOURCE_CONTEXTS) = field(  # type: ignore[valid-type]
        default="session",
        metadata={"help": "what is read: the whole session, flat, or its last query only"},
    )
    copy_attention: bool = copy_option()


@register_model("seq2seq_attn", dataclass=Seq2SeqAttnConfig)
class Seq2SeqAttnModel(SessionModel):
    """Luong's global attention (dot product); each step reads the context of the previous step."""

    @classmethod
    def build_model(cls, cfg: Seq2SeqAttnConfig, task: FairseqTask) -> "Seq2SeqAttnModel":
        lstm = bidirectional_lstm(cfg, task)
        state = lstm.output_units
        cell = LSTMCell(cfg.encoder_embed_dim + state, state)
        separators = separators_of(task)
        model = cls(
            FlatLSTMEncoder(lstm, separators, str(cfg.source_context)),
            AttentionLSTMDecoder(cell, *decoder_parts(cfg, task, lstm, features=2 * state)),
        )
        if cfg.copy_attention:
            model.copy_by(Pointer(2 * state, state, levels=1), separators)
        return model


@register_model_architecture("seq2seq_attn", "seq2seq_attn_aol")
def seq2seq_attn_aol(args: Namespace) -> None:
    """The paper's size (Section 5.2)."""


@register_model_architecture("seq2seq_attn", "seq2seq_attn_small")
def seq2seq_attn_small(args: Namespace) -> None:
    """For a machine without a GPU; of the same size as the other `…_small` architectures."""
    args.encoder_embed_dim = getattr(args, "encoder_embed_dim", 192)
    args.encoder_hidden_size = getattr(args, "encoder_hidden_size", 200)
