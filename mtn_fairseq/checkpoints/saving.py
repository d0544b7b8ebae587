"""Write checkpoints in one step: under its name, a file is complete or absent."""

import os
import re
import uuid
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Iterator, Optional

from mtn_preprocess.errors import InputError

# Our temporary names, and those of fairseq without this plugin: `checkpoint_last.pt.tmp`.
_UNFINISHED = re.compile(r"checkpoint.*\.pt(\.[0-9a-f]{32})?\.tmp")


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """Yield a temporary name to write to, which no other process uses, and rename it to `path`.

    If writing fails, `path` stays unchanged, and the partial file is removed, because the disk may
    be full.
    """
    temporary = f"{path}.{uuid.uuid4().hex}.tmp"
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            os.remove(temporary)
        if not isinstance(error, OSError):
            raise
        raise InputError(
            f"cannot save this checkpoint ({error.strerror or error})",
            "make room on the disk, or whatever is needed, and start the same command again: it "
            "goes on from the checkpoint before",
            path,
        ) from error


@contextmanager
def opened_for_torch(path: str) -> Iterator[Any]:
    """A file to save into; an error of the disk is raised after torch has finished."""
    with open(path, "wb") as file:
        stream = _Stream(file)
        yield stream
        if stream.error is not None:
            raise stream.error


class _Stream:
    """Keeps the first error of a write, and ignores all data after it.

    On a full disk torch fails again when it closes its archive, and hides the first error behind
    its own: "unexpected pos 3648 vs 3542". torch 1.12 then aborts the process.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.error: Optional[OSError] = None

    def write(self, data: memoryview) -> int:
        if self.error is None:
            try:
                return self.file.write(data)
            except OSError as error:
                self.error = error
        return len(data)

    def flush(self) -> None:
        """Not needed: the file is closed afterwards."""


def remove_unfinished(save_dir: str) -> None:
    """Remove the partial files of killed runs. Call it only while no run is writing."""
    for name in os.listdir(save_dir):
        if _UNFINISHED.fullmatch(name):
            with suppress(OSError):
                os.remove(os.path.join(save_dir, name))
