"""Detect writes into served files, which should be replaced instead.

Served files are memory-mapped: a write changes what is read from then on, and reading past the end
of a file that became shorter crashes the process. Writing a new file and renaming it is harmless.
"""

import logging
import os
import weakref
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

from mtn_preprocess.errors import InputError

LOG = logging.getLogger(__name__)

State = Tuple[int, int, int, int]  # (device, inode, size, time of the last change)


class FilesChanged(Exception):
    """Served files cannot be trusted any more; the request was not answered from them."""


class HeldFiles:
    """Keeps files open, even if they are renamed or deleted.

    Args:
        paths: of existing files

    Raises:
        InputError: a file cannot be opened
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._states: Dict[int, State] = {}
        self._paths: Dict[int, Path] = {}
        self._have_changed = False
        for path in paths:
            try:
                number = os.open(path, os.O_RDONLY)
            except OSError as error:
                reason = f"cannot be read ({error.strerror})"
                raise InputError(reason, "check its permissions", path) from None
            weakref.finalize(self, os.close, number)
            self._paths[number], self._states[number] = path, _state(os.fstat(number))

    def check(self) -> None:
        """Raise FilesChanged after any change. Call it before and after reading."""
        if not self._have_changed:
            changed = self._changed()
            if changed:
                self._have_changed = True
                LOG.error("%s was changed in place; write a new version beside it", changed[0])
        if self._have_changed:
            raise FilesChanged

    def check_names(self) -> None:
        """Raise InputError if a name now belongs to another file."""
        for number, path in self._paths.items():
            try:
                is_same = _state(os.stat(path)) == self._states[number]
            except OSError:
                is_same = False
            if not is_same:
                raise InputError("was changed while it was read", "load it again", path)

    def _changed(self) -> List[Path]:
        found = self._states.items()
        return [self._paths[number] for number, at in found if _state(os.fstat(number)) != at]


def _state(found: os.stat_result) -> State:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
