"""`mtn`: Multiresolution Transformer Network, of any number of levels."""

from argparse import Namespace
from dataclasses import dataclass, field, fields
from math import prod
from typing import Dict, List, NamedTuple, Optional, Tuple

from fairseq import utils
from fairseq.data import Dictionary
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.models import (
    FairseqEncoderDecoderModel,
    register_model,
    register_model_architecture,
)
from fairseq.models.transformer import Embedding, Linear, TransformerConfig, TransformerDecoderBase
from fairseq.modules import LayerNorm
from fairseq.tasks import FairseqTask
from omegaconf import II
from torch import Tensor, nn

from ..errors import InputError
from ..flags import one_int_per_level
from ..modules.masked_level import MaskedLevel, UnitPositions
from ..modules.mtn_encoder import MTNEncoder
from ..modules.query_encoder import QueryEncoder
from ..modules.unit_projection import LinearProjection, VectorProjection
from .checkpoints import refuse_foreign_checkpoint


@dataclass
class MTNConfig(FairseqDataclass):
    level_layers: str = field(
        default="3,2",
        metadata={
            "help": "Transformer layers of each level, bottom up: over the tokens of a query, over "
            "queries, over sessions, …; as many levels as numbers"
        },
    )
    level_sizes: str = II("task.level_sizes")
    query_projection: ChoiceEnum(["linear", "vector"]) = field(  # type: ignore[valid-type]
        default="linear",
        metadata={
            "help": "how the parts of a unit become one vector: 'linear' maps all n x C numbers to "
            "C, 'vector' mixes the n part vectors by n weights"
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
    encoder_embed_dim: int = field(
        default=256, metadata={"help": "channels C, of every level and of the decoder"}
    )
    encoder_ffn_embed_dim: int = field(
        default=512, metadata={"help": "feed-forward channels of every encoder level"}
    )
    encoder_attention_heads: int = field(
        default=4, metadata={"help": "attention heads of every encoder level"}
    )
    encoder_normalize_before: bool = field(
        default=False, metadata={"help": "apply layer norm before each encoder block (pre-norm)"}
    )
    encoder_learned_pos: bool = field(
        default=False, metadata={"help": "learned instead of sinusoidal positions in all levels"}
    )
    encoder_layerdrop: float = field(
        default=0.0, metadata={"help": "LayerDrop probability in the query encoder"}
    )
    encoder_embed_path: Optional[str] = field(
        default=None, metadata={"help": "path to pre-trained embeddings"}
    )
    decoder_layers: Optional[int] = field(
        default=None, metadata={"help": "decoder layers (default: as many as the query encoder)"}
    )
    decoder_ffn_embed_dim: Optional[int] = field(
        default=None, metadata={"help": "feed-forward channels (default: as the encoder)"}
    )
    decoder_attention_heads: Optional[int] = field(
        default=None, metadata={"help": "attention heads (default: as the encoder)"}
    )
    decoder_normalize_before: bool = field(
        default=False, metadata={"help": "apply layer norm before each decoder block (pre-norm)"}
    )
    decoder_learned_pos: bool = field(
        default=False, metadata={"help": "learned instead of sinusoidal positions in the decoder"}
    )
    decoder_layerdrop: float = field(
        default=0.0, metadata={"help": "LayerDrop probability in the decoder"}
    )
    dropout: float = field(default=0.1, metadata={"help": "dropout probability"})
    attention_dropout: float = field(
        default=0.0, metadata={"help": "dropout probability for attention weights"}
    )
    activation_dropout: float = field(
        default=0.0, metadata={"help": "dropout probability after the feed-forward activation"}
    )
    activation_fn: ChoiceEnum(  # type: ignore[valid-type]
        utils.get_available_activation_fns()
    ) = field(default="relu", metadata={"help": "feed-forward activation"})
    share_decoder_input_output_embed: bool = field(
        default=False,
        metadata={"help": "tie the output layer to the embedding (then it has no bias)"},
    )
    adaptive_softmax_cutoff: Optional[List[int]] = field(
        default=None,
        metadata={"help": "cutoff points for an adaptive softmax; use --criterion adaptive_loss"},
    )
    adaptive_softmax_dropout: float = field(
        default=0.0, metadata={"help": "dropout of the adaptive softmax's tail projections"}
    )
    adaptive_softmax_factor: float = field(
        default=4, metadata={"help": "by how much each tail of the adaptive softmax shrinks"}
    )
    no_token_positional_embeddings: bool = field(
        default=False, metadata={"help": "no positions at any level"}
    )
    layernorm_embedding: bool = field(
        default=False, metadata={"help": "layer norm on the embeddings"}
    )
    no_scale_embedding: bool = field(
        default=False, metadata={"help": "do not scale embeddings by sqrt(C)"}
    )
    checkpoint_activations: bool = field(
        default=False,
        metadata={"help": "recompute activations in the backward pass to save memory"},
    )
    offload_activations: bool = field(
        default=False, metadata={"help": "as --checkpoint-activations, kept in CPU memory"}
    )
    quant_noise_pq: float = field(
        default=0.0, metadata={"help": "iterative PQ quantization noise at training time"}
    )
    quant_noise_pq_block_size: int = field(
        default=8, metadata={"help": "block size of quantization noise at training time"}
    )
    max_source_positions: int = II("task.max_source_positions")
    max_target_positions: int = II("task.max_target_positions")


@register_model("mtn", dataclass=MTNConfig)
class MTNModel(FairseqEncoderDecoderModel):
    """A Transformer over the tokens of each query, masked ones above it, and one decoder."""

    @classmethod
    def build_model(cls, cfg: MTNConfig, task: FairseqTask) -> "MTNModel":
        layers, sizes = _levels(cfg)
        separators = getattr(task, "separators", None)
        if separators is None:
            raise InputError(
                "mtn reads the separators of session data", "train with --task session_to_query"
            )
        if len(layers) - 1 > len(separators):
            raise InputError(
                f"--level-layers {cfg.level_layers} asks for {len(layers)} levels, the dictionary "
                f"has separators for {len(separators) + 1}",
                "use fewer levels, or prepare data with more",
            )
        transformer = _transformer_config(cfg, query_layers=layers[0], query_size=sizes[0])
        embedding = Embedding(
            len(task.source_dictionary), cfg.encoder_embed_dim, task.source_dictionary.pad()
        )
        if cfg.encoder_embed_path:
            pretrained = utils.parse_embedding(cfg.encoder_embed_path)
            utils.load_embedding(pretrained, task.source_dictionary, embedding)
        query_encoder = QueryEncoder(transformer, task.source_dictionary, embedding)
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
        decoder = TransformerDecoderBase(
            transformer,
            task.target_dictionary,
            embedding,
            output_projection=_output_layer(cfg, task.target_dictionary),
        )
        return cls(encoder, decoder)

    def load_state_dict(
        self,
        state_dict: Dict[str, Tensor],
        strict: bool = True,
        model_cfg: Optional[MTNConfig] = None,
        args: Optional[Namespace] = None,
    ) -> NamedTuple:
        if strict:
            refuse_foreign_checkpoint(self, state_dict)
        return super().load_state_dict(state_dict, strict, model_cfg, args)


def _levels(cfg: MTNConfig) -> Tuple[List[int], List[int]]:
    """Layers and largest unit of each level, bottom up."""
    layers = one_int_per_level(cfg.level_layers, "--level-layers")
    sizes = one_int_per_level(cfg.level_sizes, "--level-sizes")
    if len(layers) > len(sizes):
        raise InputError(
            f"{len(layers)} levels in --level-layers, {len(sizes)} in --level-sizes",
            "give a size for each level",
        )
    return layers, sizes


def _transformer_config(cfg: MTNConfig, query_layers: int, query_size: int) -> TransformerConfig:
    """The options as fairseq's own layers, encoder and decoder read them."""
    names = [option.name for option in fields(MTNConfig) if option.name != "_name"]
    options = Namespace(**{name: getattr(cfg, name) for name in names})
    options.encoder_layers = query_layers
    options.max_source_positions = query_size  # positions restart in each query
    options.decoder_layers = cfg.decoder_layers or query_layers
    options.decoder_ffn_embed_dim = cfg.decoder_ffn_embed_dim or cfg.encoder_ffn_embed_dim
    options.decoder_attention_heads = cfg.decoder_attention_heads or cfg.encoder_attention_heads
    options.decoder_embed_dim = cfg.encoder_embed_dim
    options.decoder_input_dim = options.decoder_output_dim = cfg.encoder_embed_dim
    options.checkpoint_activations |= cfg.offload_activations
    return TransformerConfig.from_namespace(options)


def _projection(cfg: MTNConfig, max_parts: int) -> nn.Module:
    if str(cfg.query_projection) == "vector":
        return VectorProjection(max_parts)
    return LinearProjection(max_parts, cfg.encoder_embed_dim)


def _upper_levels(
    cfg: MTNConfig,
    transformer: TransformerConfig,
    query_encoder: QueryEncoder,
    layers: List[int],
    sizes: List[int],
) -> nn.ModuleList:
    """The masked encoders of level 2 and up; no parameters shared between levels."""
    levels = nn.ModuleList()
    for level, depth in enumerate(layers[1:], 2):
        # The top level reads the whole source as one unit, so it also counts what deeper data has.
        units = sizes[level - 1] if level < len(layers) else prod(sizes[level - 1 :])
        positions = None
        if not cfg.no_token_positional_embeddings:
            positions = UnitPositions(units, cfg.encoder_embed_dim, cfg.encoder_learned_pos)
        levels.append(
            MaskedLevel(
                units,
                positions,
                nn.ModuleList(query_encoder.build_encoder_layer(transformer) for _ in range(depth)),
                heads=cfg.encoder_attention_heads,
                dropout=cfg.dropout,
                final_norm=_norm(cfg) if cfg.encoder_normalize_before else None,
            )
        )
    return levels


def _norm(cfg: MTNConfig) -> nn.Module:
    return LayerNorm(cfg.encoder_embed_dim)


def _norms(cfg: MTNConfig, layers: List[int]) -> nn.ModuleList:
    """One for each thing that a vector from above is added to."""
    upper = len(layers) - 1
    return nn.ModuleList(
        _norm(cfg) for _ in range(min(upper, 1) if str(cfg.add_back) == "top" else upper)
    )


def _output_layer(cfg: MTNConfig, dictionary: Dictionary) -> Optional[nn.Module]:
    """An output layer with weights and a bias of its own; None where fairseq builds it."""
    if cfg.share_decoder_input_output_embed or cfg.adaptive_softmax_cutoff is not None:
        return None
    layer = Linear(cfg.encoder_embed_dim, len(dictionary))
    nn.init.normal_(layer.weight, mean=0, std=cfg.encoder_embed_dim**-0.5)
    return layer


@register_model_architecture("mtn", "mtn_tiny")
def mtn_tiny(args: Namespace) -> None:
    """For tests and first steps: seconds on a laptop."""
    args.level_layers = getattr(args, "level_layers", "2,1")
    args.encoder_embed_dim = getattr(args, "encoder_embed_dim", 128)
    args.encoder_ffn_embed_dim = getattr(args, "encoder_ffn_embed_dim", 256)


@register_model_architecture("mtn", "mtn_aol")
def mtn_aol(args: Namespace) -> None:
    """The paper's size (Section 5.2)."""
    args.encoder_embed_dim = getattr(args, "encoder_embed_dim", 512)
    args.encoder_ffn_embed_dim = getattr(args, "encoder_ffn_embed_dim", 1024)
    args.encoder_attention_heads = getattr(args, "encoder_attention_heads", 8)


@register_model_architecture("mtn", "mtn_3level")
def mtn_3level(args: Namespace) -> None:
    """A third level, over the user's earlier sessions."""
    args.level_layers = getattr(args, "level_layers", "3,2,1")
