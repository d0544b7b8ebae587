"""The K-level MTN encoder (Section 4, Proposition 4, Figure 1)."""

from typing import Dict, List, Optional, Sequence

import torch
from fairseq.models import FairseqEncoder
from fairseq.models.transformer import TransformerEncoderBase
from torch import Tensor, nn

from .copyable_words import Columns, Copyable, with_copyable
from .limits import check_fits
from .packed_attention import AttentionPlan, Grid
from .packed_layers import PackedEncoder
from .session_layout import SessionLayout, query_tokens
from .unit_projection import parts_so_far


class MTNEncoder(FairseqEncoder):
    """Flat session tokens in, one code a token out; a code knows the queries before, never after.

    Args:
        query_encoder: an ordinary Transformer encoder, run on each query by itself (level 1)
        projections: level 2 and up: the parts of a unit to one vector
        levels: level 2 and up: masked encoder over these vectors
        norms: bottom up: one for each thing that a vector from above is added to
        separators: dictionary indices of `<q>`, `<session>`, …
        add_back: `every` level's vectors come down step by step, or the `top` one's at once
        decoder_context: codes of the whole `session`, or of its last `query` only
        max_source_positions: tokens of the longest flat source
    """

    reads_whole_sessions = True  # no code knows of a later query: all prefixes at once are exact

    def __init__(
        self,
        query_encoder: PackedEncoder,
        projections: nn.ModuleList,
        levels: nn.ModuleList,
        norms: nn.ModuleList,
        separators: Sequence[int],
        add_back: str,
        decoder_context: str,
        max_source_positions: int,
    ) -> None:
        super().__init__(query_encoder.dictionary)
        self.query_encoder = query_encoder
        self.projections = projections
        self.levels = levels
        self.norms = norms
        self.separators = list(separators)
        self.add_back = add_back
        self.decoder_context = decoder_context
        self.max_source_positions = max_source_positions
        self.padding_idx = query_encoder.padding_idx
        self.columns: Optional[Columns] = None  # of what a decoder copies

    def forward(
        self, src_tokens: Tensor, src_lengths: Optional[Tensor] = None, **unused: object
    ) -> Dict[str, List[Tensor]]:
        """src_tokens (B, T) -> what a stock Transformer encoder returns, for fairseq's generator.

        `encoder_out` is (T, B, C) in the places of `src_tokens`, or (longest last query, B, C).
        """
        layout = SessionLayout(src_tokens, self.separators, self.padding_idx)
        tokens = self.encode(src_tokens, layout)
        if self.decoder_context == "query":
            last = layout.token_row.eq(layout.last_row[layout.token_source])
            grid = Grid.of(layout.token_source[last], len(src_tokens))
            codes = grid.lay_out(tokens[last])  # (B, L, C)
            exists = grid.lay_out(torch.ones_like(grid.place, dtype=torch.bool), False)
        else:
            codes, exists = layout.flat(tokens), layout.tokens_exist  # (B, T, C), (B, T)
        copyable = self.copyable(src_tokens, layout, tokens)
        return {
            "encoder_out": [codes.transpose(0, 1)],
            "encoder_padding_mask": [~exists],
            "encoder_embedding": [],
            "encoder_states": [],
            "src_tokens": [],
            "src_lengths": [exists.sum(1, keepdim=True).int()],
            **({} if copyable is None else {"copyable": list(copyable)}),
        }

    def source(self, src_tokens: Tensor) -> Tensor:
        """(B, T) -> (B, T): all of it is read, and can be copied."""
        return src_tokens

    def copyable(
        self, src_tokens: Tensor, layout: SessionLayout, codes: Tensor
    ) -> Optional[Copyable]:
        """For a decoder that copies."""
        if self.columns is None:
            return None
        return Copyable.by_query(codes, src_tokens, self.columns.of(src_tokens), layout)

    def encode(self, src_tokens: Tensor, layout: SessionLayout) -> Tensor:
        """(B, T) -> (n, C): the code of each real token."""
        longest = int(layout.token_position.max()) + 1
        check_fits("tokens in a query", longest, self.query_encoder.max_source_positions)
        tokens = self.query_encoder.encode(
            query_tokens(src_tokens, layout, self.separators, self.dictionary.eos()),
            layout.token_position,
            within_queries(layout),
        )
        codes = self._levels_up(tokens, layout)
        if not codes:
            return tokens
        from_above = self._levels_down(codes)[layout.slots_exist]  # (B, Q, C) -> (N, C)
        return self.norms[0](tokens + from_above[layout.token_row])

    def _levels_up(self, tokens: Tensor, layout: SessionLayout) -> List[Tensor]:
        """(n, C) -> the codes (B, Q, C) of level 2, 3, …, K."""
        codes: List[Tensor] = []
        parts = layout.rows(tokens)  # (N, L, C), zero at padding
        for level, (projection, encoder) in enumerate(zip(self.projections, self.levels), 2):
            units = projection(parts)
            if level == 2:
                units = layout.slots(units)  # (N, C) -> (B, Q, C)
            view = layout.level(level, top=level == len(self.levels) + 1)
            codes.append(encoder(units, view))
            if level <= len(self.levels):
                parts = parts_so_far(codes[-1], view)  # what the next level projects
        return codes

    def _levels_down(self, codes: List[Tensor]) -> Tensor:
        """The codes of all levels -> the vector (B, Q, C) that each query's tokens receive."""
        code = codes[-1]
        if self.add_back == "every":
            for lower, norm in zip(reversed(codes[:-1]), reversed(list(self.norms)[1:])):
                code = norm(lower + code)
        return code

    def reorder_encoder_out(
        self, encoder_out: Dict[str, List[Tensor]], new_order: Tensor
    ) -> Dict[str, List[Tensor]]:
        reordered = TransformerEncoderBase.reorder_encoder_out(self, encoder_out, new_order)
        return with_copyable(reordered, encoder_out, new_order)

    def max_positions(self) -> int:
        return self.max_source_positions


def within_queries(layout: SessionLayout) -> AttentionPlan:
    """Each token sees those of its own query. A source is one row: queries of like sources add up
    to rows of like length, while queries by themselves would be padded to the longest."""
    grid = Grid.of(layout.token_source, len(layout.queries))
    query = grid.lay_out(layout.token_row, -1)  # (B, places)
    return AttentionPlan(grid, grid, query.unsqueeze(2).eq(query.unsqueeze(1)))
