"""Items and counts for each of many keys, most frequent first, in three arrays.

The arrays may be memory maps of a damaged file that nobody has read in full: each list is checked
when it is read.
"""

from math import inf
from typing import Callable, Dict, Optional, Sequence, Tuple

import numpy as np


class RankedLists:
    """For the keys 0, 1, 2, …: items with their counts.

    Args:
        ends: where the list of each key ends
        items: all lists, concatenated
        counts: as long as `items`
        size: upper bound of the items, exclusive
        damaged: makes the error for inconsistent arrays
    """

    def __init__(
        self,
        ends: np.ndarray,
        items: np.ndarray,
        counts: np.ndarray,
        size: float = inf,
        damaged: Callable[[], Exception] = ValueError,
    ) -> None:
        self.ends, self.items, self.counts = ends, items, counts
        self.size, self.damaged = size, damaged

    @classmethod
    def count(cls, keys: Sequence[int], items: Sequence[int], size: int) -> "RankedLists":
        """Count events: event i is one occurrence of `items[i]` with `keys[i]` < `size`."""
        packed = (np.asarray(keys, dtype=np.uint64) << np.uint64(32)) | np.asarray(items, np.uint64)
        events, counts = np.unique(packed, return_counts=True)
        return cls.rank(events >> np.uint64(32), events & np.uint64(0xFFFFFFFF), counts, size)

    @classmethod
    def rank(
        cls,
        keys: np.ndarray,
        items: np.ndarray,
        counts: np.ndarray,
        size: int,
        longest: Optional[int] = None,
    ) -> "RankedLists":
        """Sort each list by count and keep the first `longest` items. Ties go to the smaller
        number: with numbers in the order of the texts, the order of the data does not matter.
        """
        order = np.lexsort([items, -counts.astype(np.int64), keys])
        keys, items, counts = keys[order], items[order], counts[order]
        if longest is not None and len(keys):
            starts = np.searchsorted(keys, keys, side="left")
            kept = np.arange(len(keys)) - starts < longest
            keys, items, counts = keys[kept], items[kept], counts[kept]
        ends = np.searchsorted(keys, np.arange(size, dtype=keys.dtype), side="right")
        return cls(ends.astype(np.uint64), items.astype(np.uint32), counts.astype(np.uint32))

    def keys(self) -> np.ndarray:
        """The key of each item."""
        return np.searchsorted(self.ends, np.arange(len(self.items)), side="right").astype(
            np.uint64
        )

    def with_counts(self, counts: np.ndarray) -> "RankedLists":
        """The same items with other counts, in the same order: by the old counts."""
        return RankedLists(self.ends, self.items, counts, self.size, self.damaged)

    def arrays(self, name: str) -> Dict[str, np.ndarray]:
        """The arrays to save; `from_arrays` is the inverse."""
        return {f"{name}_ends": self.ends, name: self.items, f"{name}_counts": self.counts}

    @staticmethod
    def types(name: str) -> Dict[str, str]:
        """The types of `arrays`."""
        return {f"{name}_ends": "<u8", name: "<u4", f"{name}_counts": "<u4"}

    @classmethod
    def from_arrays(
        cls,
        arrays: Dict[str, np.ndarray],
        name: str,
        size: float = inf,
        damaged: Callable[[], Exception] = ValueError,
    ) -> "RankedLists":
        return cls(arrays[f"{name}_ends"], arrays[name], arrays[f"{name}_counts"], size, damaged)

    def __getitem__(self, key: int) -> Tuple[np.ndarray, np.ndarray]:
        """(items, counts) of a key, most frequent first."""
        start = int(self.ends[key - 1]) if key else 0
        end = int(self.ends[key])
        if not start <= end <= len(self.items):
            raise self.damaged()
        items, counts = self.items[start:end], self.counts[start:end]
        # For short lists, the methods `min` and `max` cost more than all else here.
        least, largest = np.minimum.reduce, np.maximum.reduce
        if end > start and (least(counts) == 0 or largest(items) >= self.size):
            raise self.damaged()
        return items, counts
