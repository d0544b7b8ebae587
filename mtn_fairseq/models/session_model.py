"""What every model of this package has in common."""

from argparse import Namespace
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from fairseq.dataclass import FairseqDataclass
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.tasks import FairseqTask
from torch import Tensor

from ..errors import InputError
from .checkpoints import refuse_foreign_checkpoint


class SessionModel(FairseqEncoderDecoderModel):
    """A session in, the next query out."""

    skips_padding = False  # whether the layers are given real tokens only

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor,
        prev_output_tokens: Tensor,
        target_rows: Optional[Tensor] = None,
        **unused: object,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """src_tokens (B, T), prev_output_tokens (P, T') -> logits (P, T', V).

        In training only for the real target positions, in one row (R, V): the output layer is as
        wide as the vocabulary, and no loss counts padding. `get_targets` gives them alike.

        Args:
            target_rows: (P,) with whole sessions: which query, of all in the batch, each target
                follows; else P = B
        """
        features = self.features(src_tokens, src_lengths, prev_output_tokens, target_rows)
        real = prev_output_tokens.ne(self.decoder.dictionary.pad())
        if self.training:
            return self.decoder.output_layer(features), {"real_positions": real}
        places = features.new_zeros(*real.shape, features.size(-1))
        places[real] = features
        return self.decoder.output_layer(places), {"attn": [None]}

    def features(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor,
        prev_output_tokens: Tensor,
        target_rows: Optional[Tensor],
    ) -> Tensor:
        """What the output layer reads at each real target position: (R, C)."""
        rows = {} if target_rows is None else {"target_rows": target_rows}
        encoder_out = self.encoder(src_tokens, src_lengths=src_lengths, **rows)
        features, _ = self.decoder(prev_output_tokens, encoder_out=encoder_out, features_only=True)
        return features[prev_output_tokens.ne(self.decoder.dictionary.pad())]

    def get_targets(self, sample: Dict[str, Any], net_output: Tuple[Tensor, Any]) -> Tensor:
        target = super().get_targets(sample, net_output)
        real = net_output[1].get("real_positions")
        return target if real is None else target[real]

    def load_state_dict(
        self,
        state_dict: Dict[str, Tensor],
        strict: bool = True,
        model_cfg: Optional[FairseqDataclass] = None,
        args: Optional[Namespace] = None,
    ) -> NamedTuple:
        if strict:
            refuse_foreign_checkpoint(self, state_dict)
        return super().load_state_dict(state_dict, strict, model_cfg, args)


def separators_of(task: FairseqTask) -> List[int]:
    """Dictionary indices of `<q>`, `<session>`, …, which only our task knows."""
    separators = getattr(task, "separators", None)
    if separators is None:
        raise InputError(
            "this architecture reads the separators of session data",
            "train with --task session_to_query",
        )
    return separators
