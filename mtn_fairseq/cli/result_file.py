"""A file that a command writes beside its standard output."""

import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import Iterable, Iterator, Optional, Union

from ..errors import InputError


def check_result_file(path: str, inputs: Iterable[Union[str, int]]) -> None:
    """Refuse what `write_result_file` could not write, or should not. Ask before long work.

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
    if stat.S_ISREG(there.st_mode) and _is_same(there, 1):
        raise InputError("standard output goes there, too", "name another file to write", path)


def write_result_file(path: str, content: str) -> None:
    """A file appears under its name only when complete; a link stays, and so does a pipe."""
    with _refused_in_one_line(path):
        there = _status(path)
        if there is not None and not stat.S_ISREG(there.st_mode):
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(content)
            return
        partial = _partial(path)
        try:
            partial.write_text(content, encoding="utf-8")
            os.replace(partial, os.path.realpath(path))
        finally:
            if partial.exists():
                partial.unlink()


@contextmanager
def _refused_in_one_line(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
        raise InputError(reason, "name a file in a folder that can be written to", path) from None


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
