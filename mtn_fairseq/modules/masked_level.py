"""A level above the query encoder: positions, then Transformer layers that mask later units."""

from typing import Optional

import torch
from fairseq.modules import FairseqDropout, SinusoidalPositionalEmbedding
from torch import Tensor, nn

from .limits import check_fits
from .packed_attention import AttentionPlan, Grid
from .session_layout import LevelView


class UnitPositions(nn.Module):
    """One vector per position, looked up by position (fairseq's modules look up by tokens)."""

    def __init__(self, max_units: int, embed_dim: int, learned: bool) -> None:
        super().__init__()
        if learned:
            self.table = nn.Parameter(torch.empty(max_units, embed_dim))
            nn.init.normal_(self.table, std=embed_dim**-0.5)
        else:
            table = SinusoidalPositionalEmbedding.get_embedding(max_units, embed_dim)
            self.register_buffer("table", table, persistent=False)

    def forward(self, position: Tensor) -> Tensor:
        """(B, Q) -> (B, Q, C)"""
        return self.table[position]


class MaskedLevel(nn.Module):
    """The Masked Session Encoder of the paper's figure, or the encoder of a higher level.

    Args:
        what: what `max_units` counts, for messages: queries per session, …
    """

    def __init__(
        self,
        what: str,
        max_units: int,
        positions: Optional[UnitPositions],
        layers: nn.ModuleList,
        dropout: float,
        final_norm: Optional[nn.Module] = None,
    ) -> None:
        super().__init__()
        self.what = what
        self.max_units = max_units
        self.positions = positions
        self.layers = layers
        self.dropout_module = FairseqDropout(dropout, module_name=type(self).__name__)
        self.final_norm = final_norm

    def forward(self, units: Tensor, view: LevelView) -> Tensor:
        """(B, Q, C) -> (B, Q, C): each unit attends to itself and to the units before it."""
        check_fits(self.what, int(view.position.max()) + 1, self.max_units)
        if self.positions is not None:
            units = units + self.positions(view.position)
        # Padding comes last, so real queries never attend to it.
        grid = Grid(*view.position.shape)
        plan = AttentionPlan(grid, grid, view.visible)
        x = grid.unpad(self.dropout_module(units))  # (B, Q, C) -> (B·Q, C)
        for layer in self.layers:
            x = layer(x, plan)
        return grid.pad(x if self.final_norm is None else self.final_norm(x))
