"""A folder that appears whole or not at all, and scratch folders; standard library only.

What a killed run leaves of them, the next run for the same output removes: see `ownership`.
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
    """A folder to write into, which is renamed to `place` when complete.

    An older folder gives way, and is still there if anything goes wrong. Its mode is kept.

    Args:
        place: absolute
        check: raises if what is at `place` must stay; called just before the folder is renamed
    """
    remove_leftovers(place)
    with _existing(place.parent), owned(place.parent, f".{place.name}.", PARTIAL) as partial:
        if place.is_dir():  # perhaps closed to others: so is what is being written
            partial.chmod(stat.S_IMODE(place.stat().st_mode) | stat.S_IRWXU)
        yield partial
        check()
        old = partial.with_suffix(OLD)
        with locked(place):  # also under its other name: it is not a leftover yet
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
        place: the output that it serves; what killed runs for the same output left, here or beside
            it, is removed first
    """
    output = Path(os.path.realpath(place))  # one output, however it is called
    name = f".scratch-{hashlib.sha256(os.fsencode(output)).hexdigest()[:8]}-"
    for folder in (parent, output.parent):
        for path in unowned(folder, re.escape(name) + RANDOM):
            shutil.rmtree(path, ignore_errors=True)
    # Only for this user: it may hold queries.
    with _existing(parent), owned(parent, name, create=lambda path: path.mkdir(0o700)) as folder:
        yield folder


def remove_leftovers(place: Path) -> None:
    """Remove what killed runs left beside `place`.

    A run that was killed between its two renames left nothing at `place`, only the older folder
    under another name: that one is put back.
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
    """What is in the folder besides files of these names; folders end with a slash."""
    return sorted(
        each.name + "/" * each.is_dir()
        for each in folder.iterdir()
        if each.name not in ours or not each.is_file()
    )


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
