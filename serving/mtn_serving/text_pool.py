"""Many texts in two arrays: sorted, each once, found by halving.

The arrays may be memory maps, so a pool of millions of queries opens at once and takes no memory
but for what is asked. A text is found by the text itself, so no two can be taken for each other.
What is asked is checked: a map may be of a damaged file, all of which nobody has read.
"""

from bisect import bisect_left
from functools import cached_property
from typing import Callable, Dict, Iterable, List, Optional, Sequence, overload

import numpy as np

_LAST_CHARACTER = chr(0x10FFFF)
_AT_HAND = 1024  # texts that are decoded once: reading them touches as many pages at most


class TextPool(Sequence[str]):
    """Texts in the order of their code points, which is the order of their UTF-8 bytes.

    Args:
        letters: all texts as UTF-8, one behind the other
        ends: where each ends in `letters`
        damaged: makes the error for arrays that cannot have been written so
    """

    def __init__(
        self,
        letters: np.ndarray,
        ends: np.ndarray,
        damaged: Callable[[], Exception] = ValueError,
    ) -> None:
        self.letters, self.ends, self.damaged = letters, ends, damaged
        # Halving reads single values, which numpy is slow at.
        self._letters = np.asarray(letters, dtype=np.uint8).data
        self._ends = np.asarray(ends, dtype=np.uint64).data

    @classmethod
    def of(cls, texts: Iterable[str]) -> "TextPool":
        return cls.in_order(sorted(set(texts)))

    @classmethod
    def in_order(cls, texts: Iterable[str]) -> "TextPool":
        """Of texts as they come, which are asked by their places only, never found."""
        encoded = [text.encode("utf-8") for text in texts]
        letters = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return cls(letters, np.cumsum([len(text) for text in encoded], dtype=np.uint64))

    def arrays(self, name: str) -> Dict[str, np.ndarray]:
        """What to save; `from_arrays` is the inverse."""
        return {f"{name}_letters": self.letters, f"{name}_ends": self.ends}

    @staticmethod
    def types(name: str) -> Dict[str, str]:
        """Of `arrays`."""
        return {f"{name}_letters": "<u1", f"{name}_ends": "<u8"}

    @classmethod
    def from_arrays(
        cls, arrays: Dict[str, np.ndarray], name: str, damaged: Callable[[], Exception] = ValueError
    ) -> "TextPool":
        return cls(arrays[f"{name}_letters"], arrays[f"{name}_ends"], damaged)

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> List[str]: ...

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not 0 <= index < len(self._ends):
            raise IndexError(index)
        start = self._ends[index - 1] if index else 0
        end = self._ends[index]
        if not start <= end <= len(self._letters):
            raise self.damaged()
        try:
            return str(self._letters[start:end], "utf-8")
        except UnicodeDecodeError:
            raise self.damaged() from None

    def find(self, text: str) -> Optional[int]:
        """Its place, or None."""
        place = self._first_not_below(text)
        return place if place < len(self) and self[place] == text else None

    def starting_with(self, prefix: str) -> range:
        """The places of all texts that start so: they stand side by side."""
        return range(self._first_not_below(prefix), self._first_not_below(prefix + _LAST_CHARACTER))

    def _first_not_below(self, text: str) -> int:
        """By halving, among some texts that are at hand, then in bytes between two of them: their
        order is that of the texts, and none has to be decoded."""
        place, step = bisect_left(self._some, text), self._step
        low, high = max(0, (place - 1) * step + 1), min(len(self), place * step)
        wanted = text.encode("utf-8", "surrogatepass")  # which people can type, and no text has
        letters, ends, size = self._letters, self._ends, len(self._letters)
        while low < high:
            middle = (low + high) // 2
            start, end = ends[middle - 1] if middle else 0, ends[middle]
            if not start <= end <= size:
                raise self.damaged()
            if bytes(letters[start:end]) < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    @cached_property
    def _some(self) -> List[str]:
        """Every so many texts."""
        return self[:: self._step]

    @property
    def _step(self) -> int:
        return 1 + len(self._ends) // _AT_HAND
