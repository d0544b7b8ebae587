"""LSTM decoders that start from a state of the encoder, with or without attention."""

from typing import Any, Dict, Optional, Tuple

import torch
from fairseq.models import FairseqIncrementalDecoder
from fairseq.modules import FairseqDropout
from torch import Tensor, nn

from ..data.spelled_words import as_read_by_embeddings
from .encoded import EncoderOut
from .packed_attention import IncrementalState

State = Dict[str, Tensor]  # (B, …) each, by name
Features = Tuple[Tensor, Dict[str, Any]]


class RecurrentDecoder(FairseqIncrementalDecoder):
    """What both decoders share: embedding, output layer, and a state that beam search reorders.

    Args:
        dictionary: target dictionary
        embedding: shared with the encoder
        output_projection: maps features to the vocabulary
        dropout: on the embedding and on the features
        max_target_positions: tokens of the longest target
    """

    def __init__(
        self,
        dictionary: Any,
        embedding: nn.Embedding,
        output_projection: nn.Linear,
        dropout: float,
        max_target_positions: int,
    ) -> None:
        super().__init__(dictionary)
        self.embed_tokens = embedding
        self.output_projection = output_projection
        self.dropout = FairseqDropout(dropout, module_name=self.__class__.__name__)
        self.max_target_positions = max_target_positions
        self.pointer: Any = None  # copies words of the source

    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out: EncoderOut,
        incremental_state: Optional[IncrementalState] = None,
        features_only: bool = False,
        packed: bool = False,
        **unused: object,
    ) -> Features:
        """prev_output_tokens (B, T) -> logits (B, T, V); with a state (B, 1, V), of the last token;
        if packed (R, V), of the real tokens."""
        tokens = as_read_by_embeddings(prev_output_tokens, self.dictionary)
        features, extra = self.extract_features(tokens, encoder_out, incremental_state)
        copying = None
        if self.pointer is not None:
            source = encoder_out["copyable"]
            copying = self.pointer(features, source, incremental_state=incremental_state)
            copying = copying if incremental_state is not None else copying.each_position()
        if packed:
            real = extra["real_positions"] = prev_output_tokens.ne(self.dictionary.pad())
            features, copying = features[real], copying and copying.map(lambda part: part[real])
        extra["copying"] = copying
        return (features if features_only else self.output_layer(features)), extra

    def extract_features(
        self,
        prev_output_tokens: Tensor,
        encoder_out: EncoderOut,
        incremental_state: Optional[IncrementalState] = None,
        **unused: object,
    ) -> Features:
        """prev_output_tokens (B, T) -> (B, T, features)"""
        state = None
        if incremental_state is not None:
            prev_output_tokens = prev_output_tokens[:, -1:]
            state = self.get_incremental_state(incremental_state, "state")
        if state is None:
            state = self.start(encoder_out)
        embedded = self.dropout(self.embed_tokens(prev_output_tokens))
        features, extra, state = self.run(embedded, state, encoder_out)
        if incremental_state is not None:
            self.set_incremental_state(incremental_state, "state", state)
        return self.dropout(features), extra

    def start(self, encoder_out: EncoderOut) -> State:
        """The state before the first token."""
        return {"hidden": encoder_out["hidden"][0], "cell": encoder_out["cell"][0]}

    def run(
        self, embedded: Tensor, state: State, encoder_out: EncoderOut
    ) -> Tuple[Tensor, Dict[str, Any], State]:
        """embedded (B, T, E) -> features (B, T, F), extra outputs, the state after the last step"""
        raise NotImplementedError

    def output_layer(self, features: Tensor, **unused: object) -> Tensor:
        return self.output_projection(features)

    def reorder_incremental_state(
        self, incremental_state: IncrementalState, new_order: Tensor
    ) -> None:
        state = self.get_incremental_state(incremental_state, "state")
        if state is not None:
            moved = {name: value.index_select(0, new_order) for name, value in state.items()}
            self.set_incremental_state(incremental_state, "state", moved)

    def max_positions(self) -> int:
        return self.max_target_positions


class LSTMDecoder(RecurrentDecoder):
    """The initial state is all that this decoder reads of the source.

    Args:
        lstm: maps embeddings to features; one layer, batch first
        others: see `RecurrentDecoder`
    """

    def __init__(self, lstm: nn.LSTM, *others: Any) -> None:
        super().__init__(*others)
        self.lstm = lstm

    def run(
        self, embedded: Tensor, state: State, encoder_out: EncoderOut
    ) -> Tuple[Tensor, Dict[str, Any], State]:
        before = tuple(state[name].unsqueeze(0).contiguous() for name in ("hidden", "cell"))
        features, (hidden, cell) = self.lstm(embedded, before)
        return features, {"attn": [None]}, {"hidden": hidden[0], "cell": cell[0]}


class AttentionLSTMDecoder(RecurrentDecoder):
    """Global dot-product attention; each step also reads the context of the previous step.

    Features are the concatenated state and context (B, T, 2H); the output layer combines them.

    Args:
        cell: maps embedding and context to the state
        others: see `RecurrentDecoder`
    """

    def __init__(self, cell: nn.LSTMCell, *others: Any) -> None:
        super().__init__(*others)
        self.cell = cell

    def start(self, encoder_out: EncoderOut) -> State:
        state = super().start(encoder_out)
        return {**state, "context": torch.zeros_like(state["hidden"])}

    def run(
        self, embedded: Tensor, state: State, encoder_out: EncoderOut
    ) -> Tuple[Tensor, Dict[str, Any], State]:
        codes = encoder_out["encoder_out"][0].transpose(0, 1)  # (T, B, H) -> (B, T, H)
        padded = encoder_out["encoder_padding_mask"][0]
        hidden, cell, context = state["hidden"], state["cell"], state["context"]
        features, attention = [], []
        for token in embedded.unbind(1):
            hidden, cell = self.cell(torch.cat([token, context], 1), (hidden, cell))
            context, weights = attend(hidden, codes, padded)
            features.append(torch.cat([hidden, context], 1))
            attention.append(weights)
        after = {"hidden": hidden, "cell": cell, "context": context}
        return torch.stack(features, 1), {"attn": [torch.stack(attention, 1)]}, after


def attend(query: Tensor, codes: Tensor, padded: Tensor) -> Tuple[Tensor, Tensor]:
    """query (B, H), codes (B, T, H), padded (B, T) -> weighted mean (B, H), weights (B, T)."""
    scores = torch.bmm(codes, query.unsqueeze(2)).squeeze(2)
    weights = scores.masked_fill(padded, float("-inf")).softmax(1)
    return torch.bmm(weights.unsqueeze(1), codes).squeeze(1), weights
