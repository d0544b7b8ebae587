"""The output of our encoders, and its form for fairseq's generators."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from .packed_attention import Grid
from .session_layout import SessionLayout

EncoderOut = Dict[str, List[Tensor]]  # the form that fairseq's generators use


class Encoded(NamedTuple):
    codes: Tensor  # (n, C) one per real token
    layout: SessionLayout  # of the tokens
    last_query_only: bool = False  # a target attends to the query before it only
    copyable: Optional[Sequence[Tensor]] = None  # for a decoder that copies, see copying.words


def for_generator(encoded: Encoded) -> EncoderOut:
    """The form that a stock Transformer encoder returns, so that beam search can reorder it.

    `encoder_out` is (T, B, C) at the positions of the sources, or (longest last query, B, C).
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
    """Reorder or repeat the sources of a batch, as beam search requires."""
    batch_dimension = {"encoder_out": 1}  # (T, B, C); all others begin with B
    return {
        key: [value.index_select(batch_dimension.get(key, 0), new_order) for value in values]
        for key, values in encoder_out.items()
    }


class SessionEncoder:
    """What our Transformer encoders share: the same pass in training and in generation."""

    columns: Any = None  # columns of copied words, see copying.words

    def encode_sources(self, src_tokens: Tensor) -> Encoded:
        """src_tokens (B, T) -> the code of each real token"""
        raise NotImplementedError

    def forward(self, src_tokens: Tensor, src_lengths: Any = None, **unused: object) -> Encoded:
        """`encode_sources`, with the words that can be copied."""
        encoded = self.encode_sources(src_tokens)
        if self.columns is None:
            return encoded
        return encoded._replace(copyable=self.copyable(src_tokens, encoded))

    def forward_torchscript(self, net_input: Dict[str, Tensor]) -> EncoderOut:
        """Called by fairseq's generators."""
        return for_generator(self.forward(net_input["src_tokens"]))

    def source(self, src_tokens: Tensor) -> Tensor:
        """(B, T) -> (B, T'): the part that is read and can be copied; here all of it."""
        return src_tokens

    def copyable(self, src_tokens: Tensor, encoded: Encoded) -> Sequence[Tensor]:
        """The words that a decoder can copy."""
        raise NotImplementedError

    def reorder_encoder_out(self, encoder_out: EncoderOut, new_order: Tensor) -> EncoderOut:
        return reorder(encoder_out, new_order)
