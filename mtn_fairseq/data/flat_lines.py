"""Read many binarised lines at once, where line by line would take too long."""

from typing import Iterator, List, NamedTuple, Sequence, Tuple, Union

import numpy as np
from fairseq.data import FairseqDataset
from fairseq.data.indexed_dataset import MMapIndexedDataset
from torch import Tensor

TokenLines = Union[FairseqDataset, List[Tensor]]

_BATCH_SIZE = 100_000


class FlatLines(NamedTuple):
    """The tokens of consecutive lines in one array."""

    tokens: np.ndarray
    sizes: np.ndarray  # tokens per line

    @classmethod
    def of(cls, lines: Sequence[np.ndarray]) -> "FlatLines":
        sizes = np.array([len(line) for line in lines], dtype=np.int64)
        return cls(np.concatenate([*lines, np.empty(0, dtype=np.int64)]), sizes)

    @property
    def starts(self) -> np.ndarray:
        return np.cumsum(self.sizes) - self.sizes


def read_lines(dataset: TokenLines, start: int, stop: int) -> FlatLines:
    if hasattr(dataset, "read_lines"):
        return dataset.read_lines(start, stop)
    if not isinstance(dataset, MMapIndexedDataset) or start >= stop:
        return FlatLines.of([dataset[i].numpy() for i in range(start, stop)])
    # fairseq-preprocess writes the lines in order, without gaps. fairseq's reader returns one line
    # per call, which takes fifty times as long.
    sizes = dataset.sizes[start:stop].astype(np.int64)
    first, _ = dataset._index[start]
    tokens = np.frombuffer(
        dataset._bin_buffer, dtype=dataset._index.dtype, count=int(sizes.sum()), offset=first
    )
    return FlatLines(tokens.copy(), sizes)  # a copy, as the file is closed with the dataset


def pieces(lines: int) -> Iterator[Tuple[int, int]]:
    """(start, stop) of parts that fit into memory; a single empty part if there are no lines."""
    for start in range(0, max(lines, 1), _BATCH_SIZE):
        yield start, min(start + _BATCH_SIZE, lines)
