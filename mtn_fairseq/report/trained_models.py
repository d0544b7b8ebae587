"""What a checkpoint holds: a model of some size, as fairseq itself loads it."""

from pathlib import Path
from typing import NamedTuple, Optional, Tuple

from fairseq import checkpoint_utils
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.tasks import FairseqTask

from ..modules.mtn_encoder import MTNEncoder

BYTES = 4  # of a number: "under single-precision floating-point representation", says the paper


class Size(NamedTuple):
    parameters: int
    encoder_layers: Optional[str]  # as the paper writes them: `3Q, 2S`; None for recurrent ones
    decoder_layers: Optional[str]

    @property
    def megabytes(self) -> float:
        return self.parameters * BYTES / 1e6


def load(checkpoint: Path, data: Path) -> Tuple[FairseqEncoderDecoderModel, FairseqTask]:
    # What is wrong with the file is said by `checkpoints.loading`, which this goes through.
    models, _, task = checkpoint_utils.load_model_ensemble_and_task(
        [str(checkpoint)], arg_overrides={"data": str(data)}
    )
    return models[0].eval(), task


def size_of(model: FairseqEncoderDecoderModel) -> Size:
    return Size(
        sum(weights.numel() for weights in model.parameters()),  # shared ones once
        _encoder_layers(model.encoder),
        _count(model.decoder, ""),
    )


def _encoder_layers(encoder: object) -> Optional[str]:
    if isinstance(encoder, MTNEncoder):
        parts = [encoder.query_encoder, *encoder.levels]
        # Above the session level the paper has no letter.
        letters = ["Q", "S", *(f"L{level}" for level in range(3, len(parts) + 1))]
        return ", ".join(f"{len(part.layers)}{letter}" for part, letter in zip(parts, letters))
    return _count(encoder, "Q")


def _count(part: object, letter: str) -> Optional[str]:
    layers = getattr(part, "layers", None)
    return None if layers is None else f"{len(layers)}{letter}"
