"""The output folder of a preparation and its scratch folder, with one-line errors."""

import os
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Iterator, Set

from mtn_preprocess.errors import InputError
from mtn_preprocess.files import whole_folder
from mtn_preprocess.log_lines import one_line


def check_output(folder: Path, ours: Set[str], overwrite: bool) -> None:
    """Refuse a folder that exists; with `overwrite`, one that holds files not named in `ours`."""
    if not os.path.lexists(folder):
        return
    if not overwrite:
        raise InputError("exists already", "choose another --output or pass --overwrite", folder)
    if folder.is_symlink() or not folder.is_dir():
        raise InputError("is not a folder", "choose another --output", folder)
    foreign = whole_folder.foreign_names(folder, ours)
    if foreign:
        raise InputError(
            f"holds {foreign[0]}, which is not prepared text",
            "it is not overwritten: remove the folder yourself or choose another --output",
            folder,
        )


def remove_leftovers(folder: Path) -> None:
    """Remove what killed runs left beside this folder; restore a folder they had moved away."""
    with _as_input_error(folder):
        whole_folder.remove_leftovers(_absolute(folder))


@contextmanager
def written_whole(folder: Path, ours: Set[str], overwrite: bool) -> Iterator[Path]:
    """A folder to write to; when complete, it takes its name and replaces an older folder."""
    with _as_input_error(folder), whole_folder.written_whole(
        _absolute(folder),
        lambda: check_output(folder, ours, overwrite),  # another run may have finished meanwhile
    ) as partial:
        yield partial


@contextmanager
def scratch_folder(parent: Path, output: Path) -> Iterator[Path]:
    """A folder for data that does not fit into memory, removed at the end.

    Args:
        output: the folder to be written; identifies leftovers of killed runs
    """
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(whole_folder.scratch(parent, output))
        except OSError as error:
            reason = f"cannot be written ({one_line(error)})"
            raise InputError(reason, "choose another folder with --scratch", parent) from None
        yield folder


@contextmanager
def _as_input_error(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = f"cannot be written ({one_line(error)})"
        raise InputError(reason, "check its permissions and the free space", folder) from None


def _absolute(folder: Path) -> Path:
    return Path(os.path.abspath(folder))  # without `..`, unlike Path.absolute
