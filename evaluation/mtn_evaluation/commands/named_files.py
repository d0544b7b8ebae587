"""Parse `NAME=FILE` arguments."""

import os
from typing import Dict, List, Sequence, Tuple

from mtn_preprocess.errors import InputError


def named_file(given: str) -> Tuple[str, str]:
    """(name, path); a path without a name is its own name."""
    name, sign, path = given.partition("=")
    if os.path.exists(given) or not (name and sign):
        name = path = given
    if not path:
        raise InputError(f"{given!r}: no name of a file", "write NAME=FILE")
    return name, path


def files_by_name(given: Sequence[str]) -> Dict[str, List[str]]:
    """The files of each system; a repeated name adds a shard."""
    files: Dict[str, List[str]] = {}
    for name, path in map(named_file, given):
        files.setdefault(name, []).append(path)
    return files
