"""The one way in which commands write a file by name, whatever that name leads to."""

import errno
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Iterable, Iterator, Optional, Union

from mtn_preprocess.errors import InputError

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
            partial = _partial(path)
            partial.touch(exist_ok=False)
            partial.unlink()
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
    raises. A link stays, and what it leads to is replaced. A pipe or a device is written into."""
    with _refused_in_one_line(path):
        there = _status(path)
        if there is not None and not stat.S_ISREG(there.st_mode):
            with open(path, "wb") as stream:
                yield stream
            return
        partial = _partial(path)
        try:
            with open(partial, "wb") as stream:
                yield stream
            os.replace(partial, os.path.realpath(path))
        finally:
            if partial.exists():
                partial.unlink()


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


def _partial(path: str) -> Path:
    """Beside what a link leads to; short, since the name itself may be as long as names can be."""
    return Path(os.path.realpath(path)).with_name(f".partial-{os.getpid()}")


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
