"""Attention masks of target tokens, over their own target and over the queries before it."""

from typing import NamedTuple, Optional, Sequence, Tuple, Union

import torch
from torch import Tensor

from .encoded import Encoded, EncoderOut
from .packed_attention import AttentionPlan, Grid, position_in_row


class TargetPlan(NamedTuple):
    """Positions and attention masks of R target tokens."""

    position: Tensor  # (R,) within its target
    codes: Tensor  # (n, C) of the sources
    among_targets: AttentionPlan  # a token attends to its own target up to itself
    to_source: AttentionPlan  # and to the queries before its target
    copyable: Optional[Sequence[Tensor]] = None  # of the sources
    newest: Optional[Tensor] = None  # (R,) the last of these queries, counted within its source


def plan_targets(
    encoded: Union[Encoded, EncoderOut], real: Tensor, target_rows: Optional[Tensor] = None
) -> TargetPlan:
    """All targets of a source are in one row, so its codes are needed only once.

    Args:
        real: (P, T') mask of the real target tokens
        target_rows: (P,) the query that each target follows, counted over the batch, sorted;
            default: the last query of each source
    """
    target, _ = real.nonzero(as_tuple=True)  # (R,)
    position = position_in_row(target, real.sum(1))
    if not isinstance(encoded, Encoded):
        among = _own_target(Grid.of(target, len(real)), target)
        codes, to_source = _all_codes(encoded, among.query)
        return TargetPlan(position, codes, among, to_source, encoded.get("copyable"))

    layout = encoded.layout
    rows = layout.last_row if target_rows is None else target_rows
    source = layout.query_source[rows]
    among = _own_target(Grid.of(source[target], len(layout.queries)), target)
    query, key = among.query, Grid.of(layout.token_source, len(layout.queries))
    # Padded queries see all keys; padded keys are hidden from all targets.
    beyond_all = int(layout.last_row[-1]) + 1
    newest = query.pad(rows[target], beyond_all).unsqueeze(2)
    row = key.pad(layout.token_row, beyond_all).unsqueeze(1)
    seen = row.le(newest)
    if encoded.last_query_only:
        seen &= row.eq(newest) | newest.eq(beyond_all)
    return TargetPlan(
        position,
        encoded.codes,
        among,
        AttentionPlan(query, key, seen),
        encoded.copyable,
        (rows - layout.first_row[source])[target],
    )


def plan_next(encoder_out: EncoderOut, hypotheses: int, position: int) -> TargetPlan:
    """The next token of each hypothesis; the hypotheses of a source share its row of codes."""
    mask = encoder_out["encoder_padding_mask"][0]
    alone = Grid(hypotheses, 1)
    codes, to_source = _all_codes(encoder_out, Grid(len(mask), hypotheses // len(mask)))
    positions = torch.full((hypotheses,), position, device=mask.device)
    among = AttentionPlan(alone, alone, None)
    return TargetPlan(positions, codes, among, to_source, encoder_out.get("copyable"))


def _own_target(grid: Grid, target: Tensor) -> AttentionPlan:
    number = grid.pad(target, -1)  # (B, places)
    return AttentionPlan(grid, grid, number.unsqueeze(2).eq(number.unsqueeze(1)).tril())


def _all_codes(encoder_out: EncoderOut, query: Grid) -> Tuple[Tensor, AttentionPlan]:
    codes = encoder_out["encoder_out"][0].transpose(0, 1)  # (T, B, C) -> (B, T, C)
    exists = ~encoder_out["encoder_padding_mask"][0]
    key = Grid(codes.size(0), codes.size(1))
    return codes.flatten(0, 1), AttentionPlan(query, key, exists.unsqueeze(1))
