"""`mtn`: Multiresolution Transformer Network with any number of levels."""

from argparse import Namespace
from dataclasses import dataclass, field
from math import prod
from typing import List, Optional, Tuple

from fairseq.dataclass import ChoiceEnum
from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import TransformerConfig
from fairseq.modules import LayerNorm
from fairseq.tasks import FairseqTask
from omegaconf import II
from torch import nn

from mtn_preprocess.errors import InputError

from ..copying.pointer import Pointer
from ..flags import one_int_per_level
from ..modules.limits import counted_at
from ..modules.masked_level import MaskedLevel, UnitPositions
from ..modules.mtn_encoder import MTNEncoder
from ..modules.packed_layers import PackedDecoder, PackedEncoder
from ..modules.unit_projection import LinearProjection, VectorProjection
from .session_model import SessionModel, separators_of
from .transformer_options import (
    TransformerOptions,
    fairseq_options,
    output_layer,
    token_embedding,
)


@dataclass
class MTNConfig(TransformerOptions):
    level_layers: str = field(
        default="3,2",
        metadata={
            "help": "Transformer layers of each level, bottom up: over the tokens of a query, over "
            "queries, over sessions, …; as many levels as numbers"
        },
    )
    level_sizes: str = II("task.level_sizes")
    query_projection: ChoiceEnum(["vector", "linear"]) = field(  # type: ignore[valid-type]
        default="vector",
        metadata={
            "help": "how the parts of a unit become one vector: 'vector' mixes the n part vectors "
            "by n weights, 'linear' maps all n x C numbers to C"
        },
    )
    add_back: ChoiceEnum(["every", "top"]) = field(  # type: ignore[valid-type]
        default="every",
        metadata={
            "help": "what comes back down: 'every' level's vectors, step by step, or the 'top' "
            "level's straight onto the tokens"
        },
    )
    decoder_context: ChoiceEnum(["session", "query"]) = field(  # type: ignore[valid-type]
        default="session",
        metadata={
            "help": "what the decoder attends to: the codes of all queries so far ('session') or "
            "of the last one ('query'), which know the earlier ones through the session level"
        },
    )
    encoder_normalize_before: bool = field(
        default=False, metadata={"help": "apply layer norm before each encoder block (pre-norm)"}
    )
    decoder_layers: Optional[int] = field(
        default=None, metadata={"help": "decoder layers (default: as many as the query encoder)"}
    )
    decoder_normalize_before: bool = field(
        default=False, metadata={"help": "apply layer norm before each decoder block (pre-norm)"}
    )


@register_model("mtn", dataclass=MTNConfig)
class MTNModel(SessionModel):
    """A Transformer over the tokens of each query, masked encoders above it, and a decoder."""

    skips_padding = True

    @classmethod
    def build_model(cls, cfg: MTNConfig, task: FairseqTask) -> "MTNModel":
        layers, sizes = _levels(cfg)
        separators = separators_of(task)
        if len(layers) - 1 > len(separators):
            raise InputError(
                f"--level-layers {cfg.level_layers} asks for {len(layers)} levels, the dictionary "
                f"has separators for {len(separators) + 1}",
                "use fewer levels, or prepare data with more",
            )
        transformer = fairseq_options(
            MTNConfig,
            cfg,
            encoder_layers=layers[0],
            decoder_layers=cfg.decoder_layers or layers[0],
            max_source_positions=sizes[0],  # positions restart in each query
        )
        embedding = token_embedding(cfg, task.source_dictionary)
        query_encoder = PackedEncoder(transformer, task.source_dictionary, embedding)
        encoder = MTNEncoder(
            query_encoder,
            projections=nn.ModuleList(_projection(cfg, size) for size in sizes[: len(layers) - 1]),
            levels=_upper_levels(cfg, transformer, query_encoder, layers, sizes),
            norms=_norms(cfg, layers),
            separators=separators,
            add_back=str(cfg.add_back),
            decoder_context=str(cfg.decoder_context),
            max_source_positions=cfg.max_source_positions,
        )
        decoder = PackedDecoder(
            transformer,
            task.target_dictionary,
            embedding,
            output_projection=output_layer(cfg, task.target_dictionary),
        )
        model = cls(encoder, decoder)
        model.levels, model.level_sizes = len(layers), sizes
        if cfg.copy_attention:
            channels = cfg.encoder_embed_dim
            model.copy_by(Pointer(channels, channels, max(len(layers), 2)), separators)
        return model


