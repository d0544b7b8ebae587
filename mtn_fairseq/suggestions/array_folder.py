"""A folder of arrays that opens by memory map."""

from pathlib import Path
from typing import Any, Dict, Tuple

import numpy as np

from ..errors import InputError
from .kept_folder import HEADER, Kind, new_folder, read_header


def save_arrays(
    folder: Path, kind: Kind, facts: Dict[str, Any], arrays: Dict[str, np.ndarray]
) -> None:
    described = {name: [str(each.dtype), len(each)] for name, each in sorted(arrays.items())}
    with new_folder(folder, kind, {**facts, "arrays": described}) as partial:
        for name, array in arrays.items():
            np.save(partial / f"{name}.npy", array, allow_pickle=False)


def open_arrays(folder: Path, kind: Kind) -> Tuple[Dict[str, Any], Dict[str, np.ndarray]]:
    """(header, arrays). Files of another size are refused; nothing is read but what is asked."""
    header = read_header(folder, kind)
    described = header.get("arrays")
    if not isinstance(described, dict):
        raise InputError("damaged", kind.again, folder / HEADER)
    return header, {name: _open(folder, kind, name, described[name]) for name in described}


def _open(folder: Path, kind: Kind, name: str, expected: Any) -> np.ndarray:
    path = folder / f"{name}.npy"
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise InputError("missing or damaged", kind.again, path) from None
    if [str(array.dtype), *array.shape] != expected:
        raise InputError("not the one that its header describes", kind.again, path)
    return array.view(np.ndarray)  # of the same map; numpy's own class for maps is slow to ask
