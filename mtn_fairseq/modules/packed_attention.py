"""Attention among tokens that are kept in one long row, with no padding between them.

In a batch of short queries half of all places may be padding. Everything in a Transformer layer
but attention treats each token by itself, so a layer can be given the real tokens only, (n, 1, C).
`PackedAttention` alone needs to know which of them stand together; it is told by an `AttentionPlan`
in the place of the padding mask, which fairseq's layers pass on untouched.
"""

from typing import Dict, NamedTuple, Optional, Tuple, Union

import torch
from fairseq.modules import MultiheadAttention
from torch import Tensor
from torch.nn import functional as F

IncrementalState = Dict[str, Dict[str, Optional[Tensor]]]


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
        if self.is_full:
            return tokens.unflatten(0, (self.rows, self.length))
        places = tokens.new_full((self.rows * self.length, *tokens.shape[1:]), fill)
        return places.index_copy(0, self.place, tokens).unflatten(0, (self.rows, self.length))

    def pick_up(self, places: Tensor) -> Tensor:
        """(rows, length, …) -> (n, …)"""
        return places.flatten(0, 1) if self.is_full else places.flatten(0, 1)[self.place]

    @property
    def is_full(self) -> bool:
        """Every place has a token, so they stand there already."""
        return len(self.place) == self.rows * self.length


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
        key: Tensor,
        value: Tensor,
        key_padding_mask: Union[AttentionPlan, Tensor, None] = None,
        incremental_state: Optional[IncrementalState] = None,
        need_weights: bool = True,
        **options: object,
    ) -> Tuple[Tensor, Optional[Tensor]]:
        if isinstance(key_padding_mask, AttentionPlan):
            return self._packed(query, key, value, key_padding_mask), None
        if incremental_state is not None and not need_weights and len(query) == 1:
            return self._next_token(query, key, key_padding_mask, incremental_state), None
        return super().forward(
            query, key, value, key_padding_mask, incremental_state, need_weights, **options
        )

    def _packed(self, query: Tensor, key: Tensor, value: Tensor, plan: AttentionPlan) -> Tensor:
        """(n, 1, C), (m, 1, C) -> (n, 1, C)"""
        mixed = attend(
            self._heads(plan.asking, self.q_proj(query)),
            self._heads(plan.asked, self.k_proj(key)),
            self._heads(plan.asked, self.v_proj(value)),
            plan.visible.unsqueeze(1),
            self._dropout,
        )
        return self.out_proj(plan.asking.pick_up(mixed.transpose(1, 2).flatten(2)).unsqueeze(1))

    def _next_token(
        self, query: Tensor, key: Tensor, hidden: Optional[Tensor], state: IncrementalState
    ) -> Tensor:
        """One more token of each hypothesis, (1, R, C) -> (1, R, C).

        The hypotheses of a session ask its codes together, as if they were tokens of one row.

        Args:
            key: (T, B, C) the codes, for attention to the source; read once
            hidden: (B, T) where there are none
            state: keys and values of what came before, as fairseq's attention keeps and reorders it
        """
        buffer = self._get_input_buffer(state)
        if self.self_attention:
            keys, values = self._split(self.k_proj(query), 1), self._split(self.v_proj(query), 1)
            if buffer:
                keys = torch.cat([buffer["prev_key"], keys], 2)
                values = torch.cat([buffer["prev_value"], values], 2)
            buffer = {"prev_key": keys, "prev_value": values}
        elif not buffer:
            keys, values = (
                projected.unflatten(-1, (self.num_heads, -1)).permute(1, 2, 0, 3)
                for projected in (self.k_proj(key), self.v_proj(key))
            )
            buffer = {"prev_key": keys, "prev_value": values, "prev_key_padding_mask": hidden}
        self._set_input_buffer(state, buffer)
        keys, values, hidden = (
            buffer.get(name) for name in ("prev_key", "prev_value", "prev_key_padding_mask")
        )
        visible = None if hidden is None else ~hidden[:, None, None]
        asking = self._split(self.q_proj(query), query.size(1) // len(keys))
        mixed = attend(asking, keys, values, visible, self._dropout)  # (B, H, R/B, C/H)
        return self.out_proj(mixed.transpose(1, 2).flatten(2).view_as(query))

    @property
    def _dropout(self) -> float:
        """Also outside training, if fairseq-generate is told to --retain-dropout."""
        dropping = self.training or self.dropout_module.apply_during_inference
        return self.dropout_module.p if dropping else 0.0

    def _split(self, tokens: Tensor, together: int) -> Tensor:
        """(1, R, C) -> (R / together, H, together, C/H)"""
        return tokens.view(-1, together, self.num_heads, self.head_dim).transpose(1, 2)

    def _heads(self, grid: Grid, tokens: Tensor) -> Tensor:
        """(n, 1, C) -> (rows, H, length, C/H)"""
        return grid.lay_out(tokens.squeeze(1)).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


def attend(
    queries: Tensor, keys: Tensor, values: Tensor, visible: Optional[Tensor], dropout: float
) -> Tensor:
    """softmax(Q Kᵀ / √d) V, by torch's fused kernel where there is one (torch >= 2)."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(queries, keys, values, visible, dropout)
    weights = (queries @ keys.transpose(-2, -1)) * queries.size(-1) ** -0.5
    if visible is not None:
        weights = weights.masked_fill(~visible, float("-inf"))
    return F.dropout(weights.softmax(-1), dropout) @ values
