"""A folder of arrays and a header, which appears whole or not at all and opens by memory map."""

import json
import os
import shutil
import uuid
from pathlib import Path
from typing import Any, Dict, Tuple

import numpy as np

from ..errors import InputError

HEADER = "header.json"
_AGAIN = "make the folder again"


def save_folder(
    folder: Path, kind: str, schema: int, facts: Dict[str, Any], arrays: Dict[str, np.ndarray]
) -> None:
    """Takes the place of an older folder of the same kind, and of nothing else."""
    if os.path.lexists(folder):
        read_header(folder, kind)
    header = {
        "kind": kind,
        "schema": schema,
        **facts,
        "arrays": {name: [str(each.dtype), len(each)] for name, each in sorted(arrays.items())},
    }
    place = Path(os.path.abspath(folder))
    unique = f".{place.name}.{uuid.uuid4().hex[:8]}"
    partial, old = place.with_name(f"{unique}.partial"), place.with_name(f"{unique}.old")
    try:
        partial.mkdir(parents=True)
        for name, array in arrays.items():
            np.save(partial / f"{name}.npy", array, allow_pickle=False)
        text = json.dumps(header, indent=2) + "\n"
        (partial / HEADER).write_text(text, encoding="utf-8")
        if place.exists():
            place.rename(old)
        partial.rename(place)
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
        raise InputError(reason, "check its permissions and the free space", folder) from None
    finally:
        if old.exists() and not place.exists():
            old.rename(place)
        for rest in (partial, old):
            shutil.rmtree(rest, ignore_errors=True)


def open_folder(
    folder: Path, kind: str, schema: int
) -> Tuple[Dict[str, Any], Dict[str, np.ndarray]]:
    """(header, arrays). Files of another size are refused; nothing is read but what is asked."""
    header = read_header(folder, kind)
    if header.get("schema") != schema:
        found = header.get("schema")
        raise InputError(f"of schema {found}, not {schema}", _AGAIN, folder / HEADER)
    return header, {name: _open(folder, name, header["arrays"][name]) for name in header["arrays"]}


def read_header(folder: Path, kind: str) -> Dict[str, Any]:
    path = folder / HEADER
    if not path.is_file():
        raise InputError(f"no {kind}: it has no {HEADER}", "give the folder of one", folder)
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        header = None
    if not isinstance(header, dict) or not isinstance(header.get("arrays"), dict):
        raise InputError("damaged", _AGAIN, path)
    if header.get("kind") != kind:
        raise InputError(f"not of {kind}", "give a folder of these, or another name", path)
    return header


def _open(folder: Path, name: str, expected: Any) -> np.ndarray:
    path = folder / f"{name}.npy"
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):
        raise InputError("missing or damaged", _AGAIN, path) from None
    if [str(array.dtype), *array.shape] != expected:
        raise InputError("not the one that its header describes", _AGAIN, path)
    return array.view(np.ndarray)  # of the same map; numpy's own class for maps is slow to ask
