"""Unfinished files and folders are locked by their process; unlocked ones are leftovers.

A killed run (SIGKILL, power cut) cannot clean up, so the next run for the same output does. The
owner locks everything unfinished, and the lock ends with the owner, however the owner ends. A lock
held by another process protects its file. Where locking is not possible, nothing is removed.
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

RANDOM = "[0-9a-f]{8}"  # the random part of a name


@contextmanager
def owned(
    parent: Path, start: str, end: str = "", create: Callable[[Path], object] = Path.mkdir
) -> Iterator[Path]:
    """Create a locked file or folder; remove it at the end if it still has this name.

    The name is random instead of the process ID, which is often the same in all containers.

    Args:
        create: creates the path, or raises if it exists
    """
    while True:
        path = parent / f"{start}{uuid.uuid4().hex[:8]}{end}"
        create(path)
        try:
            with locked(path) as is_locked:
                if is_locked is not False:  # False: another run took it for a leftover
                    yield path
                    return
        finally:
            remove(path)


def unowned(parent: Path, pattern: str) -> Iterator[Path]:
    """The paths that match and have no owner, each locked while the caller handles it."""
    try:
        names = sorted(name for name in os.listdir(parent) if re.fullmatch(pattern, name))
    except OSError:  # the folder does not exist yet or is not readable
        names = []
    for name in names:
        with locked(parent / name) as is_locked:
            if is_locked:
                yield parent / name


def remove(path: Path) -> None:
    """Remove a file or a folder with its content; ignore what cannot be removed."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


@contextmanager
def locked(path: Path) -> Iterator[Optional[bool]]:
    """Try to lock. True: locked; False: another owner has the lock; None: cannot be locked here."""
    with ExitStack() as stack:
        is_locked: Optional[bool] = None
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            stack.callback(os.close, descriptor)  # which also releases the lock
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
    # The name may have become a link or belong to a new file.
    return os.path.samestat(os.fstat(descriptor), os.lstat(path))
