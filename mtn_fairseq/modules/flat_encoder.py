"""A stock Transformer encoder over the flat source."""

from typing import Any, Dict, List, Optional, Sequence

import torch
from torch import Tensor

from .flat_source import flat_source
from .packed_attention import AttentionPlan, Grid
from .packed_layers import PackedEncoder
from .session_layout import SessionLayout


class FlatEncoder(PackedEncoder):
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

    def forward(
        self, src_tokens: Tensor, src_lengths: Optional[Tensor] = None, **others: Any
    ) -> Dict[str, List[Tensor]]:
        tokens = self.source(src_tokens)
        return super().forward(tokens, tokens.ne(self.padding_idx).sum(1), **others)

    def source(self, src_tokens: Tensor) -> Tensor:
        """(B, T) -> (B, T): what is read of it."""
        return flat_source(src_tokens, self.source_context, self.separators, self.padding_idx)

    def encode_sources(self, source: Tensor, layout: SessionLayout) -> Tensor:
        """(B, T) -> (n, C): the code of each real token."""
        grid = Grid.of(layout.token_source, len(source))
        position = grid.place - layout.token_source * grid.length
        exists = grid.lay_out(torch.ones_like(position, dtype=torch.bool), False)
        everyone = exists.unsqueeze(1).expand(-1, grid.length, -1)
        plan = AttentionPlan(grid, grid, everyone)
        return self.encode(source[layout.tokens_exist], position, plan)
