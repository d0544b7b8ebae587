"""LSTM encoders: flat over a source, and hierarchical over queries and sessions.

Both also return the initial state of their decoder, as `hidden` and `cell` (B, H).
"""

from typing import Any, List, Optional, Sequence, Tuple

import torch
from fairseq.models import FairseqEncoder
from fairseq.models.lstm import LSTMEncoder
from fairseq.modules import FairseqDropout
from fairseq.utils import convert_padding_direction
from torch import Tensor, nn

from ..data.spelled_words import as_read_by_embeddings
from .encoded import EncoderOut, reorder
from .flat_source import flat_source
from .session_layout import SessionLayout, query_tokens


class FlatLSTMEncoder(FairseqEncoder):
    """One bidirectional LSTM over the tokens of a source.

    Args:
        lstm: fairseq's bidirectional LSTM of one layer, for padding on the right
        separators: dictionary indices of `<q>`, `<session>`, …
        source_context: the whole `session`, or its `last` query
    """

    def __init__(self, lstm: LSTMEncoder, separators: Sequence[int], source_context: str) -> None:
        super().__init__(lstm.dictionary)
        self.lstm = lstm
        self.separators = list(separators)
        self.source_context = source_context
        self.columns: Any = None  # columns of copied words, see copying.words

    def forward(
        self, src_tokens: Tensor, src_lengths: Optional[Tensor] = None, **unused: object
    ) -> EncoderOut:
        """src_tokens (B, T) -> codes (T, B, 2·hidden) and the last states of both directions."""
        padding = self.lstm.padding_idx
        tokens = self.source(src_tokens)
        tokens = convert_padding_direction(tokens, padding, left_to_right=True)
        lengths = tokens.ne(padding).sum(1)
        tokens = tokens[:, : int(lengths.max())]
        known = as_read_by_embeddings(tokens, self.dictionary)
        codes, hidden, cell, padded = self.lstm(known, lengths, enforce_sorted=False)
        copyable: List[Tensor] = []
        if self.columns is not None:
            copyable = [*self.columns.copyable_flat(src_tokens, tokens, codes.transpose(0, 1))]
        return {
            "encoder_out": [codes],
            "encoder_padding_mask": [padded.transpose(0, 1)],
            "hidden": [hidden[0]],
            "cell": [cell[0]],
            "copyable": copyable,
        }

    def source(self, src_tokens: Tensor) -> Tensor:
        """(B, T) -> (B, T'): the part that is read."""
        padding = self.lstm.padding_idx
        return flat_source(src_tokens, self.source_context, self.separators, padding)

    def reorder_encoder_out(self, encoder_out: EncoderOut, new_order: Tensor) -> EncoderOut:
        return reorder(encoder_out, new_order)

    def max_positions(self) -> int:
        return self.lstm.max_source_positions


class HierarchicalLSTMEncoder(FairseqEncoder):
    """A bidirectional LSTM over the tokens of each query, and an LSTM over the queries.

    Args:
        query_lstm: fairseq's bidirectional LSTM of one layer; its last states represent a query
        session_lstm: takes one step per query
        dropout: between the two
        separators: dictionary indices of `<q>`, `<session>`, …; here each of them ends a query
        max_source_positions: tokens of the longest flat source
    """

    reads_whole_sessions = True  # states ignore later queries: one pass is exact for all prefixes

    def __init__(
        self,
        query_lstm: LSTMEncoder,
        session_lstm: nn.LSTMCell,
        dropout: float,
        separators: Sequence[int],
        max_source_positions: int,
    ) -> None:
        super().__init__(query_lstm.dictionary)
        self.query_lstm = query_lstm
        self.session_lstm = session_lstm
        self.dropout = FairseqDropout(dropout, module_name=self.__class__.__name__)
        self.separators = list(separators)
        self.max_source_positions = max_source_positions

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Optional[Tensor] = None,
        target_rows: Optional[Tensor] = None,
        **unused: object,
    ) -> EncoderOut:
        """src_tokens (B, T) -> the state of the session after its last query.

        Args:
            target_rows: (P,) the queries whose states to return, counted over the batch; P then
                replaces B. Default: the last query of each source.
        """
        layout = SessionLayout(src_tokens, self.separators, self.query_lstm.padding_idx)
        states = self._states(layout.slots(self._queries(src_tokens, layout)))  # (B, Q, H) each
        rows = layout.last_row if target_rows is None else target_rows
        hidden, cell = (state[layout.slots_exist][rows] for state in states)  # (B, H) each
        return {
            # One code per source, for callers that expect codes.
            "encoder_out": [hidden.unsqueeze(0)],
            "encoder_padding_mask": [torch.zeros_like(hidden[:, :1], dtype=torch.bool)],
            "hidden": [hidden],
            "cell": [cell],
        }

    def _queries(self, src_tokens: Tensor, layout: SessionLayout) -> Tensor:
        """(B, T) -> (N, H): one vector per query."""
        padding = self.query_lstm.padding_idx
        tokens = query_tokens(src_tokens, layout, self.separators, self.dictionary.eos())
        rows = layout.rows(tokens, padding)
        lengths = rows.ne(padding).sum(1)
        _, hidden, _, _ = self.query_lstm(rows, lengths, enforce_sorted=False)
        return self.dropout(hidden[0])

    def _states(self, queries: Tensor) -> Tuple[Tensor, Tensor]:
        """(B, Q, H) -> hidden and cell states (B, Q, H) after each query.

        The LSTM also runs over the padding after a session, but its states there are never read.
        """
        state = (torch.zeros_like(queries[:, 0]), torch.zeros_like(queries[:, 0]))
        hidden, cell = [], []
        for query in queries.unbind(1):
            state = self.session_lstm(query, state)
            hidden.append(state[0])
            cell.append(state[1])
        return torch.stack(hidden, 1), torch.stack(cell, 1)

    def reorder_encoder_out(self, encoder_out: EncoderOut, new_order: Tensor) -> EncoderOut:
        return reorder(encoder_out, new_order)

    def max_positions(self) -> int:
        return self.max_source_positions
