"""Unfinished files and folders belong to a process, and what killed processes left to nobody.

A run that is killed (SIGKILL, power cut) cannot tidy up. The next run for the same output does:
whatever is unfinished is locked by its owner, and the lock ends with the owner, however it ended.
A lock that is held elsewhere protects it; where nothing can be locked, nothing is removed.
"""

import os
import re
import shutil
import uuid
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Callable, Iterator, Optional

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

RANDOM = "[0-9a-f]{8}"  # the part of a name that is the owner's


@contextmanager
def owned(
    parent: Path, start: str, end: str = "", create: Callable[[Path], object] = Path.mkdir
) -> Iterator[Path]:
    """Something new, locked as long as this process needs it, then removed if still so named.

    Its name is random and not the number of this process: in containers, all have the same.

    Args:
        create: makes what has this name, or raises if there is such a name already
    """
    while True:
        path = parent / f"{start}{uuid.uuid4().hex[:8]}{end}"
        create(path)
        try:
            with locked(path) as is_locked:
                if is_locked is not False:  # else another run took it for a leftover meanwhile
                    yield path
                    return
        finally:
            remove(path)


def unowned(parent: Path, pattern: str) -> Iterator[Path]:
    """What has such names and no owner any more, each locked while it is dealt with."""
    try:
        names = sorted(name for name in os.listdir(parent) if re.fullmatch(pattern, name))
    except OSError:  # there is no such folder yet, or its names may not be read
        names = []
    for name in names:
        with locked(parent / name) as is_locked:
            if is_locked:
                yield parent / name


def remove(path: Path) -> None:
    """A file, or a folder with all that it holds; what cannot be removed stays."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


@contextmanager
def locked(path: Path) -> Iterator[Optional[bool]]:
    """Lock it. True: locked; False: another owner has it; None: it cannot be locked here."""
    with ExitStack() as stack:
        is_locked: Optional[bool] = None
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            stack.callback(os.close, descriptor)  # and the lock with it
            is_locked = _lock(descriptor, path)
        if not path.exists():
            is_locked = False
        yield is_locked


def _lock(descriptor: int, path: Path) -> Optional[bool]:
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    # The name may be another one's by now, or a link.
    return os.path.samestat(os.fstat(descriptor), os.lstat(path))
