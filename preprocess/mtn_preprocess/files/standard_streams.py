"""Standard input and output as every command here uses them: UTF-8, closed or full in one line."""

import os
import sys
from contextlib import contextmanager
from io import UnsupportedOperation
from typing import Iterator, Optional, TextIO

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.result_file import DISK_FULL


@contextmanager
def standard_output(line_by_line: bool = False) -> Iterator[TextIO]:
    """Text is UTF-8, whatever the terminal is set to; `… | head` ends the command in silence, a
    full disk with one line.

    Args:
        line_by_line: write each line whole and at once, for commands whose standard error people
            send to the same file: a log message in the middle of a line would damage it
    """
    if sys.stdout is None:
        raise InputError("standard output is closed", "leave it open, or send it to a file")
    descriptor = _descriptor(sys.stdout)
    if descriptor is None:
        yield sys.stdout
        return
    with open(
        descriptor,
        "w",
        buffering=1 if line_by_line else -1,
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
            if error.errno not in DISK_FULL:
                raise
            _write_no_more(descriptor)
            reason = f"not all could be written ({error.strerror})"
            raise InputError(reason, "make room, and run it again") from None


def standard_input(errors: str = "strict") -> TextIO:
    """UTF-8, whatever the terminal is set to; closing it leaves standard input itself open.

    Args:
        errors: what becomes of bytes that are no UTF-8, as `open` takes it
    """
    if sys.stdin is None:
        raise InputError("standard input is closed", "leave it open, or give it a file", "-")
    descriptor = sys.stdin.fileno()
    try:
        return open(descriptor, encoding="utf-8", errors=errors, newline="\n", closefd=False)
    except OSError as error:  # a folder
        reason = f"standard input cannot be read ({error.strerror})"
        raise InputError(reason, "give it a file or a pipe", "-") from None


def _descriptor(stream: TextIO) -> Optional[int]:
    """None for the output of a notebook, which takes text as it is."""
    try:
        return stream.fileno()
    except UnsupportedOperation:
        return None


def _write_no_more(descriptor: int) -> None:
    """What Python still wants to write when it ends goes nowhere, and raises no more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
