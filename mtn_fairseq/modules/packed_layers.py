"""fairseq's Transformer encoder and decoder, also for packed tokens (see `packed_attention`)."""

from typing import Any, Dict, List, Optional, Tuple, Union

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
from .copyable_words import Copyable
from .packed_attention import AttentionPlan, IncrementalState, PackedAttention
from .pointer import Copying, Pointer
from .session_layout import SessionLayout
from .target_plans import plan_targets

_FAST_PATH_WEIGHTS = [
    f"{part}_{kind}"
    for part in ("in_proj", "out_proj", "fc1", "fc2")
    for kind in ("weight", "bias")
]


class EncoderLayer(TransformerEncoderLayerBase):
    """fairseq's layer without the fast path of 0.12.2.

    That path is taken in eval mode only and drops attention masks: a masked level would train well
    and leak later queries at generation. It also keeps a second copy of all weights as parameters;
    without them a checkpoint is the same on both versions of fairseq.
    """

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__(cfg)
        self.can_use_fastpath = False
        for name in _FAST_PATH_WEIGHTS:
            self._parameters.pop(name, None)

    # 0.12.2 overrides it to fill the second copy.
    _load_from_state_dict = nn.Module._load_from_state_dict

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
        x = x.unsqueeze(1)
        for layer in self.layers:
            x = layer(x, encoder_padding_mask=plan)
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        return x.squeeze(1)


class PackedDecoder(TransformerDecoderBase):
    """fairseq's, that may have a pointer to copy words of the source by."""

    keeps_codes = True  # in its state, from the first token on

    def __init__(self, *others: Any, **options: Any) -> None:
        super().__init__(*others, **options)
        self.pointer: Optional[Pointer] = None

    def build_decoder_layer(
        self, cfg: TransformerConfig, no_encoder_attn: bool = False
    ) -> nn.Module:
        return _wrapped(DecoderLayer(cfg, no_encoder_attn), cfg)

    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Optional[Dict[str, List[Tensor]]] = None,
        incremental_state: Optional[Dict[str, Dict[str, Optional[Tensor]]]] = None,
        features_only: bool = False,
        **others: Any,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        if self.pointer is None or encoder_out is None:
            return super().forward(
                prev_output_tokens, encoder_out, incremental_state, features_only, **others
            )
        tokens = as_read_by_embeddings(prev_output_tokens, self.dictionary)
        features, extra = super().forward(
            tokens, encoder_out, incremental_state, features_only=True, **others
        )
        extra["copying"] = self.pointer.point_next(features, encoder_out, incremental_state)
        return (features if features_only else self.output_layer(features)), extra

    def follow_beam(
        self, state: IncrementalState, rows: Tensor, sessions: Optional[Tensor]
    ) -> None:
        """The state of the hypotheses that go on; what is kept once a session stays with it.

        Args:
            rows: (R,) which hypotheses
            sessions: (B,) which sessions; None for all
        """
        for layer in self.layers:
            layer.self_attn.reorder_incremental_state(state, rows)
            if sessions is not None:
                layer.encoder_attn.reorder_incremental_state(state, sessions)
        if self.pointer is not None and sessions is not None:
            self.pointer.reorder_incremental_state(state, sessions)

    def decode_targets(
        self,
        prev_output_tokens: Tensor,
        codes: Tensor,
        layout: SessionLayout,
        target_rows: Optional[Tensor] = None,
        last_query_only: bool = False,
        copyable: Optional[Copyable] = None,
    ) -> Tuple[Tensor, Optional[Copying]]:
        """prev_output_tokens (P, T'), codes (n, C) -> features (R, C) of its R real tokens.

        Args:
            layout: of the sources, whose codes these are
            target_rows: (P,) which query, of all in the batch, each target follows; without it,
                the last of each source
            last_query_only: a target sees the codes of that query alone
            copyable: what the pointer points to
        """
        real = prev_output_tokens.ne(self.padding_idx)
        rows = layout.last_row if target_rows is None else target_rows
        plans = plan_targets(layout, real, rows, last_query_only)
        features = self.decode(prev_output_tokens[real], codes, *plans)
        if self.pointer is None or copyable is None:
            return features, None
        target, _ = real.nonzero(as_tuple=True)
        newest = (rows - layout.first_row[layout.query_source[rows]])[target]
        asking = plans.to_source.asking
        return features, self.pointer.point_packed(features, copyable, asking, newest)

    def decode(
        self,
        tokens: Tensor,
        codes: Tensor,
        position: Tensor,
        among_targets: AttentionPlan,
        to_source: AttentionPlan,
    ) -> Tensor:
        """tokens (R,) at position (R,), codes (n, C) -> features (R, C)"""
        tokens = as_read_by_embeddings(tokens, self.dictionary)
        x = self.embed_scale * self.embed_tokens(tokens)
        if self.quant_noise is not None:  # before the positions, unlike in fairseq's encoder
            x = self.quant_noise(x)
        x, codes = _at_positions(self, x, position).unsqueeze(1), codes.unsqueeze(1)
        for layer in self.layers:
            x, *_ = layer(x, codes, to_source, self_attn_padding_mask=among_targets)
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        return x.squeeze(1)


def _wrapped(layer: nn.Module, cfg: TransformerConfig) -> nn.Module:
    """As fairseq's own builders do."""
    if cfg.checkpoint_activations:
        layer = checkpoint_wrapper(layer, offload_to_cpu=cfg.offload_activations)
    return fsdp_wrap(
        layer, min_num_params=0 if cfg.checkpoint_activations else cfg.min_params_to_wrap
    )


def _at_positions(
    part: Union[TransformerEncoderBase, TransformerDecoderBase], x: Tensor, position: Tensor
) -> Tensor:
    """(n, C), (n,) -> (n, C): what fairseq's encoder and decoder do with embedded tokens."""
    if part.embed_positions is not None:
        # fairseq counts positions off a row of tokens; so count a row as long as the longest.
        row = position.new_full((1, int(position.max()) + 1), part.padding_idx + 1)
        x = x + part.embed_positions(row).squeeze(0)[position]
    if part.layernorm_embedding is not None:
        x = part.layernorm_embedding(x)
    return part.dropout_module(x)
