"""Lookup tables outside the graphs, so that no table is in memory twice."""

from typing import Any, Dict, Iterator, Tuple

import numpy as np
import torch
from torch import Tensor

from mtn_fairseq.modules.mtn_encoder import MTNEncoder
from mtn_fairseq.modules.unit_projection import VectorProjection


def tables_of(model: Any) -> Dict[str, np.ndarray]:
    """Tables by name: `words` (V, C); `source_positions`, `target_positions` and, for upper levels,
    `positions_2`, … (positions, C); `weights_2`, … for levels with a vector projection."""
    encoder, decoder = model.encoder, model.decoder
    over_tokens = encoder.query_encoder if isinstance(encoder, MTNEncoder) else encoder
    longest = over_tokens.max_source_positions
    tables = {
        "words": decoder.embed_scale * decoder.embed_tokens.weight,
        "source_positions": _positions(over_tokens, longest),
        "target_positions": _positions(decoder, decoder.max_target_positions),
    }
    if isinstance(encoder, MTNEncoder):
        for level, projection, masked in _upper_levels(encoder):
            nowhere = torch.zeros(masked.max_units, decoder.embed_tokens.embedding_dim)
            tables[f"positions_{level}"] = masked.positions.table if masked.positions else nowhere
            if isinstance(projection, VectorProjection):
                tables[f"weights_{level}"] = projection.weight
    return {name: table.detach().float().numpy() for name, table in tables.items()}


def _upper_levels(encoder: MTNEncoder) -> Iterator[Tuple[int, Any, Any]]:
    for level, parts in enumerate(zip(encoder.projections, encoder.levels), 2):
        yield (level, *parts)


def _positions(part: Any, longest: int) -> Tensor:
    """(longest, C): the positional embeddings of fairseq's encoder or decoder"""
    if part.embed_positions is None:
        return torch.zeros(longest, part.embed_tokens.embedding_dim)
    row = torch.full((1, longest), part.padding_idx + 1)  # any token except padding
    with torch.no_grad():
        return part.embed_positions(row).squeeze(0)
