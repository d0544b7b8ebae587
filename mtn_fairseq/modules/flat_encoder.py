"""A stock Transformer encoder over the flat source."""

from typing import Any, Sequence

import torch
from torch import Tensor

from .encoded import Encoded, SessionEncoder
from .flat_source import flat_source
from .packed_attention import AttentionPlan, Grid, position_in_row
from .packed_layers import PackedEncoder
from .session_layout import SessionLayout


class FlatEncoder(SessionEncoder, PackedEncoder):
    """Reads the whole session with its separators, or its last query only.

    Args:
        others: see `PackedEncoder`
        separators: dictionary indices of `<q>`, `<session>`, …
        source_context: `session` or `last`
    """

    def __init__(self, *others: Any, separators: Sequence[int], source_context: str) -> None:
        super().__init__(*others)
        self.separators = list(separators)
        self.source_context = source_context

    def encode_sources(self, src_tokens: Tensor) -> Encoded:
        """(B, T) -> the code of each token that is read"""
        source = self.source(src_tokens)
        layout = SessionLayout(source, self.separators, self.padding_idx)
        length = layout.tokens_exist.sum(1)
        grid = Grid.of(layout.token_source, len(source))
        exists = grid.pad(torch.ones_like(layout.token_source, dtype=torch.bool), False)
        position = position_in_row(layout.token_source, length)
        plan = AttentionPlan(grid, grid, exists.unsqueeze(1))
        return Encoded(self.encode(source[layout.tokens_exist], position, plan), layout)

    def source(self, src_tokens: Tensor) -> Tensor:
        """(B, T) -> (B, T'): the part that is read."""
        return flat_source(src_tokens, self.source_context, self.separators, self.padding_idx)

    def copyable(self, src_tokens: Tensor, encoded: Encoded) -> Sequence[Tensor]:
        codes = encoded.layout.flat(encoded.codes)
        return self.columns.copyable_flat(src_tokens, self.source(src_tokens), codes)
