"""The K-level MTN encoder (Section 4, Proposition 4, Figure 1)."""

from typing import List, Sequence

from fairseq.models import FairseqEncoder
from torch import Tensor, nn

from .encoded import Encoded, SessionEncoder
from .limits import check_fits, counted_at
from .packed_attention import AttentionPlan, Grid
from .packed_layers import PackedEncoder
from .session_layout import SessionLayout, query_tokens
from .unit_projection import parts_so_far


class MTNEncoder(SessionEncoder, FairseqEncoder):
    """Encodes a flat session as one code per token, which never depends on a later query.

    Args:
        query_encoder: an ordinary Transformer encoder, run on each query separately (level 1)
        projections: level 2 and up: map the parts of a unit to one vector
        levels: level 2 and up: masked encoders over these vectors
        norms: bottom up: one per addition of a vector from above
        separators: dictionary indices of `<q>`, `<session>`, …
        add_back: add the vectors of `every` level step by step, or of the `top` level only
        decoder_context: codes of the whole `session`, or of its last `query` only
        max_source_positions: tokens of the longest flat source
    """

    reads_whole_sessions = True  # codes ignore later queries: one pass is exact for all prefixes

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

    def encode_sources(self, src_tokens: Tensor) -> Encoded:
        """src_tokens (B, T) -> the code of each real token, Ỹ of Proposition 4"""
        layout = SessionLayout(src_tokens, self.separators, self.padding_idx)
        longest = int(layout.token_position.max()) + 1
        check_fits(counted_at(1), longest, self.query_encoder.max_source_positions)
        # Y₁ = Transformer(X), each query separately (Prop. 2)
        codes = self.query_encoder.encode(
            query_tokens(src_tokens, layout, self.separators, self.dictionary.eos()),
            layout.token_position,
            within_queries(layout),
        )
        if len(self.levels):
            units = self._levels_up(codes, layout)
            from_above = self._levels_down(units)[layout.slots_exist]  # (B, Q, C) -> (N, C)
            # Ỹ = ψ(Y₁ + Ŷ₂) (Prop. 4); Ŷ₂ repeats the code of a query at each of its tokens
            codes = self.norms[0](codes + from_above[layout.token_row])
        return Encoded(codes, layout, last_query_only=self.decoder_context == "query")

    def _levels_up(self, tokens: Tensor, layout: SessionLayout) -> List[Tensor]:
        """(n, C) -> the codes (B, Q, C) of level 2, 3, …, K."""
        codes: List[Tensor] = []
        parts = layout.rows(tokens)  # (N, L, C), zero at padding
        for level, (projection, encoder) in enumerate(zip(self.projections, self.levels), 2):
            units = projection(parts)  # w_proj Y, of the level below
            if level == 2:
                units = layout.slots(units)  # (N, C) -> (B, Q, C)
            view = layout.level(level, top=level == len(self.levels) + 1)
            codes.append(encoder(units, view))  # Yₖ: the masked encoder of Prop. 3
            if level <= len(self.levels):
                parts = parts_so_far(codes[-1], view)  # what the next level projects
        return codes

    def _levels_down(self, codes: List[Tensor]) -> Tensor:
        """The codes of all levels -> the vector (B, Q, C) to add to the tokens of each query."""
        code = codes[-1]
        if self.add_back == "every":
            for lower, norm in zip(reversed(codes[:-1]), reversed(list(self.norms)[1:])):
                code = norm(lower + code)  # ψ(Yₖ + Ŷₖ₊₁)
        return code

    def copyable(self, src_tokens: Tensor, encoded: Encoded) -> Sequence[Tensor]:
        """The words by query and unit; with one level, the source counts as one session."""
        levels = max(len(self.levels) + 1, 2)
        return self.columns.copyable_by_query(src_tokens, encoded.codes, encoded.layout, levels)

    def max_positions(self) -> int:
        return self.max_source_positions


def within_queries(layout: SessionLayout) -> AttentionPlan:
    """Each token attends to its own query. There is one row per source, not per query: the sources
    of a batch have similar lengths, while queries would all be padded to the longest."""
    grid = Grid.of(layout.token_source, len(layout.queries))
    query = grid.pad(layout.token_row, -1)  # (B, places)
    return AttentionPlan(grid, grid, query.unsqueeze(2).eq(query.unsqueeze(1)))
