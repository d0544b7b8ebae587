"""An output folder that appears complete or not at all."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Set

from mtn_fairseq.errors import InputError


def check_output(folder: Path, ours: Set[str], overwrite: bool) -> None:
    """Refuse a folder that exists; with `overwrite`, one that holds files not named in `ours`."""
    if not os.path.lexists(folder):
        return
    if not overwrite:
        raise InputError("exists already", "choose another --output or pass --overwrite", folder)
    if folder.is_symlink() or not folder.is_dir():
        raise InputError("is not a folder", "choose another --output", folder)
    foreign = sorted({path.name for path in folder.iterdir()} - ours)
    if foreign:
        raise InputError(
            f"holds {foreign[0]}, which is not prepared text",
            "it is not overwritten: remove the folder yourself or choose another --output",
            folder,
        )


@contextmanager
def written_whole(folder: Path, ours: Set[str], overwrite: bool) -> Iterator[Path]:
    """A folder to write to that takes its name, and the place of an old one, when complete."""
    place = folder.absolute()
    partial = place.with_name(f".{place.name}.partial-{os.getpid()}")
    old = place.with_name(f".{place.name}.old-{os.getpid()}")
    try:
        partial.mkdir(parents=True)
        yield partial
        check_output(folder, ours, overwrite)  # again: another run may have ended meanwhile
        if place.exists():
            place.rename(old)
        partial.rename(place)
    except OSError as error:
        if old.exists() and not place.exists():
            old.rename(place)
        reason = f"cannot be written ({error.strerror})"
        raise InputError(reason, "check its permissions and the free space", folder) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """A folder for what does not fit into memory, gone at the end."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder = tempfile.mkdtemp(prefix=".scratch-", dir=str(parent))
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
        raise InputError(reason, "choose another folder with --scratch", parent) from None
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
