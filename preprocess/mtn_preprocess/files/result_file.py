"""The one way in which commands write a file by name, whatever that name leads to."""

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
    """Refuse what `open_result_file` could not write, or should not. Ask before long work.

    Args:
        inputs: what the command reads: paths, or descriptors of open files
    """
    with _refused_in_one_line(path):
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
    # A file that is replaced, or written twice at once, would lose the one or the other.
    for descriptor, stream in _STREAMS.items():
        if stat.S_ISREG(there.st_mode) and _is_same(there, descriptor):
            raise InputError(f"{stream} goes there, too", "name another file to write", path)


def write_result_file(path: str, content: Union[str, bytes]) -> None:
    """A short one, all at once; text is UTF-8."""
    with open_result_file(path) as stream:
        stream.write(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def open_result_file(path: str) -> Iterator[BinaryIO]:
    """A file appears under its name only when complete: nothing of it is left when the caller
    raises. A link stays, and what it leads to is replaced, and keeps its mode and owner. A pipe or
    a device is written into."""
    with _refused_in_one_line(path):
        there = _status(path)
        if there is not None and not stat.S_ISREG(there.st_mode):
            with open(path, "wb") as stream:
                yield stream
            return
        with _partial(path) as partial:
            with open(partial, "wb") as stream:
                if there is not None:
                    _give_mode_and_owner(partial, there)
                yield stream
            os.replace(partial, os.path.realpath(path))


@contextmanager
def _refused_in_one_line(path: str) -> Iterator[None]:
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
    """A new file beside what a link leads to, gone at the end, like those that killed runs left.

    Its name is short, since that of the file itself may be as long as names can be.
    """
    place = Path(os.path.realpath(path))
    name = f".partial-{hashlib.sha256(os.fsencode(place.name)).hexdigest()[:8]}-"
    for leftover in unowned(place.parent, re.escape(name) + RANDOM):
        if leftover.is_file():
            remove(leftover)
    with owned(place.parent, name, create=lambda new: new.touch(exist_ok=False)) as partial:
        yield partial


def _give_mode_and_owner(partial: Path, there: os.stat_result) -> None:
    """Those of the file to be replaced, as far as one may: only root gives files away."""
    if hasattr(os, "chown"):  # not on Windows
        with suppress(OSError):
            os.chown(partial, there.st_uid, there.st_gid)
    with suppress(OSError):  # some file systems know no modes
        partial.chmod(stat.S_IMODE(there.st_mode))


def _status(path: Union[str, int]) -> Optional[os.stat_result]:
    """Of what a link leads to; None if nothing is there."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _is_same(there: os.stat_result, other: Union[str, int]) -> bool:
    try:
        found = _status(other)
    except OSError:  # whoever reads it says what is wrong with it
        return False
    return found is not None and os.path.samestat(there, found)
