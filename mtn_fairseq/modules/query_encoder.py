"""The level-1 encoder: fairseq's own Transformer encoder, one query a row."""

from fairseq.models.transformer import TransformerConfig, TransformerEncoderBase
from torch import nn


class QueryEncoder(TransformerEncoderBase):
    """Also the maker of the layers of every level, so that all are of one kind."""

    def build_encoder_layer(self, cfg: TransformerConfig) -> nn.Module:
        layer = super().build_encoder_layer(cfg)
        # fairseq 0.12.2 has a fast path, taken in eval mode only, that drops attention masks: a
        # masked level would train well and leak later queries at generation.
        layer.can_use_fastpath = False
        return layer
