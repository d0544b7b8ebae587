"""Standard output as every command here writes it: UTF-8, and to readers that may leave early."""

import os
import sys
from contextlib import contextmanager
from typing import Iterator, TextIO

from ..errors import InputError


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Text is UTF-8, whatever the terminal is set to; `… | head` ends the command in silence."""
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
            # What Python still wants to write when it ends goes nowhere, and raises no more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
            raise SystemExit(1) from None
