"""Checkpoints are written in one step: a file is all there under its name, or not at all."""

import os
import re
import uuid
from contextlib import contextmanager, suppress
from typing import Iterator, Optional

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
        cause = _system_error(error)
        if cause is None:
            raise
        raise InputError(
            f"cannot save this checkpoint ({cause.strerror or cause})",
            "make room on the disk, or whatever is needed, and start the same command again: it "
            "goes on from the checkpoint before",
            path,
        ) from error


def _system_error(error: Optional[BaseException]) -> Optional[OSError]:
    """torch hides a full disk behind an error of its own: "unexpected pos 3648 vs 3542"."""
    while isinstance(error, Exception) and not isinstance(error, OSError):
        error = error.__cause__ or error.__context__
    return error if isinstance(error, OSError) else None


def remove_unfinished(save_dir: str) -> None:
    """Files of runs that were killed while they wrote. Call it where no run is under way."""
    for name in os.listdir(save_dir):
        if _UNFINISHED.fullmatch(name):
            with suppress(OSError):
                os.remove(os.path.join(save_dir, name))
