"""Test whether one system is better than another, or only luckier with these pairs.

This is the paired bootstrap of sacrebleu (`sacrebleu.significance`): the same seed draws the same
pairs and gives the same p. In addition it returns an interval of the difference and works for every
figure. It keeps only sums: sacrebleu copies the counts of all pairs per resample, gigabytes here.

If people are known, people are resampled with all of their pairs: the pairs of one person are
similar, and resampling single pairs would make the intervals too narrow.
"""

from typing import List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .suggestion_scores import figures

SAMPLES = 1000
SEED = 12345  # sacrebleu's
CONFIDENCE = 95  # percent of the resampled differences inside the interval
NOT_COMPARED = ("length",)  # longer is not better
_BATCH_SIZE = 32  # resamples
_PRECISION = 9  # of a difference in percent; hides rounding errors in the mean of equal figures


class Difference(NamedTuple):
    """The difference in one figure: system minus baseline."""

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
    people: Optional[Sequence[int]] = None,
) -> List[List[Difference]]:
    """Compare each system with the baseline, from rows of the same pairs (see `pair_rows`).

    A system with several runs has a leading dimension for them; the means of its figures are
    compared. Figures that one of two systems lacks are left out.

    Args:
        people: the person of each pair, if known; then people are resampled, not pairs
    """
    every = [rows if rows.ndim == 3 else rows[None] for rows in (baseline, *systems)]
    ends = np.cumsum([len(runs) for runs in every])[:-1]

    def by_system(totals: np.ndarray, pairs: int) -> np.ndarray:
        """(all runs, columns) -> (systems, figures)"""
        found = np.array([list(figures(row, pairs, at).values()) for row in totals])
        return np.stack([runs.mean(axis=0) for runs in np.split(found, ends)])

    units = np.concatenate(every)
    sizes = np.ones(units.shape[1])
    if people is not None:
        units, sizes = _sums_by_person(units, people)
    actual = by_system(units.sum(axis=1), int(sizes.sum()))
    resamples = zip(*_resampled_totals(units, sizes, samples, seed))
    # (samples, systems, figures)
    drawn = np.stack([by_system(totals, int(pairs)) for totals, pairs in resamples])
    names = list(figures(np.ones(units.shape[2]), 1, at))
    compared = [i for i, name in enumerate(names) if name not in NOT_COMPARED]
    return [
        [
            _difference(
                names[i],
                round(actual[s, i] - actual[0, i], _PRECISION),
                np.round(drawn[:, s, i] - drawn[:, 0, i], _PRECISION),
            )
            for i in compared
            if np.isfinite(actual[[0, s], i]).all()
        ]
        for s in range(1, len(every))
    ]


def _sums_by_person(runs: np.ndarray, people: Sequence[int]) -> Tuple[np.ndarray, np.ndarray]:
    """(runs, pairs, columns) -> (runs, people, columns), and the number of pairs per person.

    People are ordered by first pair, so one pair per person gives the same draws as pairs do.
    """
    _, first, person = np.unique(np.asarray(people), return_index=True, return_inverse=True)
    person = np.argsort(np.argsort(first))[person]
    starts = np.searchsorted(np.sort(person), np.arange(len(first)))
    sums = np.add.reduceat(runs[:, np.argsort(person, kind="stable")], starts, axis=1)
    return sums, np.bincount(person).astype(float)


def _resampled_totals(
    units: np.ndarray, sizes: np.ndarray, samples: int, seed: int
) -> Tuple[np.ndarray, np.ndarray]:
    """Sums over resampled units, drawn with replacement, and the number of pairs in each sum.

    (runs, units, columns), (units,) -> (samples, runs, columns), (samples,)
    """
    random = np.random.default_rng(seed)
    joined = np.concatenate([*units, sizes[:, None]], axis=1)
    count = len(joined)
    totals = np.empty((samples, joined.shape[1]))
    for start in range(0, samples, _BATCH_SIZE):
        some = totals[start : start + _BATCH_SIZE]
        draws = (random.choice(count, size=count) for _ in some)
        times = np.stack([np.bincount(draw, minlength=count) for draw in draws])
        some[:] = times.astype(joined.dtype) @ joined
    return totals[:, :-1].reshape(samples, len(units), -1), totals[:, -1]


def _difference(figure: str, difference: float, drawn: np.ndarray) -> Difference:
    beyond = (100 - CONFIDENCE) / 2
    low, high = np.percentile(drawn, [beyond, 100 - beyond])
    sizes = np.abs(drawn)
    # As in sacrebleu: how often chance alone makes a difference of this size, with this test set
    # counted as one such case. With no difference at all, this would give the smallest possible p.
    by_chance = int((sizes - sizes.mean() > abs(difference)).sum())
    p = (by_chance + 1) / (len(drawn) + 1) if difference else 1.0
    return Difference(figure, float(difference), float(low), float(high), p)
