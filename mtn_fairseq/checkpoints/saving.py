"""Checkpoints are written in one step: a file is all there under its name, or not at all."""

import os
import re
import uuid
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Iterator, Optional

from mtn_preprocess.errors import InputError

# Our own names, and those of fairseq without this plugin: `checkpoint_last.pt.tmp`.
_UNFINISHED = re.compile(r"checkpoint.*\.pt(\.[0-9a-f]{32})?\.tmp")


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """Yields the name to write to, which no other process uses. At the end it becomes `path`.

    If the writing fails, `path` is left as it was, and what was written so far is removed: it would
    be in the way where the disk is full.
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
    """A file to save into; an error of the disk is raised when torch has ended."""
    with open(path, "wb") as file:
        stream = _Stream(file)
        yield stream
        if stream.error is not None:
            raise stream.error


class _Stream:
    """Takes everything, also behind an error, which it remembers.

    torch meets a full disk again when it closes its archive, and hides it behind an error of its
    own: "unexpected pos 3648 vs 3542". torch 1.12 then aborts the process.
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
        """Closing the file does it."""


def remove_unfinished(save_dir: str) -> None:
    """Files of runs that were killed while they wrote. Call it where no run is under way."""
    for name in os.listdir(save_dir):
        if _UNFINISHED.fullmatch(name):
            with suppress(OSError):
                os.remove(os.path.join(save_dir, name))
