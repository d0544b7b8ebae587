"""Standard input and output for all commands: UTF-8, with one-line errors if closed or full."""

import os
import sys
from contextlib import contextmanager
from io import UnsupportedOperation
from typing import Iterable, Iterator, Optional, TextIO

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.result_file import DISK_FULL


@contextmanager
def standard_output(line_by_line: bool = False) -> Iterator[TextIO]:
    """UTF-8 output, whatever the terminal's encoding. `… | head` ends the command silently; a full
    disk ends it with a one-line error.

    Args:
        line_by_line: write each line at once, for commands whose standard error often goes to
            the same file: a log message in the middle of a line would corrupt it
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
        errors="surrogateescape",  # write undecodable file names as their original bytes
        newline="\n",
        closefd=False,
    ) as out:
        try:
            yield out
            out.flush()
        except BrokenPipeError:  # the reader has closed the pipe
            _discard_rest(descriptor)
            raise SystemExit(1) from None
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            _discard_rest(descriptor)
            reason = f"not all could be written ({error.strerror})"
            raise InputError(reason, "make room, and run it again") from None


def standard_input(errors: str = "strict") -> TextIO:
    """UTF-8 input, whatever the terminal's encoding; closing it leaves standard input open.

    Args:
        errors: how to handle bytes that are not UTF-8, as for `open`
    """
    if sys.stdin is None:
        raise InputError("standard input is closed", "leave it open, or give it a file", "-")
    descriptor = sys.stdin.fileno()
    try:
        return open(descriptor, encoding="utf-8", errors=errors, newline="\n", closefd=False)
    except OSError as error:  # a folder
        reason = f"standard input cannot be read ({error.strerror})"
        raise InputError(reason, "give it a file or a pipe", "-") from None


def utf8_lines(lines: Iterable[str]) -> Iterator[str]:
    """Refuse a line that is not UTF-8, with its number; the lines before it are answered.

    Args:
        lines: of `standard_input(errors="surrogateescape")`
    """
    for number, line in enumerate(lines, 1):
        try:
            line.encode("utf-8")
        except UnicodeEncodeError as error:
            before = line[: error.start].encode("utf-8")
            reason = f"not UTF-8 at byte {len(before) + 1} of the line"
            remedy = "convert it, for example with `iconv -f latin1 -t utf-8`"
            raise InputError(reason, remedy, "-", number) from None
        yield line


def _descriptor(stream: TextIO) -> Optional[int]:
    """The file descriptor; None in a notebook, whose output takes text directly."""
    try:
        return stream.fileno()
    except UnsupportedOperation:
        return None


def _discard_rest(descriptor: int) -> None:
    """Discard what Python still flushes at exit, so that it raises no second error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
