"""Whether one system is better than another, or only luckier with these pairs.

The paired bootstrap of sacrebleu (`sacrebleu.significance`), which for one seed draws the same
pairs and has the same p. Here it also has an interval of the difference, works for every figure,
and keeps sums only: sacrebleu's copies the counts of all pairs once a resample, gigabytes here.
"""

from typing import List, NamedTuple, Sequence

import numpy as np

from .suggestion_scores import figures

SAMPLES = 1000
SEED = 12345  # sacrebleu's
CONFIDENCE = 95  # percent of the resampled differences that lie in the interval
NOT_COMPARED = ("length",)  # longer is not better
_BATCH_SIZE = 32  # resamples
_DIGITS = 9  # of a difference in percent: the mean of three equal figures differs from them by less


class Difference(NamedTuple):
    """Of one figure: system minus baseline."""

    figure: str
    difference: float
    low: float
    high: float
    p: float


def compare(
    baseline: np.ndarray,
    systems: Sequence[np.ndarray],
    at: Sequence[int],
    samples: int = SAMPLES,
    seed: int = SEED,
) -> List[List[Difference]]:
    """Each system with the baseline, from their rows of the same pairs (see `pair_rows`).

    A system of several runs has a further dimension in front; the means of its figures are
    compared. Figures that one of two systems does not have are left out.
    """
    every = [rows if rows.ndim == 3 else rows[None] for rows in (baseline, *systems)]
    pairs, columns = every[0].shape[1:]
    ends = np.cumsum([len(runs) for runs in every])[:-1]

    def by_system(totals: np.ndarray) -> np.ndarray:
        """(all runs, columns) -> (systems, figures)"""
        found = np.array([list(figures(row, pairs, at).values()) for row in totals])
        return np.stack([runs.mean(axis=0) for runs in np.split(found, ends)])

    runs = np.concatenate(every)
    actual = by_system(runs.sum(axis=1))
    # (samples, systems, figures)
    drawn = np.stack([by_system(totals) for totals in _resampled_totals(runs, samples, seed)])
    names = list(figures(np.ones(columns), 1, at))
    compared = [i for i, name in enumerate(names) if name not in NOT_COMPARED]
    return [
        [
            _difference(
                names[i],
                round(actual[s, i] - actual[0, i], _DIGITS),
                np.round(drawn[:, s, i] - drawn[:, 0, i], _DIGITS),
            )
            for i in compared
            if np.isfinite(actual[[0, s], i]).all()
        ]
        for s in range(1, len(every))
    ]


def _resampled_totals(runs: np.ndarray, samples: int, seed: int) -> np.ndarray:
    """Sums over as many pairs as there are, drawn with replacement: (samples, runs, columns)."""
    random = np.random.default_rng(seed)
    joined = np.concatenate(list(runs), axis=1)
    pairs = len(joined)
    totals = np.empty((samples, joined.shape[1]))
    for start in range(0, samples, _BATCH_SIZE):
        some = totals[start : start + _BATCH_SIZE]
        draws = (random.choice(pairs, size=pairs) for _ in some)
        times = np.stack([np.bincount(draw, minlength=pairs) for draw in draws])
        some[:] = times.astype(joined.dtype) @ joined
    return totals.reshape(samples, len(runs), -1)


def _difference(figure: str, difference: float, drawn: np.ndarray) -> Difference:
    beyond = (100 - CONFIDENCE) / 2
    low, high = np.percentile(drawn, [beyond, 100 - beyond])
    sizes = np.abs(drawn)
    # As sacrebleu has it: how often chance alone makes a difference of this size, this test set
    # counted as one such case. But where nothing differs it would give the smallest p there is.
    by_chance = int((sizes - sizes.mean() > abs(difference)).sum())
    p = (by_chance + 1) / (len(drawn) + 1) if difference else 1.0
    return Difference(figure, float(difference), float(low), float(high), p)
