"""A folder that appears whole or not at all, and scratch folders; standard library only.

A run that is killed (SIGKILL, power cut) cannot tidy up. The next run for the same output does:
every unfinished folder is locked by its owner, and the lock ends with the owner, however it ended.
A lock that is held elsewhere protects a folder; where folders cannot be locked, nothing is removed.
"""

import hashlib
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

PARTIAL, OLD = ".partial", ".old"


@contextmanager
def written_whole(place: Path, check: Callable[[], None]) -> Iterator[Path]:
    """A folder to write into, which is renamed to `place` when complete.

    An older folder gives way, and is still there if anything goes wrong.

    Args:
        place: absolute
        check: raises if what is at `place` must stay; called just before the folder is renamed
    """
    remove_leftovers(place)
    with _existing(place.parent), _owned(place.parent, f".{place.name}.", PARTIAL) as partial:
        yield partial
        check()
        old = partial.with_suffix(OLD)
        with _locked(place):  # also under its other name: it is not a leftover yet
            try:
                if place.exists():
                    place.rename(old)
                partial.rename(place)
            finally:
                if old.exists() and not place.exists():  # whatever came between, also Ctrl-C
                    old.rename(place)
                shutil.rmtree(old, ignore_errors=True)


@contextmanager
def scratch(parent: Path, place: Path) -> Iterator[Path]:
    """A folder in `parent` for what does not fit into memory, removed at the end.

    Args:
        place: the output that it serves; what killed runs for the same output left is removed first
    """
    output = hashlib.sha256(os.fsencode(os.path.abspath(place))).hexdigest()[:8]
    name = f".scratch-{output}-"
    for path in _unowned(parent, re.escape(name) + "[0-9a-f]{8}"):
        shutil.rmtree(path, ignore_errors=True)
    # Only for this user: it may hold queries.
    with _existing(parent), _owned(parent, name, mode=0o700) as folder:
        yield folder


def remove_leftovers(place: Path) -> None:
    """Remove what killed runs left beside `place`.

    A run that was killed between its two renames left nothing at `place`, only the older folder
    under another name: that one is put back.
    """
    name = rf"\.{re.escape(place.name)}\.[0-9a-f]{{8}}"
    for path in _unowned(place.parent, f"{name}({re.escape(PARTIAL)}|{re.escape(OLD)})"):
        if path.suffix == OLD and not os.path.lexists(place):
            path.rename(place)
        else:
            shutil.rmtree(path, ignore_errors=True)


def _unowned(parent: Path, pattern: str) -> Iterator[Path]:
    """The folders of such names whose owner is gone, each locked while it is dealt with."""
    try:
        names = sorted(name for name in os.listdir(parent) if re.fullmatch(pattern, name))
    except OSError:  # there is no such folder yet, or its names may not be read
        names = []
    for name in names:
        with _locked(parent / name) as locked:
            if locked and (parent / name).is_dir():
                yield parent / name


@contextmanager
def _owned(parent: Path, start: str, end: str = "", mode: int = 0o777) -> Iterator[Path]:
    """A new folder, locked as long as this process needs it, then removed if it still has its name.

    Its name is random and not the number of this process: in containers, all have the same.
    """
    while True:
        folder = parent / f"{start}{uuid.uuid4().hex[:8]}{end}"
        try:
            folder.mkdir(mode)
            with _locked(folder) as locked:
                if locked is not False:  # else another run took it for a leftover meanwhile
                    yield folder
                    return
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[Optional[bool]]:
    """Lock a folder. True: locked; False: another owner has it; None: it cannot be locked here."""
    with ExitStack() as stack:
        locked: Optional[bool] = None
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)  # and the lock with it
            locked = _lock(descriptor, folder)
        if not folder.exists():
            locked = False
        yield locked


def _lock(descriptor: int, folder: Path) -> Optional[bool]:
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    # The name may be another folder's by now, or a link to one.
    return os.path.samestat(os.fstat(descriptor), os.lstat(folder))


@contextmanager
def _existing(folder: Path) -> Iterator[None]:
    """Create a folder if need be; what was created and is empty at the end is removed."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        if made:
            folder.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        for each in made:
            with suppress(OSError):
                each.rmdir()
