"""A stock Transformer encoder over the flat source."""

from typing import Any, Dict, List, Optional, Sequence

import torch
from torch import Tensor

from ..data.spelled_words import as_read_by_embeddings
from .copyable_words import Columns, Copyable, with_copyable
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
        self.columns: Optional[Columns] = None  # of what a decoder copies

    def forward(
        self, src_tokens: Tensor, src_lengths: Optional[Tensor] = None, **others: Any
    ) -> Dict[str, List[Tensor]]:
        source = self.source(src_tokens)
        tokens = as_read_by_embeddings(source, self.dictionary)
        encoder_out = super().forward(tokens, tokens.ne(self.padding_idx).sum(1), **others)
        copyable = self.copyable(src_tokens, source, encoder_out["encoder_out"][0].transpose(0, 1))
        if copyable is not None:
            encoder_out["copyable"] = list(copyable)
        return encoder_out

    def source(self, src_tokens: Tensor) -> Tensor:
        """(B, T) -> (B, T'): what is read of it."""
        return flat_source(src_tokens, self.source_context, self.separators, self.padding_idx)

    def copyable(self, src_tokens: Tensor, source: Tensor, codes: Tensor) -> Optional[Copyable]:
        """src_tokens (B, T), what is read of them (B, T'), and its codes (B, T', C)."""
        if self.columns is None:
            return None
        return Copyable.flat(codes, source, self.columns.of_part(src_tokens, source))

    def reorder_encoder_out(
        self, encoder_out: Dict[str, List[Tensor]], new_order: Tensor
    ) -> Dict[str, List[Tensor]]:
        reordered = super().reorder_encoder_out(encoder_out, new_order)
        return with_copyable(reordered, encoder_out, new_order)

    def encode_sources(self, source: Tensor, layout: SessionLayout) -> Tensor:
        """(B, T) -> (n, C): the code of each real token."""
        grid = Grid.of(layout.token_source, len(source))
        position = grid.place - layout.token_source * grid.length
        exists = grid.lay_out(torch.ones_like(position, dtype=torch.bool), False)
        everyone = exists.unsqueeze(1).expand(-1, grid.length, -1)
        plan = AttentionPlan(grid, grid, everyone)
        return self.encode(source[layout.tokens_exist], position, plan)
