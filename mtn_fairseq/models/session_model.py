"""What all models of this package share."""

from argparse import Namespace
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from fairseq.dataclass import FairseqDataclass
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.tasks import FairseqTask
from torch import Tensor

from mtn_preprocess.errors import InputError

from ..checkpoints.foreign import refuse_foreign_checkpoint
from ..copying.pointer import Pointer
from ..copying.words import Columns, columns_of_targets
from ..description import ModelDescription


class SessionModel(FairseqEncoderDecoderModel):
    """Reads a session and predicts the next query."""

    skips_padding = False  # whether the layers receive real tokens only
    levels = 2  # 2: reads a session; 3: also the earlier sessions of the same person
    level_sizes: Optional[List[int]] = None  # maximum sizes of its units; None: no limit

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor,
        prev_output_tokens: Tensor,
        target_rows: Optional[Tensor] = None,
        packed: bool = False,
        **unused: object,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """src_tokens (B, T), prev_output_tokens (P, T') -> logits (P, T', V).

        Args:
            target_rows: (P,) for whole sessions: the query that each target follows, counted over
                the batch; without it P = B
            packed: return logits (R, V) of the real target positions only, for which `get_targets`
                returns the targets: saves the wide output layer on padding, which no loss counts
        """
        encoder_out = self.encoder(src_tokens, src_lengths=src_lengths, target_rows=target_rows)
        return self.decoder(
            prev_output_tokens, encoder_out=encoder_out, target_rows=target_rows, packed=packed
        )

    def copy_by(self, pointer: Pointer, separators: List[int]) -> None:
        """Let the model copy words of the source from now on."""
        if getattr(self.decoder, "adaptive_softmax", None) is not None:
            raise InputError(
                "--copy-attention mixes whole distributions, which adaptive softmax does not have",
                "leave out one of the two",
            )
        dictionary = self.decoder.dictionary
        structure = [dictionary.pad(), dictionary.eos(), dictionary.unk(), *separators]
        self.decoder.pointer = pointer
        self.encoder.columns = Columns(len(dictionary), structure)

    def columns_of(self, src_tokens: Tensor, target: Tensor) -> Tensor:
        """(B, T), (B, T') -> (B, T'): columns of target tokens, for a model that copies."""
        unk, read = self.decoder.dictionary.unk(), self.encoder.source(src_tokens)
        return self.encoder.columns.of_targets(src_tokens, target, unk, read)

    @property
    def copies(self) -> bool:
        return self.decoder.pointer is not None

    @property
    def description(self) -> ModelDescription:
        return ModelDescription(
            levels=self.levels,
            level_sizes=self.level_sizes,
            source_context=getattr(self.encoder, "source_context", "session"),
            reads_whole_sessions=getattr(self.encoder, "reads_whole_sessions", False),
            copies=self.copies,
            skips_padding=self.skips_padding,
            packs_logits=True,
        )

    def get_normalized_probs(
        self,
        net_output: Tuple[Tensor, Any],
        log_probs: bool,
        sample: Optional[Dict[str, Any]] = None,
    ) -> Tensor:
        """(…, V); for a model that copies (…, V + SLOTS), of the mixture."""
        copying = (net_output[1] or {}).get("copying")
        if copying is None:
            return super().get_normalized_probs(net_output, log_probs, sample)
        mixed = copying.mix(net_output[0])
        return mixed if log_probs else mixed.exp()

    def get_targets(self, sample: Dict[str, Any], net_output: Tuple[Tensor, Any]) -> Tensor:
        target = super().get_targets(sample, net_output)
        real, copying = (net_output[1].get(name) for name in ("real_positions", "copying"))
        target = target if real is None else target[real]
        if copying is None:
            return target
        unk = self.decoder.dictionary.unk()
        return columns_of_targets(target, copying.words, copying.columns, unk)

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
