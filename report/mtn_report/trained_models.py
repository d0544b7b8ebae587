"""The size of a trained model."""

from pathlib import Path
from typing import NamedTuple, Optional

BYTES = 4  # per number; the paper: "under single-precision floating-point representation"


class Size(NamedTuple):
    parameters: int
    encoder_layers: Optional[str]  # as in the paper: `3Q, 2S`; None for recurrent encoders
    decoder_layers: Optional[str]

    @property
    def megabytes(self) -> float:
        return self.parameters * BYTES / 1e6


def size_of(checkpoint: Path, data: Path) -> Size:
    # Imported here: a report without checkpoints needs neither torch nor fairseq.
    from mtn_fairseq.checkpoints.loading import load_model

    model, _ = load_model(checkpoint, data)
    return Size(
        sum(weights.numel() for weights in model.parameters()),  # shared weights count once
        _encoder_layers(model.encoder),
        _count(model.decoder, ""),
    )


def _encoder_layers(encoder: object) -> Optional[str]:
    from mtn_fairseq.modules.mtn_encoder import MTNEncoder

    if isinstance(encoder, MTNEncoder):
        parts = [encoder.query_encoder, *encoder.levels]
        # The paper has no letter for levels above the session.
        letters = ["Q", "S", *(f"L{level}" for level in range(3, len(parts) + 1))]
        return ", ".join(f"{len(part.layers)}{letter}" for part, letter in zip(parts, letters))
    return _count(encoder, "Q")


def _count(part: object, letter: str) -> Optional[str]:
    layers = getattr(part, "layers", None)
    return None if layers is None else f"{len(layers)}{letter}"
