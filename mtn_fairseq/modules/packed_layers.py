"""fairseq's Transformer encoder and decoder, for packed tokens (see `packed_attention`)."""

from typing import Any, Callable, Dict, Optional, Tuple, Union

from fairseq.distributed import fsdp_wrap
from fairseq.models.transformer import (
    TransformerConfig,
    TransformerDecoderBase,
    TransformerEncoderBase,
)
from fairseq.modules.checkpoint_activations import checkpoint_wrapper
from fairseq.modules.transformer_layer import (
    TransformerDecoderLayerBase,
    TransformerEncoderLayerBase,
)
from torch import Tensor, nn

from ..data.spelled_words import as_read_by_embeddings
from .encoded import Encoded, EncoderOut
from .packed_attention import AttentionPlan, IncrementalState, PackedAttention
from .target_plans import TargetPlan, plan_next, plan_targets

_FAST_PATH_WEIGHTS = [
    f"{part}_{kind}"
    for part in ("in_proj", "out_proj", "fc1", "fc2")
    for kind in ("weight", "bias")
]


class EncoderLayer(TransformerEncoderLayerBase):
    """fairseq's encoder layer, for packed tokens.

    fairseq 0.12.2 keeps a second copy of all weights as parameters. Without it, checkpoints are the
    same in both versions of fairseq.
    """

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__(cfg)
        for name in _FAST_PATH_WEIGHTS:
            self._parameters.pop(name, None)

    # fairseq 0.12.2 overrides this method to fill the second copy.
    _load_from_state_dict = nn.Module._load_from_state_dict

    def forward(self, x: Tensor, plan: AttentionPlan) -> Tensor:
        """(n, C) -> (n, C)"""
        x = _residual(self, self.self_attn_layer_norm, x, lambda y: self.self_attn(y, y, plan)[0])
        return _feed_forward(self, x)

    def build_self_attention(self, embed_dim: int, cfg: TransformerConfig) -> nn.Module:
        return PackedAttention(
            embed_dim,
            cfg.encoder.attention_heads,
            dropout=cfg.attention_dropout,
            self_attention=True,
            q_noise=self.quant_noise,
            qn_block_size=self.quant_noise_block_size,
        )


class DecoderLayer(TransformerDecoderLayerBase):
    """fairseq's decoder layer, for packed tokens."""

    def forward(
        self,
        x: Tensor,
        codes: Tensor,
        among_targets: AttentionPlan,
        to_source: AttentionPlan,
        incremental_state: Optional[IncrementalState] = None,
        need_weights: bool = False,
    ) -> Tuple[Tensor, Optional[Tensor]]:
        """x (R, C), codes (n, C) -> (R, C) and the attention weights over the codes."""
        weights = None

        def attend_to_targets(y: Tensor) -> Tensor:
            return self.self_attn(y, y, among_targets, incremental_state)[0]

        def attend_to_source(y: Tensor) -> Tensor:
            nonlocal weights
            y, weights = self.encoder_attn(y, codes, to_source, incremental_state, need_weights)
            return y

        x = _residual(self, self.self_attn_layer_norm, x, attend_to_targets)
        x = _residual(self, self.encoder_attn_layer_norm, x, attend_to_source)
        return _feed_forward(self, x), weights

    def build_self_attention(
        self, embed_dim: int, cfg: TransformerConfig, **unused: object
    ) -> nn.Module:
        return self._attention(embed_dim, cfg, self_attention=True)

    def build_encoder_attention(self, embed_dim: int, cfg: TransformerConfig) -> nn.Module:
        return self._attention(
            embed_dim,
            cfg,
            kdim=cfg.encoder.embed_dim,
            vdim=cfg.encoder.embed_dim,
            encoder_decoder_attention=True,
        )

    def _attention(
        self, embed_dim: int, cfg: TransformerConfig, **options: Union[int, bool]
    ) -> nn.Module:
        return PackedAttention(
            embed_dim,
            cfg.decoder.attention_heads,
            dropout=cfg.attention_dropout,
            q_noise=self.quant_noise,
            qn_block_size=self.quant_noise_block_size,
            **options,
        )


class PackedEncoder(TransformerEncoderBase):
    def build_encoder_layer(self, cfg: TransformerConfig) -> nn.Module:
        return _wrapped(EncoderLayer(cfg), cfg)

    def encode(self, tokens: Tensor, position: Tensor, plan: AttentionPlan) -> Tensor:
        """tokens (n,) at position (n,) -> codes (n, C)"""
        tokens = as_read_by_embeddings(tokens, self.dictionary)
        x = _at_positions(self, self.embed_scale * self.embed_tokens(tokens), position)
        if self.quant_noise is not None:
            x = self.quant_noise(x)
        for layer in self.layers:
            x = layer(x, plan)
        return x if self.layer_norm is None else self.layer_norm(x)


