"""Attention over packed tokens: one long row without padding.

In a batch of short queries half of all positions may be padding. Except for attention, a
Transformer layer treats each token separately, so it receives the real tokens only, (n, C).
Attention must know which tokens belong together: each layer also receives an `AttentionPlan`.
"""

from typing import Dict, NamedTuple, Optional, Tuple

import torch
from fairseq.modules import MultiheadAttention
from torch import Tensor
from torch.nn import functional as F

IncrementalState = Dict[str, Dict[str, Optional[Tensor]]]


class Grid(NamedTuple):
    """Positions of packed tokens after padding to rows of equal length."""

    rows: int
    length: int
    place: Optional[Tensor] = None  # (n,) counted over all rows; None if there is no padding

    @classmethod
    def of(cls, row: Tensor, rows: int) -> "Grid":
        """Sorted row (n,) of each token -> a grid with the tokens of a row in their order."""
        count = torch.bincount(row, minlength=rows)
        length = int(count.max())
        if len(row) == rows * length:
            return cls(rows, length)
        return cls(rows, length, row * length + position_in_row(row, count))

    def pad(self, tokens: Tensor, value: float = 0) -> Tensor:
        """(n, …) -> (rows, length, …)"""
        if self.place is not None:
            places = tokens.new_full((self.rows * self.length, *tokens.shape[1:]), value)
            tokens = places.index_copy(0, self.place, tokens)
        return tokens.unflatten(0, (self.rows, self.length))

    def unpad(self, places: Tensor) -> Tensor:
        """(rows, length, …) -> (n, …)"""
        places = places.flatten(0, 1)
        return places if self.place is None else places[self.place]


def position_in_row(row: Tensor, count: Tensor) -> Tensor:
    """Sorted row (n,) of each token, number of tokens per row -> position in the row (n,)"""
    return torch.arange(len(row), device=row.device) - (count.cumsum(0) - count)[row]


class AttentionPlan(NamedTuple):
    """The attention mask of packed tokens.

    Padding must attend to something, too: otherwise its softmax, though never read, is NaN.
    """

    query: Grid
    key: Grid
    visible: Optional[Tensor]  # (rows, query positions or 1, key positions); None: all visible


class PackedAttention(MultiheadAttention):
    """fairseq's attention, with the same parameters, for packed tokens."""

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        plan: AttentionPlan,
        incremental_state: Optional[IncrementalState] = None,
        need_weights: bool = False,
    ) -> Tuple[Tensor, Optional[Tensor]]:
        """query (n, C), key (m, C) -> (n, C) and attention weights (rows, queries, keys).

        Args:
            incremental_state: keys and values of earlier tokens, kept and reordered as in fairseq's
                attention; those of a source are computed once
            need_weights: return the weights, averaged over heads; otherwise None
        """
        keys, values = self._keys_and_values(key, plan.key, incremental_state)
        visible = None if plan.visible is None else plan.visible.unsqueeze(1)
        queries = self._heads(plan.query, self.q_proj(query))
        mixed = attend(queries, keys, values, visible, self._dropout)
        mixed = self.out_proj(plan.query.unpad(mixed.transpose(1, 2).flatten(2)))
        return mixed, weights(queries, keys, visible).mean(1) if need_weights else None

    @property
    def once_per_session(self) -> bool:
        """Whether all hypotheses of a source share one state."""
        return self.encoder_decoder_attention

    def _keys_and_values(
        self, key: Tensor, grid: Grid, state: Optional[IncrementalState]
    ) -> Tuple[Tensor, Tensor]:
        """(m, C) -> (rows, H, length, C/H), appended to those of the state."""
        kept = {} if state is None else self._get_input_buffer(state)
        if kept and not self.self_attention:
            return kept["prev_key"], kept["prev_value"]
        keys, values = (self._heads(grid, project(key)) for project in (self.k_proj, self.v_proj))
        if kept:
            keys = torch.cat([kept["prev_key"], keys], 2)
            values = torch.cat([kept["prev_value"], values], 2)
        if state is not None:
            self._set_input_buffer(state, {"prev_key": keys, "prev_value": values})
        return keys, values

    @property
    def _dropout(self) -> float:
        """Not zero outside training, if fairseq-generate runs with --retain-dropout."""
        dropping = self.training or self.dropout_module.apply_during_inference
        return self.dropout_module.p if dropping else 0.0

    def _heads(self, grid: Grid, tokens: Tensor) -> Tensor:
        """(n, C) -> (rows, H, length, C/H)"""
        return grid.pad(tokens).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


def attend(
    queries: Tensor, keys: Tensor, values: Tensor, visible: Optional[Tensor], dropout: float
) -> Tensor:
    """softmax(Q Kᵀ / √d) V, with torch's fused kernel if there is one (torch >= 2)."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(queries, keys, values, visible, dropout)
    return F.dropout(weights(queries, keys, visible), dropout) @ values


def weights(queries: Tensor, keys: Tensor, visible: Optional[Tensor]) -> Tensor:
    """softmax(Q Kᵀ / √d)"""
    scores = (queries @ keys.transpose(-2, -1)) * queries.size(-1) ** -0.5
    return (scores if visible is None else scores.masked_fill(~visible, float("-inf"))).softmax(-1)
