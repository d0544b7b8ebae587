"""Query Projection: maps the parts of a unit, of any number, to one vector."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .limits import check_fits
from .session_layout import LevelView


class VectorProjection(nn.Module):
    """`w_proj` in R^n mixes the n part vectors (Proposition 4)."""

    def __init__(self, max_parts: int) -> None:
        super().__init__()
        self.max_parts = max_parts
        self.weight = nn.Parameter(torch.full((max_parts,), max_parts**-0.5))

    def forward(self, parts: Tensor) -> Tensor:
        """(…, P, C) -> (…, C), P <= n; parts that do not exist are zero."""
        check_fits("parts per unit", parts.size(-2), self.max_parts)
        return self.weight[: parts.size(-2)] @ parts


class LinearProjection(nn.Module):
    """A linear map from all n·C numbers to C, which fits the model size in the paper."""

    def __init__(self, max_parts: int, embed_dim: int) -> None:
        super().__init__()
        self.max_parts = max_parts
        self.map = nn.Linear(max_parts * embed_dim, embed_dim)
        nn.init.xavier_uniform_(self.map.weight)
        nn.init.zeros_(self.map.bias)

    def forward(self, parts: Tensor) -> Tensor:
        """(…, P, C) -> (…, C), P <= n; parts that do not exist are zero."""
        check_fits("parts per unit", parts.size(-2), self.max_parts)
        flat = parts.flatten(-2)
        # Weights beyond the longest unit would only multiply padding, which is zero.
        return F.linear(flat, self.map.weight[:, : flat.size(-1)], self.map.bias)


def parts_so_far(codes: Tensor, view: LevelView) -> Tensor:
    """(B, Q, C) -> (B, Q, P, C): at each query, the parts of its unit up to this query, in order.

    `view` is the view of the level that computed the codes.
    """
    places = F.one_hot(view.position).to(codes)  # (B, Q, P)
    return torch.einsum("bij,bjp,bjc->bipc", view.visible.to(codes), places, codes)