class PackedDecoder(TransformerDecoderBase):
    """fairseq's decoder, with an optional pointer that copies words of the source."""

    codes_once_per_session = True  # in beam search, all hypotheses of a session share its codes

    def __init__(self, *others: Any, **options: Any) -> None:
        super().__init__(*others, **options)
        self.pointer: Any = None

    def build_decoder_layer(
        self, cfg: TransformerConfig, no_encoder_attn: bool = False
    ) -> nn.Module:
        return _wrapped(DecoderLayer(cfg, no_encoder_attn), cfg)

    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Union[Encoded, EncoderOut],
        incremental_state: Optional[IncrementalState] = None,
        features_only: bool = False,
        target_rows: Optional[Tensor] = None,
        packed: bool = False,
        need_weights: bool = True,
        **unused: object,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """prev_output_tokens (P, T') -> logits (P, T', V), (R, V) if packed.

        Args:
            encoder_out: of one source per target; of fewer sources with `target_rows`, or with a
                state, where a source may have several consecutive hypotheses
            incremental_state: state of all tokens but the last; logits are then (P, 1, V)
            features_only: return the features that the output layer would read
            target_rows: (P,) the query that each target follows, counted over the batch, sorted;
                default: the last query of each source
            packed: return logits of real tokens only
            need_weights: with a state, return the attention weights of the last layer, unless its
                `need_attn` is off
        """
        real = prev_output_tokens.ne(self.padding_idx)
        if incremental_state is None or isinstance(encoder_out, Encoded):
            tokens, plan = prev_output_tokens[real], plan_targets(encoder_out, real, target_rows)
            need_weights = False
        else:
            tokens, (count, length) = prev_output_tokens[:, -1], prev_output_tokens.shape
            plan = plan_next(encoder_out, count, length - 1)
            need_weights = need_weights and self.layers[-1].need_attn
        features, weights = self.decode(tokens, plan, incremental_state, need_weights)
        copying = self._copying(features, plan, incremental_state)
        extra: Dict[str, Any] = {"attn": [weights], "copying": copying}
        if packed:
            extra["real_positions"] = real
        elif incremental_state is not None:
            features = features.unsqueeze(1)
        else:
            features = in_places(features, real)
            extra["copying"] = copying and copying.map(lambda part: in_places(part, real))
        return (features if features_only else self.output_layer(features)), extra

    def decode(
        self,
        tokens: Tensor,
        plan: TargetPlan,
        incremental_state: Optional[IncrementalState] = None,
        need_weights: bool = False,
    ) -> Tuple[Tensor, Optional[Tensor]]:
        """tokens (R,) -> features (R, C) and attention weights of the last layer"""
        tokens = as_read_by_embeddings(tokens, self.dictionary)
        x, weights = self.embed_scale * self.embed_tokens(tokens), None
        if self.quant_noise is not None:  # before the positions, unlike in fairseq's encoder
            x = self.quant_noise(x)
        x = _at_positions(self, x, plan.position)
        for layer in self.layers:
            x, weights = layer(
                x,
                plan.codes,
                plan.among_targets,
                plan.to_source,
                incremental_state,
                need_weights and layer is self.layers[-1],
            )
        if weights is not None:
            weights = weights.flatten(0, 1).unsqueeze(1)  # (B, R / B, T) -> (R, 1, T)
        return (x if self.layer_norm is None else self.layer_norm(x)), weights

    def _copying(
        self, features: Tensor, plan: TargetPlan, incremental_state: Optional[IncrementalState]
    ) -> Any:
        """The pointer's output, if there is a pointer: (R, …); with a state (B, R / B, …)"""
        if self.pointer is None:
            return None
        grid = plan.to_source.query
        newest = None if plan.newest is None else grid.pad(plan.newest)
        copying = self.pointer(grid.pad(features), plan.copyable, newest, incremental_state)
        return copying if incremental_state is not None else copying.each_position().map(grid.unpad)


def in_places(packed: Tensor, real: Tensor) -> Tensor:
    """(R, …) -> (P, T', …); zeros at padding."""
    places = packed.new_zeros(*real.shape, *packed.shape[1:])
    places[real] = packed
    return places


Layer = Union[EncoderLayer, DecoderLayer]


def _residual(
    layer: Layer, norm: nn.Module, x: Tensor, sublayer: Callable[[Tensor], Tensor]
) -> Tensor:
    """x + sublayer(x), with the norm before the sublayer or after the sum"""
    y = x + layer.dropout_module(sublayer(norm(x) if layer.normalize_before else x))
    return y if layer.normalize_before else norm(y)


def _feed_forward(layer: Layer, x: Tensor) -> Tensor:
    def network(y: Tensor) -> Tensor:
        return layer.fc2(layer.activation_dropout_module(layer.activation_fn(layer.fc1(y))))

    return _residual(layer, layer.final_layer_norm, x, network)


def _wrapped(layer: nn.Module, cfg: TransformerConfig) -> nn.Module:
    """Wrap a layer as fairseq's builders do."""
    if cfg.checkpoint_activations:
        layer = checkpoint_wrapper(layer, offload_to_cpu=cfg.offload_activations)
    return fsdp_wrap(
        layer, min_num_params=0 if cfg.checkpoint_activations else cfg.min_params_to_wrap
    )


def _at_positions(
    part: Union[TransformerEncoderBase, TransformerDecoderBase], x: Tensor, position: Tensor
) -> Tensor:
    """(n, C), (n,) -> (n, C): positions, norm and dropout as in fairseq's encoder and decoder."""
    if part.embed_positions is not None:
        # fairseq derives positions from a row of tokens, so pass a row of the greatest length.
        row = position.new_full((1, int(position.max()) + 1), part.padding_idx + 1)
        x = x + part.embed_positions(row).squeeze(0)[position]
    if part.layernorm_embedding is not None:
        x = part.layernorm_embedding(x)
    return part.dropout_module(x)
