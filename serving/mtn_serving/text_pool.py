"""Many texts in two arrays: sorted, distinct, found by binary search.

The arrays may be memory maps: a pool of millions of queries opens at once, and only the texts that
are looked up take memory. The search compares the texts themselves, so there are no collisions.
Each lookup checks what it reads: the file may be damaged, and nobody has read all of it.
"""

from bisect import bisect_left
from functools import cached_property
from typing import Callable, Dict, Iterable, List, Optional, Sequence, Tuple, overload

import numpy as np

_LAST_CHARACTER = chr(0x10FFFF)
_MAX_DECODED = 8192  # texts decoded once and kept: reading them touches at most as many pages


class TextPool(Sequence[str]):
    """Texts in code point order, which is also the order of their UTF-8 bytes.

    Args:
        letters: all texts as UTF-8, concatenated
        ends: where each text ends in `letters`
        damaged: makes the error for inconsistent arrays
    """

    def __init__(
        self,
        letters: np.ndarray,
        ends: np.ndarray,
        damaged: Callable[[], Exception] = ValueError,
    ) -> None:
        self.letters, self.ends, self.damaged = letters, ends, damaged
        # Binary search reads single values, and numpy is slow at that.
        self._letters = np.asarray(letters, dtype=np.uint8).data
        self._ends = np.asarray(ends, dtype=np.uint64).data

    @classmethod
    def of(cls, texts: Iterable[str]) -> "TextPool":
        return cls.in_order(sorted(set(texts)))

    @classmethod
    def in_order(cls, texts: Iterable[str]) -> "TextPool":
        """Keep the given order: such texts are read by position, never searched."""
        encoded = [text.encode("utf-8") for text in texts]
        letters = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return cls(letters, np.cumsum([len(text) for text in encoded], dtype=np.uint64))

    def arrays(self, name: str) -> Dict[str, np.ndarray]:
        """The arrays to save; `from_arrays` is the inverse."""
        return {f"{name}_letters": self.letters, f"{name}_ends": self.ends}

    @staticmethod
    def types(name: str) -> Dict[str, str]:
        """The types of `arrays`."""
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
        is_small = len(self._ends) < _MAX_DECODED
        return self._decoded[0][index] if is_small else self._text(index)

    def find(self, text: str) -> Optional[int]:
        """The position of a text, or None."""
        place = self._place_of_decoded.get(text)
        if place is not None or self._decoded[1] == 1:
            return place
        wanted = _utf8(text)
        place = self._first_not_below(text, wanted)
        return place if place < len(self._ends) and self._encoded(place) == wanted else None

    def starting_with(self, prefix: str) -> range:
        """The positions of all texts with this prefix, which are contiguous."""
        last = prefix + _LAST_CHARACTER
        return range(*(self._first_not_below(each, _utf8(each)) for each in (prefix, last)))

    def _first_not_below(self, text: str, wanted: bytes) -> int:
        """Binary search among the decoded texts, then between two of them. Bytes have the same
        order as texts, so no text is decoded.

        Args:
            wanted: the text's bytes
        """
        decoded, step = self._decoded
        place = bisect_left(decoded, text)
        low, high = max(0, (place - 1) * step + 1), min(len(self._ends), place * step)
        while low < high:
            middle = (low + high) // 2
            if self._encoded(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    def _text(self, index: int) -> str:
        try:
            return self._encoded(index).decode("utf-8")
        except UnicodeDecodeError:
            raise self.damaged() from None

    def _encoded(self, index: int) -> bytes:
        start, end = self._ends[index - 1] if index else 0, self._ends[index]
        if not start <= end <= len(self._letters):
            raise self.damaged()
        return bytes(self._letters[start:end])

    @cached_property
    def _decoded(self) -> Tuple[List[str], int]:
        """Every n-th text, and n."""
        step = 1 + len(self._ends) // _MAX_DECODED
        return [self._text(index) for index in range(0, len(self._ends), step)], step

    @cached_property
    def _place_of_decoded(self) -> Dict[str, int]:
        decoded, step = self._decoded
        return {text: place * step for place, text in enumerate(decoded)}


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # typed text may have surrogates