def _levels(cfg: MTNConfig) -> Tuple[List[int], List[int]]:
    """Number of layers and largest unit of each level, bottom up."""
    layers = one_int_per_level(cfg.level_layers, "--level-layers")
    sizes = one_int_per_level(cfg.level_sizes, "--level-sizes")
    if len(layers) > len(sizes):
        raise InputError(
            f"{len(layers)} levels in --level-layers, {len(sizes)} in --level-sizes",
            "give a size for each level",
        )
    return layers, sizes


def _projection(cfg: MTNConfig, max_parts: int) -> nn.Module:
    if str(cfg.query_projection) == "vector":
        return VectorProjection(max_parts)
    return LinearProjection(max_parts, cfg.encoder_embed_dim)


def _upper_levels(
    cfg: MTNConfig,
    transformer: TransformerConfig,
    query_encoder: PackedEncoder,
    layers: List[int],
    sizes: List[int],
) -> nn.ModuleList:
    """The masked encoders of level 2 and up, without shared parameters."""
    levels = nn.ModuleList()
    for level, depth in enumerate(layers[1:], 2):
        # The top level reads the whole source as one unit, even if the data have more levels.
        units = sizes[level - 1] if level < len(layers) else prod(sizes[level - 1 :])
        positions = None
        if not cfg.no_token_positional_embeddings:
            positions = UnitPositions(units, cfg.encoder_embed_dim, cfg.encoder_learned_pos)
        levels.append(
            MaskedLevel(
                counted_at(level),
                units,
                positions,
                nn.ModuleList(query_encoder.build_encoder_layer(transformer) for _ in range(depth)),
                dropout=cfg.dropout,
                final_norm=_norm(cfg) if cfg.encoder_normalize_before else None,
            )
        )
    return levels


def _norm(cfg: MTNConfig) -> nn.Module:
    return LayerNorm(cfg.encoder_embed_dim)


def _norms(cfg: MTNConfig, layers: List[int]) -> nn.ModuleList:
    """One norm per addition of a vector from above."""
    upper = len(layers) - 1
    return nn.ModuleList(
        _norm(cfg) for _ in range(min(upper, 1) if str(cfg.add_back) == "top" else upper)
    )


@register_model_architecture("mtn", "mtn_tiny")
def mtn_tiny(args: Namespace) -> None:
    """For tests and first steps: seconds on a laptop."""
    args.level_layers = getattr(args, "level_layers", "2,1")
    args.query_projection = getattr(args, "query_projection", "linear")
    args.encoder_embed_dim = getattr(args, "encoder_embed_dim", 128)
    args.encoder_ffn_embed_dim = getattr(args, "encoder_ffn_embed_dim", 256)


@register_model_architecture("mtn", "mtn_aol")
def mtn_aol(args: Namespace) -> None:
    """The paper's size (Section 5.2)."""
    args.query_projection = getattr(args, "query_projection", "linear")
    args.encoder_embed_dim = getattr(args, "encoder_embed_dim", 512)
    args.encoder_ffn_embed_dim = getattr(args, "encoder_ffn_embed_dim", 1024)
    args.encoder_attention_heads = getattr(args, "encoder_attention_heads", 8)


@register_model_architecture("mtn", "mtn_3level")
def mtn_3level(args: Namespace) -> None:
    """A third level, over the user's earlier sessions."""
    args.level_layers = getattr(args, "level_layers", "3,2,1")


@register_model_architecture("mtn", "mtn_small")
def mtn_small(args: Namespace) -> None:
    """For a machine without a GPU; of the same size as the other `…_small` architectures."""
    args.level_layers = getattr(args, "level_layers", "2,1")
    args.query_projection = getattr(args, "query_projection", "linear")
    args.encoder_embed_dim = getattr(args, "encoder_embed_dim", 192)
    args.encoder_ffn_embed_dim = getattr(args, "encoder_ffn_embed_dim", 384)
    args.encoder_normalize_before = getattr(args, "encoder_normalize_before", True)
    args.decoder_normalize_before = getattr(args, "decoder_normalize_before", True)
