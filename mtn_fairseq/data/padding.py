"""The share of padding in batches."""

from typing import NamedTuple, Sequence, Tuple

import numpy as np


class PaddedSizes(NamedTuple):
    """Totals over all batches, for sources or for targets."""

    tokens: int  # real ones
    places: int  # rows times the longest row, summed over batches

    @property
    def padding(self) -> float:
        """Share of places without a token."""
        return 1 - self.tokens / max(self.places, 1)


def padded_sizes(batches: Sequence[np.ndarray]) -> PaddedSizes:
    """Row lengths of each batch -> totals over all batches."""
    tokens = sum(int(lengths.sum()) for lengths in batches)
    return PaddedSizes(tokens, sum(len(lengths) * int(lengths.max()) for lengths in batches))


def describe_batches(rows: Sequence[Tuple[np.ndarray, np.ndarray]]) -> str:
    """Source lengths and target lengths of each batch -> a line for the log."""
    if not rows:
        return "no batches"
    sources, targets = (padded_sizes(side) for side in zip(*rows))
    pairs = sum(len(lengths) for _, lengths in rows)
    return (
        f"{len(rows)} batches of {pairs / len(rows):.0f} pairs on average; padding: "
        f"{sources.padding:.0%} of source places, {targets.padding:.0%} of target places"
    )
