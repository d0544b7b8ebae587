"""How all commands write a file, whether its name is a file, a link, a pipe or a device."""

import errno
import hashlib
import os
import re
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Iterable, Iterator, Optional, Union

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.ownership import RANDOM, owned, remove, unowned

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_STREAMS = {1: "standard output", 2: "standard error"}


def check_result_file(path: str, inputs: Iterable[Union[str, int]] = ()) -> None:
    """Refuse a path that `open_result_file` cannot or must not write. Call it before long work.

    Args:
        inputs: what the command reads: paths, or descriptors of open files
    """
    with _as_input_error(path):
        if not path:
            raise FileNotFoundError(0, "no name")
        there = _status(path)
        if there is None or stat.S_ISREG(there.st_mode):
            with _partial(path):
                pass
        if there is None:
            return
        if stat.S_ISDIR(there.st_mode):
            raise IsADirectoryError(0, "a folder")
        if not os.access(path, os.W_OK):
            raise PermissionError(0, "no permission")
    if any(_is_same(there, each) for each in inputs):
        raise InputError("one of the files to read", "name another file to write", path)
    # Replacing this file, or writing it twice at once, would lose one of the outputs.
    for descriptor, stream in _STREAMS.items():
        if stat.S_ISREG(there.st_mode) and _is_same(there, descriptor):
            raise InputError(f"{stream} goes there, too", "name another file to write", path)


def write_result_file(path: str, content: Union[str, bytes]) -> None:
    """Write short content at once; text becomes UTF-8."""
    with open_result_file(path) as stream:
        stream.write(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def open_result_file(path: str) -> Iterator[BinaryIO]:
    """The file appears under its name only when complete; if the caller raises, nothing is left.

    A link stays: its target is replaced and keeps its mode and owner. A pipe or a device is written
    to directly.
    """
    with _as_input_error(path):
        there = _status(path)
        if there is not None and not stat.S_ISREG(there.st_mode):
            with open(path, "wb") as stream:
                yield stream
            return
        with _partial(path) as partial:
            with open(partial, "wb") as stream:
                if there is not None:
                    _copy_mode_and_owner(partial, there)
                yield stream
            os.replace(partial, os.path.realpath(path))


@contextmanager
def _as_input_error(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = f"cannot be written ({error.strerror or error})"
        remedy = "name a file in a folder that can be written to"
        if error.errno in DISK_FULL:
            remedy = "make room, and run it again"
        raise InputError(reason, remedy, path) from None


@contextmanager
def _partial(path: str) -> Iterator[Path]:
    """A new file beside the link's target, removed at the end; also removes killed runs' leftovers.

    Its name is short because the file's own name may already have the maximum length.
    """
    place = Path(os.path.realpath(path))
    name = f".partial-{hashlib.sha256(os.fsencode(place.name)).hexdigest()[:8]}-"
    for leftover in unowned(place.parent, re.escape(name) + RANDOM):
        if leftover.is_file():
            remove(leftover)
    with owned(place.parent, name, create=lambda new: new.touch(exist_ok=False)) as partial:
        yield partial


def _copy_mode_and_owner(partial: Path, there: os.stat_result) -> None:
    """Copy mode and owner of the file to be replaced; only root may change owners."""
    if hasattr(os, "chown"):  # not on Windows
        with suppress(OSError):
            os.chown(partial, there.st_uid, there.st_gid)
    with suppress(OSError):  # some file systems have no modes
        partial.chmod(stat.S_IMODE(there.st_mode))


def _status(path: Union[str, int]) -> Optional[os.stat_result]:
    """The status of the path or its link target; None if it does not exist."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _is_same(there: os.stat_result, other: Union[str, int]) -> bool:
    try:
        found = _status(other)
    except OSError:  # the code that reads it reports the error
        return False
    return found is not None and os.path.samestat(there, found)
