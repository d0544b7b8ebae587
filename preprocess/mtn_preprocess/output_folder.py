"""An output folder that appears complete or not at all."""

import os
import shutil
import tempfile
import uuid
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Iterator, Set

from mtn_fairseq.errors import InputError
from mtn_preprocess.log_lines import one_line


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
    place = Path(os.path.abspath(folder))
    # Not the number of this process: in containers, all have the same.
    name = f".{place.name}.{uuid.uuid4().hex[:8]}"
    partial, old = place.with_name(f"{name}.partial"), place.with_name(f"{name}.old")
    try:
        with _existing(place.parent):
            try:
                partial.mkdir()
                yield partial
                check_output(folder, ours, overwrite)  # again: another run may have ended
                if place.exists():
                    place.rename(old)
                partial.rename(place)
            finally:
                if old.exists() and not place.exists():  # whatever came between, also Ctrl-C
                    old.rename(place)
                shutil.rmtree(partial, ignore_errors=True)
                shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        reason = f"cannot be written ({one_line(error)})"
        raise InputError(reason, "check its permissions and the free space", folder) from None


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """A folder for what does not fit into memory, gone at the end."""
    with ExitStack() as stack:
        try:
            stack.enter_context(_existing(parent))
            folder = tempfile.mkdtemp(prefix=".scratch-", dir=str(parent))
        except OSError as error:
            reason = f"cannot be written ({one_line(error)})"
            raise InputError(reason, "choose another folder with --scratch", parent) from None
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        yield Path(folder)


@contextmanager
def _existing(folder: Path) -> Iterator[None]:
    """Makes a folder if need be; what was made and is empty at the end goes again."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        if made:
            folder.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        for each in made:
            with suppress(OSError):
                each.rmdir()
