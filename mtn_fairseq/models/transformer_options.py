"""What the Transformer models share: options, embedding, output layer."""

from argparse import Namespace
from dataclasses import dataclass, field, fields
from typing import List, Optional, Type

from fairseq import utils
from fairseq.data import Dictionary
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.models.transformer import Embedding, Linear, TransformerConfig
from omegaconf import II
from torch import nn

from ..copying.option import copy_option


@dataclass
class TransformerOptions(FairseqDataclass):
    encoder_embed_dim: int = field(
        default=256, metadata={"help": "channels C, of encoder and decoder, of every level"}
    )
    encoder_ffn_embed_dim: int = field(
        default=512, metadata={"help": "feed-forward channels of every encoder level"}
    )
    encoder_attention_heads: int = field(
        default=4, metadata={"help": "attention heads of every encoder level"}
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
    decoder_ffn_embed_dim: Optional[int] = field(
        default=None, metadata={"help": "feed-forward channels (default: as the encoder)"}
    )
    decoder_attention_heads: Optional[int] = field(
        default=None, metadata={"help": "attention heads (default: as the encoder)"}
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
    copy_attention: bool = copy_option()
    max_source_positions: int = II("task.max_source_positions")
    max_target_positions: int = II("task.max_target_positions")


def fairseq_options(
    kind: Type[TransformerOptions],
    cfg: TransformerOptions,
    encoder_layers: int,
    decoder_layers: int,
    **others: object,
) -> TransformerConfig:
    """The options in the form that fairseq's layers, encoder and decoder read.

    Args:
        kind: the class of the model's options; `cfg` may be any object with these attributes
        others: fields of fairseq's `TransformerConfig` that are not options of the model
    """
    names = [option.name for option in fields(kind) if option.name != "_name"]
    options = Namespace(**{name: getattr(cfg, name) for name in names})
    options.encoder_layers, options.decoder_layers = encoder_layers, decoder_layers
    options.decoder_ffn_embed_dim = cfg.decoder_ffn_embed_dim or cfg.encoder_ffn_embed_dim
    options.decoder_attention_heads = cfg.decoder_attention_heads or cfg.encoder_attention_heads
    options.decoder_embed_dim = cfg.encoder_embed_dim
    options.decoder_input_dim = options.decoder_output_dim = cfg.encoder_embed_dim
    options.checkpoint_activations |= cfg.offload_activations
    vars(options).update(others)
    return TransformerConfig.from_namespace(options)


def token_embedding(cfg: TransformerOptions, dictionary: Dictionary) -> nn.Embedding:
    """One embedding for source and target."""
    embedding = Embedding(len(dictionary), cfg.encoder_embed_dim, dictionary.pad())
    if cfg.encoder_embed_path:
        utils.load_embedding(utils.parse_embedding(cfg.encoder_embed_path), dictionary, embedding)
    return embedding


def output_layer(cfg: TransformerOptions, dictionary: Dictionary) -> Optional[nn.Module]:
    """An output layer with its own weights and bias; None if fairseq builds the output layer."""
    if cfg.share_decoder_input_output_embed or cfg.adaptive_softmax_cutoff is not None:
        return None
    layer = Linear(cfg.encoder_embed_dim, len(dictionary))
    nn.init.normal_(layer.weight, mean=0, std=cfg.encoder_embed_dim**-0.5)
    return layer
