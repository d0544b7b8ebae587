"""Standard output as every command here writes it: UTF-8, and to readers that may leave early."""

import errno
import os
import sys
from contextlib import contextmanager
from typing import Iterator, TextIO

from ..errors import InputError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Text is UTF-8, whatever the terminal is set to; `… | head` ends the command in silence, a
    full disk with one line."""
    if sys.stdout is None:
        raise InputError("standard output is closed", "leave it open, or send it to a file")
    descriptor = sys.stdout.fileno()
    with open(
        descriptor,
        "w",
        encoding="utf-8",
        errors="surrogateescape",  # a name that the terminal cannot spell: its bytes as they are
        newline="\n",
        closefd=False,
    ) as out:
        try:
            yield out
            out.flush()
        except BrokenPipeError:  # whoever read it has seen enough
            _write_no_more(descriptor)
            raise SystemExit(1) from None
        except OSError as error:
            if error.errno not in _FULL:
                raise
            _write_no_more(descriptor)
            reason = f"not all could be written ({error.strerror})"
            raise InputError(reason, "make room, and run it again") from None


def _write_no_more(descriptor: int) -> None:
    """What Python still wants to write when it ends goes nowhere, and raises no more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
