"""The K-level MTN encoder (Section 4, Proposition 4, Figure 1)."""

from typing import Dict, List, Optional, Sequence

from fairseq.models import FairseqEncoder
from fairseq.models.transformer import TransformerEncoderBase
from torch import Tensor, nn

from .limits import check_fits
from .session_layout import SessionLayout, query_rows
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
        query_encoder: TransformerEncoderBase,
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

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Optional[Tensor] = None,
        target_rows: Optional[Tensor] = None,
        **unused: object,
    ) -> Dict[str, List[Tensor]]:
        """src_tokens (B, T) -> what a stock Transformer encoder returns, see there.

        `encoder_out` is (T, B, C) in the places of `src_tokens`, or (longest last query, B, C).

        Args:
            target_rows: (P,) which queries, of all in the batch, a next query is wanted for; then
                P takes the place of B. Without it, the last query of each source.
        """
        layout = SessionLayout(src_tokens, self.separators, self.padding_idx)
        rows = query_rows(  # (N, L)
            src_tokens, layout, self.separators, self.padding_idx, self.dictionary.eos()
        )
        check_fits("tokens in a query", rows.size(1), self.query_encoder.max_source_positions)
        exists = rows.ne(self.padding_idx)
        tokens = self.query_encoder(rows)["encoder_out"][0].transpose(0, 1)  # (N, L, C)
        codes = self._levels_up(tokens * exists.unsqueeze(-1).to(tokens), layout)
        if codes:
            from_above = self._levels_down(codes)[layout.slots_exist]  # (B, Q, C) -> (N, C)
            tokens = self.norms[0](tokens + from_above.unsqueeze(1))
        if self.decoder_context == "query":
            wanted = layout.last_row if target_rows is None else target_rows
            tokens, exists = tokens[wanted], exists[wanted]  # (B, L, C), (B, L)
            longest = int(exists.sum(1).max())
            tokens, exists = tokens[:, :longest], exists[:, :longest]
        else:
            tokens, exists = layout.flat(tokens), layout.tokens_exist  # (B, T, C), (B, T)
            if target_rows is not None:
                tokens, exists = layout.prefixes(tokens, target_rows)
        return {
            "encoder_out": [tokens.transpose(0, 1)],
            "encoder_padding_mask": [~exists],
            "encoder_embedding": [],
            "encoder_states": [],
            "src_tokens": [],
            "src_lengths": [exists.sum(1, keepdim=True).int()],
        }

    def _levels_up(self, tokens: Tensor, layout: SessionLayout) -> List[Tensor]:
        """(N, L, C), zero at padding -> the codes (B, Q, C) of level 2, 3, …, K."""
        codes: List[Tensor] = []
        parts = tokens
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

    # Beam search reorders the same keys as a stock encoder's.
    reorder_encoder_out = TransformerEncoderBase.reorder_encoder_out

    def max_positions(self) -> int:
        return self.max_source_positions
