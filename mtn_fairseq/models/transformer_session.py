"""`transformer_session`: a stock Transformer over the flat session."""

from argparse import Namespace
from dataclasses import dataclass, field
from typing import Optional

from fairseq.dataclass import ChoiceEnum
from fairseq.models import register_model, register_model_architecture
from fairseq.tasks import FairseqTask

from ..copying.pointer import Pointer
from ..modules.flat_encoder import FlatEncoder
from ..modules.flat_source import SOURCE_CONTEXTS
from ..modules.packed_layers import PackedDecoder
from .session_model import SessionModel, separators_of
from .transformer_options import (
    TransformerOptions,
    fairseq_options,
    output_layer,
    token_embedding,
)


@dataclass
class TransformerSessionConfig(TransformerOptions):
    source_context: ChoiceEnum(SOURCE_CONTEXTS) = field(  # type: ignore[valid-type]
        default="session",
        metadata={"help": "what is read: the whole session, flat, or its last query only"},
    )
    encoder_layers: int = field(default=5, metadata={"help": "encoder layers"})
    decoder_layers: Optional[int] = field(
        default=None, metadata={"help": "decoder layers (default: as many as the encoder)"}
    )
    post_norm: bool = field(
        default=False,
        metadata={
            "help": "layer norm after each block, as in the first Transformer; default: before "
            "each block, and after the last"
        },
    )


@register_model("transformer_session", dataclass=TransformerSessionConfig)
class TransformerSessionModel(SessionModel):
    """Reads the whole session as one sequence; separators are ordinary tokens."""

    skips_padding = True

    @classmethod
    def build_model(
        cls, cfg: TransformerSessionConfig, task: FairseqTask
    ) -> "TransformerSessionModel":
        options = fairseq_options(
            TransformerSessionConfig,
            cfg,
            encoder_layers=cfg.encoder_layers,
            decoder_layers=cfg.decoder_layers or cfg.encoder_layers,
            encoder_normalize_before=not cfg.post_norm,
            decoder_normalize_before=not cfg.post_norm,
        )
        embedding = token_embedding(cfg, task.source_dictionary)
        encoder = FlatEncoder(
            options,
            task.source_dictionary,
            embedding,
            separators=separators_of(task),
            source_context=str(cfg.source_context),
        )
        decoder = PackedDecoder(
            options,
            task.target_dictionary,
            embedding,
            output_projection=output_layer(cfg, task.target_dictionary),
        )
        model = cls(encoder, decoder)
        if cfg.copy_attention:
            channels = cfg.encoder_embed_dim
            model.copy_by(Pointer(channels, channels, levels=1), encoder.separators)
        return model


@register_model_architecture("transformer_session", "transformer_aol")
def transformer_aol(args: Namespace) -> None:
    """The paper's size (Section 5.2), 5 + 5 layers."""
    args.encoder_embed_dim = getattr(args, "encoder_embed_dim", 512)
    args.encoder_ffn_embed_dim = getattr(args, "encoder_ffn_embed_dim", 1024)
    args.encoder_attention_heads = getattr(args, "encoder_attention_heads", 8)


@register_model_architecture("transformer_session", "transformer_small")
def transformer_small(args: Namespace) -> None:
    """For a machine without a GPU; of the same size as the other `…_small` architectures."""
    args.encoder_layers = getattr(args, "encoder_layers", 3)
    args.encoder_embed_dim = getattr(args, "encoder_embed_dim", 192)
    args.encoder_ffn_embed_dim = getattr(args, "encoder_ffn_embed_dim", 384)
