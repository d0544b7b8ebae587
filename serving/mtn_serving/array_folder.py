"""A folder of arrays that opens by memory map."""

from pathlib import Path
from typing import Any, Collection, Dict, Sequence, Tuple

import numpy as np

from mtn_preprocess.errors import InputError

from .kept_folder import HEADER, Kind, check_file, check_size, new_folder, read_header

Types = Dict[str, str]  # of the arrays, by name


def file_of(name: str) -> str:
    return f"{name}.npy"


def save_arrays(
    folder: Path, kind: Kind, facts: Dict[str, Any], arrays: Dict[str, np.ndarray], types: Types
) -> None:
    lengths = {name: len(arrays[name]) for name in types}
    with new_folder(folder, kind, {**facts, "lengths": lengths}) as partial:
        for name, kept_as in types.items():
            array = arrays[name].astype(kept_as, copy=False)
            np.save(partial / file_of(name), array, allow_pickle=False)


def open_arrays(
    folder: Path,
    kind: Kind,
    types: Types,
    verify: bool = False,
    added_later: Sequence[Collection[str]] = (),
) -> Tuple[Dict[str, Any], Dict[str, np.ndarray]]:
    """-> (header, arrays); files of the wrong size are refused, and nothing else is read yet.

    Args:
        types: of the arrays in a folder of this kind
        verify: read all files once, and refuse changed ones
        added_later: groups of arrays that older folders lack; a folder has all arrays of a group,
            or none: they are then empty
    """
    header = read_header(folder, kind)
    lengths = header.get("lengths")
    if isinstance(lengths, dict):
        older = [name for group in added_later if not set(lengths) & set(group) for name in group]
        types = {name: kept_as for name, kept_as in types.items() if name not in older}
    if not isinstance(lengths, dict) or set(lengths) != set(types):
        raise InputError("of another version", kind.again, folder / HEADER)
    if not all(isinstance(length, int) and length >= 0 for length in lengths.values()):
        raise InputError("damaged", kind.again, folder / HEADER)
    check = check_file if verify else check_size
    paths = {name: check(folder, kind, header, file_of(name)) for name in types}
    arrays = {name: _map(paths[name], kind, types[name], lengths[name]) for name in types}
    return header, {**{name: np.empty(0) for group in added_later for name in group}, **arrays}


def _map(path: Path, kind: Kind, kept_as: str, length: int) -> np.ndarray:
    """Type and length are known, so the file's own header need not be parsed."""
    if length == 0:
        return np.empty(0, kept_as)
    size = length * np.dtype(kept_as).itemsize
    try:
        start = path.stat().st_size - size
        array = np.memmap(path, kept_as, mode="r", offset=start, shape=(length,))
    except (OSError, ValueError, OverflowError) as error:
        raise InputError(f"cannot be mapped ({error})", kind.again, path) from None
    return array.view(np.ndarray)  # the same map; access by `np.memmap` is slow
