"""The most frequent items of a range of numbers, found without sorting the range.

Queries are numbered in the order of their texts, so queries with a common prefix are a range. A
prefix of one letter may match a tenth of millions of queries.
"""

from typing import List

import numpy as np

_BLOCK = 256  # numbers per block; the largest count of each block is known


class MostFrequent:
    """Finds the largest counts of a range.

    Args:
        counts: of the numbers 0, 1, 2, …; may be a memory map, which is read once
    """

    def __init__(self, counts: np.ndarray) -> None:
        self.counts = counts
        starts = np.arange(0, len(counts), _BLOCK)
        self._largest = np.maximum.reduceat(counts, starts) if len(counts) else counts

    def of(self, numbers: range, most: int) -> List[int]:
        """Numbers with the largest counts, largest first; ties go to the smaller number."""
        first, last = -(-numbers.start // _BLOCK), numbers.stop // _BLOCK
        if last - first <= most:
            return self._largest_of(np.arange(numbers.start, numbers.stop), most)
        # The largest counts are in the blocks with the largest maxima, or at the ends.
        blocks = first + largest_places(self._largest[first:last], most)
        within = (blocks[:, None] * _BLOCK + np.arange(_BLOCK)).ravel()
        ends = np.r_[numbers.start : first * _BLOCK, last * _BLOCK : numbers.stop]
        return self._largest_of(np.sort(np.concatenate([within, ends])), most)

    def _largest_of(self, numbers: np.ndarray, most: int) -> List[int]:
        return numbers[largest_places(self.counts[numbers], most)].tolist()


def largest_places(counts: np.ndarray, most: int) -> np.ndarray:
    """Positions of the largest counts, largest first; ties keep their order."""
    if len(counts) > most:
        smallest_kept = np.partition(counts, len(counts) - most)[len(counts) - most]
        places = np.flatnonzero(counts >= smallest_kept)
    else:
        places = np.arange(len(counts))
    return places[np.argsort(-counts[places].astype(np.int64), kind="stable")[:most]]
