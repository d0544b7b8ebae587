"""Which next query is learned from which queries: all targets of a batch, packed."""

from typing import NamedTuple

from torch import Tensor

from .packed_attention import AttentionPlan, Grid
from .session_layout import SessionLayout


class TargetPlans(NamedTuple):
    """For the R real tokens of P targets."""

    position: Tensor  # (R,) within its target
    among_targets: AttentionPlan  # a token sees its own target up to itself
    to_source: AttentionPlan  # and the queries that were there when its target was typed


def plan_targets(
    layout: SessionLayout, real: Tensor, rows: Tensor, last_query_only: bool
) -> TargetPlans:
    """All targets of a source stand side by side in one row, so its codes are there once.

    Args:
        layout: of the sources
        real: (P, T') where the targets have tokens
        rows: (P,) which query, of all in the batch, each target follows; never falling
        last_query_only: a target sees that query alone, not those before it
    """
    target, _ = real.nonzero(as_tuple=True)  # (R,)
    asking = Grid.of(layout.query_source[rows][target], len(layout.queries))
    asked = Grid.of(layout.token_source, len(layout.queries))

    number = asking.lay_out(target, -1)  # (B, places)
    same_target = number.unsqueeze(2).eq(number.unsqueeze(1))
    among_targets = AttentionPlan(asking, asking, same_target.tril())

    # A place without a target sees all; a place without a source token is seen by no target.
    beyond_all = int(layout.last_row[-1]) + 1
    newest = asking.lay_out(rows[target], beyond_all).unsqueeze(2)
    query = asked.lay_out(layout.token_row, beyond_all).unsqueeze(1)
    seen = query.eq(newest) | number.lt(0).unsqueeze(2) if last_query_only else query.le(newest)
    in_target = Grid.of(target, len(real))
    position = in_target.place - target * in_target.length
    return TargetPlans(position, among_targets, AttentionPlan(asking, asked, seen))
