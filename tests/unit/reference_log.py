"""Reads search logs in AOL's format: `AnonID Query QueryTime ItemRank ClickURL`, tab separated.

A header line may stand anywhere (people concatenate the published files); the last two columns may
be missing where nothing was clicked; files are plain or gzip compressed, by content, not by name.
"""

import gzip
import re
import sys
import zlib
from collections import Counter
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Iterator, List, NamedTuple, Tuple

from mtn_fairseq.errors import InputError

HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"
COLUMNS, TIME, USER, UTF8 = "wrong number of columns", "unreadable time", "no user", "not UTF-8"
FAULTS = (COLUMNS, TIME, USER, UTF8)

_EXAMPLES = 3  # malformed rows shown for each fault
_PROGRESS_EVERY = 500_000  # lines
_EPOCH = datetime(1970, 1, 1)
# `fromisoformat` reads more than this, and from Python 3.11 on still more.
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")


class Row(NamedTuple):
    """One line of a log: who asked what, and when, in seconds of a clock without time zone."""

    user: str
    query: str
    time: int


class MalformedRow(ValueError):
    """A line that is no row; the message is one of `FAULTS`."""


def time_text(seconds: int) -> str:
    """A row's time as the log writes it."""
    return str(_EPOCH + timedelta(seconds=seconds))


def parse_row(line: str) -> Row:
    """A line without its end as a row."""
    columns = line.split("\t")
    if len(columns) not in (3, 5):
        raise MalformedRow(COLUMNS)
    user, query, time = columns[0].strip(), columns[1], columns[2].strip()
    if not user:
        raise MalformedRow(USER)
    try:
        moment = datetime.fromisoformat(time) if _TIME.fullmatch(time) else None
    except ValueError:  # the 30th of February
        moment = None
    if moment is None:
        raise MalformedRow(TIME)
    return Row(user, query, (moment - _EPOCH) // timedelta(seconds=1))


class LogReader:
    """The rows of several files, and how many lines were something else.

    Args:
        paths: the files, in any order
        strict: stop at the first malformed row instead of counting it
    """

    def __init__(self, paths: List[Path], strict: bool = False) -> None:
        self.paths, self.strict = paths, strict
        self.lines = self.headers = self.rows = 0
        self._bytes_before = 0  # of the files read so far
        self.faults = Counter(dict.fromkeys(FAULTS, 0))

    def __iter__(self) -> Iterator[Row]:
        for path in self.paths:
            rows_before = self.rows
            with _opened(path) as (raw, stream):
                yield from self._rows(path, raw, stream)
                self._bytes_before += raw.tell()
            if self.rows == rows_before:
                raise InputError(
                    "not one row of a search log", f"expected {HEADER!r} and such rows", path
                )

    def _rows(self, path: Path, raw: BinaryIO, stream: BinaryIO) -> Iterator[Row]:
        for number, data in enumerate(stream, 1):
            self.lines += 1
            if self.lines % _PROGRESS_EVERY == 0 and sys.stderr.isatty():
                self._show_progress(path, raw.tell())
            try:
                line = data.decode("utf-8").rstrip("\r\n")
                if line == HEADER:
                    self.headers += 1
                    continue
                row = parse_row(line)
            except UnicodeDecodeError:
                self._malformed(UTF8, path, number)
            except MalformedRow as fault:
                self._malformed(str(fault), path, number)
            else:
                self.rows += 1
                yield row

    def _show_progress(self, path: Path, position: int) -> None:
        size = sum(each.stat().st_size for each in self.paths if each.is_file())
        done = 100 * (self._bytes_before + position) // max(size, 1)
        print(f"{path.name}: {self.lines:,} lines, {done} %", file=sys.stderr)

    def _malformed(self, fault: str, path: Path, number: int) -> None:
        if self.strict:
            raise InputError(
                fault, "correct the line, or leave out --strict to skip and count it", path, number
            )
        self.faults[fault] += 1
        if self.faults[fault] <= _EXAMPLES:
            more = ", further ones are only counted" if self.faults[fault] == _EXAMPLES else ""
            print(f"{path}:{number}: {fault}, line skipped{more}", file=sys.stderr)


@contextmanager
def _opened(path: Path) -> Iterator[Tuple[BinaryIO, BinaryIO]]:
    """The file as it is, and its bytes unpacked."""
    if not path.is_file():
        raise InputError("no such file", "check the path of the log", path)
    try:
        with open(path, "rb") as stream:
            packed = stream.peek(2)[:2] == b"\x1f\x8b"
            yield stream, gzip.GzipFile(fileobj=stream) if packed else stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"damaged gzip file ({error})", "fetch it again", path) from None
    except OSError as error:
        raise InputError(error.strerror or str(error), "check the file", path) from None
