"""What the encoders made of Transformer layers have in common."""

from typing import Any, Dict, Sequence

from torch import Tensor

from .encoded import Encoded, EncoderOut, for_generator, reorder


class SessionEncoder:
    """For training and for generation: the same forward pass."""

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
        """Query by query."""
        return self.columns.copyable_by_query(src_tokens, encoded.codes, encoded.layout)

    def reorder_encoder_out(self, encoder_out: EncoderOut, new_order: Tensor) -> EncoderOut:
        return reorder(encoder_out, new_order)
