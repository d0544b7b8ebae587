"""What an encoder of ours makes of sources, and how fairseq's generators pass it along."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from .packed_attention import Grid
from .session_layout import SessionLayout

EncoderOut = Dict[str, List[Tensor]]  # as fairseq's generators know it


class Encoded(NamedTuple):
    codes: Tensor  # (n, C) one per real token
    layout: SessionLayout  # of the tokens
    last_query_only: bool = False  # a target sees the codes of the query before it, and no others
    copyable: Optional[Sequence[Tensor]] = None  # for a decoder that copies, see copying.words


def for_generator(encoded: Encoded) -> EncoderOut:
    """As a stock Transformer encoder returns it, so that beam search can reorder it.

    `encoder_out` is (T, B, C) in the places of the sources, or (longest last query, B, C).
    """
    layout = encoded.layout
    if encoded.last_query_only:
        last = layout.token_row.eq(layout.last_row[layout.token_source])
        grid = Grid.of(layout.token_source[last], len(layout.queries))
        codes = grid.pad(encoded.codes[last])  # (B, L, C)
        exists = grid.pad(torch.ones_like(layout.token_source[last], dtype=torch.bool), False)
    else:
        codes, exists = layout.flat(encoded.codes), layout.tokens_exist  # (B, T, C), (B, T)
    return {
        "encoder_out": [codes.transpose(0, 1)],
        "encoder_padding_mask": [~exists],
        "encoder_embedding": [],
        "encoder_states": [],
        "src_tokens": [],
        "src_lengths": [exists.sum(1, keepdim=True).int()],
        **({} if encoded.copyable is None else {"copyable": list(encoded.copyable)}),
    }


def reorder(encoder_out: EncoderOut, new_order: Tensor) -> EncoderOut:
    """The sources of a batch in another order, or several times, as beam search wants them."""
    batch_dimension = {"encoder_out": 1}  # (T, B, C); all others begin with B
    return {
        key: [value.index_select(batch_dimension.get(key, 0), new_order) for value in values]
        for key, values in encoder_out.items()
    }


class SessionEncoder:
    """What encoders made of Transformer layers have in common: one pass, whoever asks."""

    columns: Any = None  # of what a decoder copies, see copying.words

    def encode_sources(self, src_tokens: Tensor) -> Encoded:
        """src_tokens (B, T) -> the code of each real token"""
        raise NotImplementedError

    def forward(self, src_tokens: Tensor, src_lengths: Any = None, **unused: object) -> Encoded:
        """As `encode_sources`, with what can be copied."""
        encoded = self.encode_sources(src_tokens)
        if self.columns is None:
            return encoded
        return encoded._replace(copyable=self.copyable(src_tokens, encoded))

    def forward_torchscript(self, net_input: Dict[str, Tensor]) -> EncoderOut:
        """What fairseq's generators call."""
        return for_generator(self.forward(net_input["src_tokens"]))

    def source(self, src_tokens: Tensor) -> Tensor:
        """(B, T) -> (B, T'): what is read of it, and can be copied; all of it."""
        return src_tokens

    def copyable(self, src_tokens: Tensor, encoded: Encoded) -> Sequence[Tensor]:
        """For a decoder that copies."""
        raise NotImplementedError

    def reorder_encoder_out(self, encoder_out: EncoderOut, new_order: Tensor) -> EncoderOut:
        return reorder(encoder_out, new_order)
