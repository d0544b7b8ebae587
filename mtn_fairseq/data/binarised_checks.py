"""Check that binarised files are as fairseq-preprocess wrote them.

One kind of damage cannot be detected: a token or letter replaced by another valid one.
"""

import os
import struct
from pathlib import Path
from typing import NamedTuple, Optional, Tuple

import numpy as np
from fairseq.data import Dictionary

from mtn_preprocess.errors import InputError

from .flat_lines import FlatLines, TokenLines, pieces, read_lines
from .spelled_words import DIGITS, is_well_spelled

_REMEDY = "run fairseq-preprocess again"
_WIDTHS = {4: 4, 5: 8, 8: 2, 9: 4}  # fairseq's code of an integer type -> bytes per integer


class _Index(NamedTuple):
    """Contents of an index file."""

    kinds: Tuple[str, ...]  # values of --dataset-impl that read it
    width: int  # bytes per token
    sizes: np.ndarray  # tokens per line
    starts: np.ndarray  # offset of each line
    step: int  # offset per token: `width` if offsets are in bytes, 1 if they are in tokens


def check_files(prefix: str, dataset_impl: Optional[str]) -> None:
    """Refuse `prefix.idx` and `prefix.bin` that are cut off, overwritten or empty."""
    index_path, data_path = Path(f"{prefix}.idx"), Path(f"{prefix}.bin")
    try:
        content = np.memmap(index_path, mode="r")  # ValueError if the file is empty
        index = _READERS[content[:8].tobytes()](content)
    except (KeyError, ValueError, struct.error):
        raise InputError("damaged, or no index of binarised lines", _REMEDY, index_path) from None
    if dataset_impl is not None and dataset_impl not in index.kinds:
        reason = f"not a file for --dataset-impl {dataset_impl}"
        raise InputError(reason, f"pass {index.kinds[0]}, or nothing", index_path)
    if not len(index.sizes):
        raise InputError("no pairs", f"check the text files, and {_REMEDY}", index_path)
    ends = np.cumsum(index.sizes, dtype=np.int64)
    starts = np.append(0, ends[:-1]) * index.step
    if index.sizes.min() < 1 or not np.array_equal(index.starts, starts):
        raise InputError("damaged: its lines do not follow each other", _REMEDY, index_path)
    found, expected = os.path.getsize(data_path), int(ends[-1]) * index.width
    if found != expected:
        reason = f"damaged: {found:,} bytes, and {expected:,} according to its index"
        raise InputError(reason, _REMEDY, data_path)


def _mmap_index(content: np.ndarray) -> _Index:
    last, version, code, lines = struct.unpack_from("<BQBQ", content.data, 8)
    if (last, version) != (0, 1) or len(content) != 26 + 12 * lines:
        raise ValueError
    sizes = np.frombuffer(content, np.int32, lines, 26)
    starts = np.frombuffer(content, np.int64, lines, 26 + 4 * lines)
    return _Index(("mmap",), _WIDTHS[code], sizes, starts, step=_WIDTHS[code])


def _cached_index(content: np.ndarray) -> _Index:
    version, code, width, lines, dimensions = struct.unpack_from("<5Q", content.data, 8)
    if (version, width, dimensions) != (1, _WIDTHS[code], lines):
        raise ValueError
    if len(content) != 48 + 8 * (3 * lines + 2):
        raise ValueError
    places, starts, sizes = np.split(
        np.frombuffer(content, np.int64, offset=48), [lines + 1, 2 * (lines + 1)]
    )
    if not np.array_equal(places, np.arange(lines + 1)) or starts[-1] != sizes.sum():
        raise ValueError
    return _Index(("cached", "lazy"), width, sizes, starts[:-1], step=1)


# Readers by the first eight bytes. They raise KeyError, ValueError or struct.error on damage.
_READERS = {b"MMIDIDX\0": _mmap_index, b"TNTIDX\0\0": _cached_index}


def check_tokens(lines: TokenLines, dictionary: Dictionary, name: str) -> None:
    """Refuse lines that cannot result from binarising text with this dictionary."""
    for start, stop in pieces(len(lines)):
        part = read_lines(lines, start, stop)
        if not _is_well_formed(part, dictionary):
            split = np.split(part.tokens, part.starts[1:])
            number = next(
                number
                for number, line in enumerate(split, start + 1)
                if not _is_well_formed(FlatLines.of([line]), dictionary)
            )
            raise InputError("damaged line, or one of another dictionary", _REMEDY, name, number)


def _is_well_formed(lines: FlatLines, dictionary: Dictionary) -> bool:
    """Whether each line has words (known or spelled out) and ends in its only `</s>`."""
    tokens, last = lines.tokens, lines.tokens[lines.starts + lines.sizes - 1]
    symbols = sum(
        np.count_nonzero(tokens == symbol)
        for symbol in (dictionary.bos(), dictionary.pad(), dictionary.eos())
    )
    return bool(
        symbols == len(lines.sizes)
        and (last == dictionary.eos()).all()
        and tokens.min() >= 0
        and tokens.max() < len(dictionary) + DIGITS
        and is_well_spelled(tokens, len(dictionary), dictionary.unk())
    )
