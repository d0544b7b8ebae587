"""Attention among tokens that are kept in one long row, with no padding between them.

In a batch of short queries half of all places may be padding. Everything in a Transformer layer
but attention treats each token by itself, so a layer is given the real tokens only, (n, C).
Attention alone needs to know which of them stand together: an `AttentionPlan` goes through the
layers beside the tokens.
"""

from typing import Dict, NamedTuple, Optional, Tuple

import torch
from fairseq.modules import MultiheadAttention
from torch import Tensor
from torch.nn import functional as F

IncrementalState = Dict[str, Dict[str, Optional[Tensor]]]


class Grid(NamedTuple):
    """Where packed tokens stand when padded to rows of equal length."""

    rows: int
    length: int
    place: Optional[Tensor] = None  # (n,) counted over all rows; None where no place is empty

    @classmethod
    def of(cls, row: Tensor, rows: int) -> "Grid":
        """(n,) row of each token, never falling -> tokens of one row side by side, in order."""
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
    """(n,) row of each token, never falling, and the tokens of each row -> (n,)"""
    return torch.arange(len(row), device=row.device) - (count.cumsum(0) - count)[row]


class AttentionPlan(NamedTuple):
    """Which tokens see which.

    A place without a token must see something too, or its softmax, though never read, is no number.
    """

    query: Grid
    key: Grid
    visible: Optional[Tensor]  # (rows, places of queries or 1, places of keys); None: all of them


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
        """query (n, C), key (m, C) -> (n, C), and what weighs the keys: (rows, queries, keys).

        Args:
            incremental_state: has keys and values of earlier tokens, as fairseq's attention keeps
                and reorders them; those of a source are read once
            need_weights: the mean of all heads; None if not needed
        """
        keys, values = self._keys_and_values(key, plan.key, incremental_state)
        visible = None if plan.visible is None else plan.visible.unsqueeze(1)
        queries = self._heads(plan.query, self.q_proj(query))
        mixed = attend(queries, keys, values, visible, self._dropout)
        mixed = self.out_proj(plan.query.unpad(mixed.transpose(1, 2).flatten(2)))
        return mixed, weights(queries, keys, visible).mean(1) if need_weights else None

    @property
    def once_per_session(self) -> bool:
        """Whether its state is of a source, for all hypotheses of it."""
        return self.encoder_decoder_attention

    def _keys_and_values(
        self, key: Tensor, grid: Grid, state: Optional[IncrementalState]
    ) -> Tuple[Tensor, Tensor]:
        """(m, C) -> (rows, H, length, C/H), behind those that the state has."""
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
        """Also outside training, if fairseq-generate is told to --retain-dropout."""
        dropping = self.training or self.dropout_module.apply_during_inference
        return self.dropout_module.p if dropping else 0.0

    def _heads(self, grid: Grid, tokens: Tensor) -> Tensor:
        """(n, C) -> (rows, H, length, C/H)"""
        return grid.pad(tokens).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


def attend(
    queries: Tensor, keys: Tensor, values: Tensor, visible: Optional[Tensor], dropout: float
) -> Tensor:
    """softmax(Q Kᵀ / √d) V, by torch's fused kernel where there is one (torch >= 2)."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(queries, keys, values, visible, dropout)
    return F.dropout(weights(queries, keys, visible), dropout) @ values


def weights(queries: Tensor, keys: Tensor, visible: Optional[Tensor]) -> Tensor:
    """softmax(Q Kᵀ / √d)"""
    scores = (queries @ keys.transpose(-2, -1)) * queries.size(-1) ** -0.5
    return (scores if visible is None else scores.masked_fill(~visible, float("-inf"))).softmax(-1)
