"""Folders that appear complete or not at all, and scratch folders; standard library only.

The next run for the same output removes what a killed run left; see `ownership`.
"""

import hashlib
import os
import re
import shutil
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Callable, Collection, Iterator, List

from mtn_preprocess.files.ownership import RANDOM, locked, owned, unowned

PARTIAL, OLD = ".partial", ".old"


@contextmanager
def written_whole(place: Path, check: Callable[[], None]) -> Iterator[Path]:
    """A folder to write into, renamed to `place` when complete.

    An older folder is replaced, keeps its mode, and is restored if anything fails.

    Args:
        place: absolute path
        check: raises if `place` must not be replaced; called just before the renaming
    """
    remove_leftovers(place)
    with _created(place.parent), owned(place.parent, f".{place.name}.", PARTIAL) as partial:
        if place.is_dir():  # copy its mode: it may be closed to others
            partial.chmod(stat.S_IMODE(place.stat().st_mode) | stat.S_IRWXU)
        yield partial
        check()
        old = partial.with_suffix(OLD)
        with locked(place):  # the lock outlasts the renaming: the old folder is no leftover yet
            try:
                if place.exists():
                    place.rename(old)
                partial.rename(place)
            finally:
                if old.exists() and not place.exists():  # any failure in between, also Ctrl-C
                    old.rename(place)
                shutil.rmtree(old, ignore_errors=True)


@contextmanager
def scratch(parent: Path, place: Path) -> Iterator[Path]:
    """A folder in `parent` for data that does not fit into memory, removed at the end.

    Args:
        place: the output it belongs to; leftovers of killed runs for the same output are removed
            first, from `parent` and from the output's folder
    """
    output = Path(os.path.realpath(place))  # one name per output, whatever the path
    name = f".scratch-{hashlib.sha256(os.fsencode(output)).hexdigest()[:8]}-"
    for folder in (parent, output.parent):
        for path in unowned(folder, re.escape(name) + RANDOM):
            shutil.rmtree(path, ignore_errors=True)
    # Readable by this user only: it may hold queries.
    with _created(parent), owned(parent, name, create=lambda path: path.mkdir(0o700)) as folder:
        yield folder


def remove_leftovers(place: Path) -> None:
    """Remove what killed runs left beside `place`.

    A run killed between its two renames left only the older folder under another name: restore it.
    """
    name = rf"\.{re.escape(place.name)}\.{RANDOM}"
    for path in unowned(place.parent, f"{name}({re.escape(PARTIAL)}|{re.escape(OLD)})"):
        if not path.is_dir():
            continue
        if path.suffix == OLD and not os.path.lexists(place):
            path.rename(place)
        else:
            shutil.rmtree(path, ignore_errors=True)


def foreign_names(folder: Path, ours: Collection[str]) -> List[str]:
    """The names in the folder that are not files named in `ours`; folders end with a slash."""
    return sorted(
        each.name + "/" * each.is_dir()
        for each in folder.iterdir()
        if each.name not in ours or not each.is_file()
    )


@contextmanager
def _created(folder: Path) -> Iterator[None]:
    """Create the folder if needed; at the end, remove created folders that are empty."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        if made:
            folder.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        for each in made:
            with suppress(OSError):
                each.rmdir()
