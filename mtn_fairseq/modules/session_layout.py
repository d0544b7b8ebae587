"""The hierarchy of a batch of flat sources: tokens in queries, queries in sessions, …

fairseq passes an encoder one flat row of tokens per source, `(B, T)`, padded on either side. The
separators define the hierarchy: the k-th separator ends a unit of level k (1: query, 2: session, …)
and every unit below it. `SessionLayout` reads them once per batch.
"""

from typing import NamedTuple, Sequence

import torch
from torch import Tensor


class LevelView(NamedTuple):
    """Positions and attention mask of the queries for the encoder of one level (k >= 2).

    The encoder reads the units of level k-1 in order. At query i, an unfinished unit has only its
    parts up to i. So each query i has one state per level: that of a source which ends with i. No
    information flows from a later query to an earlier one.
    """

    position: Tensor  # (B, Q) index of the query's unit of level k-1 in its unit of level k
    visible: Tensor  # (B, Q, Q) [i, j]: j is i, or ends an earlier unit of i's unit of level k


class SessionLayout:
    """The structure of `src_tokens` (B, T), as index tensors.

    The N queries of the batch are stored as N rows, without rows for padding. `slots` arranges
    values per query as `(B, Q, …)`, with padding.
    """

    def __init__(self, src_tokens: Tensor, separators: Sequence[int], padding_idx: int) -> None:
        rank = torch.zeros_like(src_tokens)  # level of the unit that a token ends; 0 for a word
        for level, index in enumerate(separators, 1):
            rank.masked_fill_(src_tokens.eq(index), level)
        ends_query = rank.gt(0)

        self.tokens_exist = src_tokens.ne(padding_idx)  # (B, T)
        slot = ends_query.cumsum(1) - ends_query.long()  # (B, T) index of each token's query
        self.queries = slot.amax(1) + 1  # (B,)
        self.first_row = self.queries.cumsum(0) - self.queries  # (B,) each source's first query
        self.last_row = self.first_row + self.queries - 1  # (B,)

        # (n,): one entry per real token, in the order of the flat source
        self.token_source, _ = self.tokens_exist.nonzero(as_tuple=True)
        self.token_row = (self.first_row.unsqueeze(1) + slot)[self.tokens_exist]
        self.token_position = _steps_since_start(ends_query, self.tokens_exist)[self.tokens_exist]

        # (N,): one entry per query
        self.query_source = torch.arange(len(src_tokens), device=src_tokens.device)
        self.query_source = self.query_source.repeat_interleave(self.queries)
        slots = torch.arange(int(self.queries.max()), device=src_tokens.device)
        self.slots_exist = slots.unsqueeze(0) < self.queries.unsqueeze(1)  # (B, Q)
        # (B, Q) rank of the token that ends each query; 0 for the last, which has no separator
        self.end_rank = self.slots_exist.long().masked_scatter(
            self.slots_exist, self._rank_of_query_end(rank)
        )

    def _rank_of_query_end(self, rank: Tensor) -> Tensor:
        """(N,): each query has at most one separator, the token that ends it."""
        ranks = rank.new_zeros(int(self.queries.sum()))
        return ranks.index_add(0, self.token_row, rank[self.tokens_exist])

    def rows(self, tokens: Tensor, padding: float = 0) -> Tensor:
        """(n, …) -> (N, L, …): one row per query, padded on the right."""
        shape = int(self.queries.sum()), int(self.token_position.max()) + 1, *tokens.shape[1:]
        return tokens.new_full(shape, padding).index_put(
            (self.token_row, self.token_position), tokens
        )

    def flat(self, tokens: Tensor) -> Tensor:
        """(n, C) -> (B, T, C): back to the positions of the source; zeros at padding."""
        flat = tokens.new_zeros(*self.tokens_exist.shape, tokens.size(-1))
        flat[self.tokens_exist] = tokens
        return flat

    def slots(self, queries: Tensor) -> Tensor:
        """(N, …) -> (B, Q, …): the queries of each source in one row; zeros at padding."""
        slots = queries.new_zeros(*self.slots_exist.shape, *queries.shape[1:])
        slots[self.slots_exist] = queries
        return slots

    def level(self, level: int, top: bool) -> LevelView:
        """The view of one level's encoder; at the top, the whole source is one unit."""
        ends_part = self.end_rank.ge(level - 1)  # (B, Q)
        ends_unit = torch.zeros_like(ends_part) if top else self.end_rank.ge(level)
        part = ends_part.cumsum(1) - ends_part.long()
        unit = ends_unit.cumsum(1) - ends_unit.long()

        starts_unit = torch.ones_like(ends_unit)
        starts_unit[:, 1:] = ends_unit[:, :-1]
        position = part - part.masked_fill(~starts_unit, 0).cummax(1).values

        same_unit = unit.unsqueeze(2).eq(unit.unsqueeze(1))  # (B, Q, Q)
        earlier = torch.ones_like(same_unit).tril(-1)
        itself = torch.eye(part.size(1), dtype=torch.bool, device=part.device)
        return LevelView(position, (same_unit & earlier & ends_part.unsqueeze(1)) | itself)


def query_tokens(
    src_tokens: Tensor, layout: SessionLayout, separators: Sequence[int], eos: int
) -> Tensor:
    """(B, T) -> (n,): the real tokens, with `<q>` at the end of every query.

    So the encoding of a query does not depend on its place in the source.
    """
    ends = src_tokens.eq(eos)
    for separator in separators[1:]:
        ends |= src_tokens.eq(separator)
    return src_tokens.masked_fill(ends, separators[0])[layout.tokens_exist]


def _steps_since_start(ends_query: Tensor, exists: Tensor) -> Tensor:
    """(B, T) position of each token within its query, with padding on either side."""
    starts = exists.clone()
    starts[:, 1:] &= ends_query[:, :-1] | ~exists[:, :-1]
    steps = torch.arange(exists.size(1), device=exists.device).expand_as(exists)
    return steps - steps.masked_fill(~starts, 0).cummax(1).values
