"""Attention among tokens that are kept in one long row, with no padding between them.

In a batch of short queries half of all places may be padding. Everything in a Transformer layer
but attention treats each token by itself, so a layer can be given the real tokens only, (n, 1, C).
`PackedAttention` alone needs to know which of them stand together; it is told by an `AttentionPlan`
in the place of the padding mask, which fairseq's layers pass on untouched.
"""

from typing import NamedTuple, Optional, Tuple, Union

import torch
from fairseq.modules import MultiheadAttention
from torch import Tensor
from torch.nn import functional as F


class Grid(NamedTuple):
    """Where packed tokens stand when laid out in rows of equal length."""

    rows: int
    length: int
    place: Tensor  # (n,) counted over all rows

    @classmethod
    def of(cls, row: Tensor, rows: int) -> "Grid":
        """(n,) row of each token, never falling -> tokens of one row side by side, in order."""
        count = torch.bincount(row, minlength=rows)
        length = int(count.max())
        column = torch.arange(len(row), device=row.device) - (count.cumsum(0) - count)[row]
        return cls(rows, length, row * length + column)

    def lay_out(self, tokens: Tensor, fill: float = 0) -> Tensor:
        """(n, …) -> (rows, length, …)"""
        places = tokens.new_full((self.rows * self.length, *tokens.shape[1:]), fill)
        return places.index_copy(0, self.place, tokens).unflatten(0, (self.rows, self.length))

    def pick_up(self, places: Tensor) -> Tensor:
        """(rows, length, …) -> (n, …)"""
        return places.flatten(0, 1)[self.place]


class AttentionPlan(NamedTuple):
    """Who sees whom.

    A place without a token must see something too, or its softmax, though never read, is no number.
    """

    asking: Grid
    asked: Grid
    visible: Tensor  # (rows, places of asking, places of asked)


class PackedAttention(MultiheadAttention):
    """fairseq's attention, with the same parameters, also for packed tokens."""

    def forward(
        self,
        query: Tensor,
        key: Optional[Tensor],
        value: Optional[Tensor],
        key_padding_mask: Union[AttentionPlan, Tensor, None] = None,
        **options: object,
    ) -> Tuple[Tensor, Optional[Tensor]]:
        if not isinstance(key_padding_mask, AttentionPlan):
            return super().forward(query, key, value, key_padding_mask, **options)
        plan = key_padding_mask
        mixed = attend(
            self._heads(plan.asking, self.q_proj(query)),
            self._heads(plan.asked, self.k_proj(key)),
            self._heads(plan.asked, self.v_proj(value)),
            plan.visible.unsqueeze(1),
            self.dropout_module.p if self.training else 0.0,
        )
        return self.out_proj(
            plan.asking.pick_up(mixed.transpose(1, 2).flatten(2)).unsqueeze(1)
        ), None

    def _heads(self, grid: Grid, tokens: Tensor) -> Tensor:
        """(n, 1, C) -> (rows, H, length, C/H)"""
        return grid.lay_out(tokens.squeeze(1)).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


def attend(
    queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor, dropout: float
) -> Tensor:
    """softmax(Q Kᵀ / √d) V, by torch's fused kernel where there is one (torch >= 2)."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(queries, keys, values, visible, dropout)
    weights = (queries @ keys.transpose(-2, -1)) * queries.size(-1) ** -0.5
    weights = weights.masked_fill(~visible, float("-inf")).softmax(-1)
    return F.dropout(weights, dropout) @ values
