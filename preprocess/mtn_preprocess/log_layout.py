"""Detect the layout of a file: format, delimiter and columns.

Messages quote the first line only where it looks like column names: it may be a row with a query.
"""

import codecs
import json
import re
from dataclasses import replace
from typing import List, NamedTuple, Optional, Sequence, Set, Tuple

import pyarrow as pa
import pyarrow.parquet

from mtn_preprocess.errors import InputError
from mtn_preprocess.log_formats import AOL_COLUMNS
from mtn_preprocess.log_lines import (
    Damaged,
    Layout,
    Location,
    column_text,
    decompressed,
    lines_of,
    one_line,
)
from mtn_preprocess.log_times import AOL_TIME
from mtn_preprocess.reasons import Reason
from mtn_preprocess.time_checks import seconds_of

AOL_WIDTHS = (3, 5)  # the last two columns, rank and address of a click, may be missing

_AOL_HEADERS = (
    "\t".join([*AOL_COLUMNS, "ItemRank", "ClickURL"]),
    "\t".join(AOL_COLUMNS),
)
_START = 1 << 20  # bytes read from a file to detect its layout
_LINES = 100  # lines of these, to find the delimiter
_SEE_COLUMNS = "see --user-column, --query-column, --time-column, --format"
_DELIMITERS = {"tsv": "\t,;|", "csv": ",;\t|"}  # in the order of the attempts

# First bytes of files that are not logs or must be converted first.
_WORKBOOK = ("a workbook", "export it as CSV")
_SIGNATURES = (
    (re.compile(rb"PK\x03\x04(?=.*(xl/|opendocument\.spreadsheet))", re.DOTALL), *_WORKBOOK),
    (re.compile(rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), *_WORKBOOK),  # of Excel before 2007
    (re.compile(rb"PK\x03\x04"), "a zip archive", "unpack it"),
    (re.compile(rb"BZh[1-9]1AY&SY|\xfd7zXZ"), "packed by bzip2 or xz", "unpack it, or use gzip"),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "UTF-16", "convert it: iconv -f UTF-16 -t UTF-8"),
    (re.compile(rb"(?:[^\0]\0){4}"), "UTF-16", "convert it: iconv -f UTF-16LE -t UTF-8"),
    (re.compile(rb"(?:\0[^\0]){4}"), "UTF-16", "convert it: iconv -f UTF-16BE -t UTF-8"),
    (re.compile(rb"PAR1"), "a Parquet file", "say --format parquet"),
)
_NAME = re.compile(r"[^\W\d][\w.-]*( [\w.-]+)?")


def layout_of(
    location: Location,
    kind: str,
    columns: Tuple[str, str, str],
    delimiter: Optional[str] = None,
    sure: bool = True,
    time_format: str = AOL_TIME,
) -> Layout:
    """The layout of a file.

    Args:
        kind: the format
        columns: of user, query and time: names, or numbers from 1
        delimiter: between columns, if given by the user
        sure: whether the user gave the format; if not, TSV may turn out to be CSV
        time_format: distinguishes a row from a header
    """
    try:
        if kind == "parquet":
            return _parquet_layout(location, columns)
        start = _start(location)
    except (Damaged, pa.ArrowException, OSError, UnicodeError) as error:
        remedy = "check that the file is complete, readable and in this --format"
        raise InputError(one_line(error), remedy, location.address) from None
    if not start:
        raise InputError("empty file", "leave it out, or fetch it again", location.address)
    for pattern, reason, remedy in _SIGNATURES:
        if pattern.match(start):
            raise InputError(reason, remedy, location.address)
    if kind == "jsonl":
        return _json_layout(start, columns, location.address)
    tried = _candidates(kind, columns, delimiter, sure)
    beginnings = [_Beginning.of(start, layout, time_format) for layout in tried]
    return _text_layout(_best(beginnings), location.address)


def first_columns(location: Location, layout: Layout) -> str:
    """For messages: the column names in the first line, if the layout was given without them."""
    if layout.kind not in ("tsv", "csv"):
        return ""
    first = _Beginning.of(_start(location), layout).first
    return (
        ""
        if first == [""] or "\t".join(first) in layout.headers
        else _names_in(first, "; its first line has the columns ")
    )


def _start(location: Location) -> bytes:
    with location.open() as file:
        start = decompressed(file).read(_START)
    return start[len(codecs.BOM_UTF8) :] if start.startswith(codecs.BOM_UTF8) else start


# --- Parquet and JSON ----------------------------------------------------------------------------


def _parquet_layout(location: Location, columns: Tuple[str, str, str]) -> Layout:
    with location.open() as file:
        schema = pa.parquet.ParquetFile(file).schema_arrow
    for name in columns:
        if name not in schema.names:
            reason = f"no column {name!r}; there are: {', '.join(map(repr, schema.names))}"[:500]
            raise InputError(reason, _SEE_COLUMNS, location.address)
        _refuse_duplicate(name, schema.names, location.address)
        kind = schema.field(name).type
        try:
            column_text(pa.nulls(0, kind))
        except pa.ArrowNotImplementedError:
            reason = f"column {name!r} is of type {kind}"
            raise InputError(reason, "make it text or a number", location.address) from None
    return Layout("parquet", columns)


def _json_layout(start: bytes, columns: Tuple[str, str, str], address: str) -> Layout:
    """Refuses a JSON array, and a file whose first lines all lack one of the fields."""
    if re.match(rb"\s*\[\s*{", start):
        remedy = "write one object per line, for example with: jq -c '.[]'"
        raise InputError("a JSON array", remedy, address)
    there: Set[str] = set()
    for line in start.split(b"\n"):
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):  # not JSON, or cut off
            continue
        if isinstance(fields, dict):
            there.update(fields)
    for name in columns:
        if there and name not in there:
            reason = f"no line has a field {name!r}{_listed(sorted(there), '; there are: ')}"
            raise InputError(reason, _SEE_COLUMNS, address)
    return Layout("jsonl", columns)


# --- text ----------------------------------------------------------------------------------------


class _Beginning(NamedTuple):
    """The first lines of a file, split by the delimiter of a candidate layout."""

    layout: Layout
    time_format: str
    fault: int  # of the first line
    first: List[str]
    widths: List[int]  # of all lines

    @classmethod
    def of(cls, start: bytes, layout: Layout, time_format: str = AOL_TIME) -> "_Beginning":
        block = b"\n".join(start.split(b"\n", _LINES)[:_LINES])
        batch = lines_of(block or b"\n", layout)
        rows = [(text or "").split("\t") for text in batch.column("text").to_pylist()]
        fault = batch.column("fault")[0].as_py()
        return cls(layout, time_format, fault, rows[0], list(map(len, rows)))

    @property
    def numbers(self) -> Optional[List[int]]:
        """The column numbers, if the columns were given by number."""
        names = self.layout.names
        if all(name.isdecimal() and int(name) for name in names):
            return [int(name) for name in names]
        return None

    @property
    def has_no_names(self) -> bool:
        """Whether the file counts as AOL's format without a header."""
        return (
            self.layout.names == AOL_COLUMNS
            and not set(AOL_COLUMNS) & set(self.first)
            and not self.has_other_names
        )

    @property
    def has_other_names(self) -> bool:
        """Whether the first line looks like a header: no number, and no time in the time column."""
        if len(self.first) < len(AOL_COLUMNS) or any(
            re.match(r"\s*\d", each) for each in self.first
        ):
            return False
        time = self.first[AOL_COLUMNS.index("QueryTime")].strip(" ")
        return bool(time) and seconds_of(time, self.time_format) is None

    def fit(self) -> int:
        """The number of lines that support this delimiter."""
        if self.has_no_names:
            return sum(width in AOL_WIDTHS for width in self.widths)
        if self.numbers:
            return self.widths.count(len(self.first)) * (len(self.first) >= max(self.numbers))
        return len(self.widths) * (set(self.layout.names) <= set(self.first))


def _candidates(
    kind: str, columns: Tuple[str, str, str], delimiter: Optional[str], sure: bool
) -> List[Layout]:
    """The possible layouts of a text file, the likeliest first."""
    delimiters = delimiter or (_DELIMITERS[kind] if kind == "csv" or not sure else "\t")
    return [
        Layout("tsv" if kind == "tsv" and each == "\t" else "csv", columns, delimiter=each)
        for each in delimiters
    ]


def _best(beginnings: Sequence[_Beginning]) -> _Beginning:
    """The best fit; if nothing fits, the layout with the most columns, for the message."""
    return max(beginnings, key=lambda each: (each.fit(), len(each.first)))


def _text_layout(beginning: _Beginning, address: str) -> Layout:
    layout, _, fault, first, _ = beginning
    columns, numbers = layout.names, beginning.numbers
    if beginning.has_no_names:
        return replace(layout, widths=AOL_WIDTHS, headers=_AOL_HEADERS)
    if fault:
        remedy = Reason(fault).remedy or "the first line must name the columns; or see --format"
        raise InputError(Reason(fault).text, remedy, address, 1)
    if numbers:
        if max(numbers) > len(first):
            reason = f"no column {max(numbers)}: its first line has {len(first)}"
            raise InputError(reason, f"{_SEE_COLUMNS}, --delimiter", address)
        return replace(layout, columns=_three(numbers), widths=(len(first),))
    for name in columns:
        if name not in first:
            delimiter = "tabs" if layout.kind == "tsv" else repr(layout.delimiter)
            there = f"it has {len(first)} between {delimiter}{_names_in(first, ': ')}"
            reason = f"its first line names no column {name!r} ({there})"
            remedy = f"{_SEE_COLUMNS}, --delimiter: names, or numbers from 1"
            raise InputError(reason, remedy, address)
        _refuse_duplicate(name, first, address)
    numbers = [first.index(name) + 1 for name in columns]
    headers = ["\t".join(first)]
    widths: Tuple[int, ...] = (len(first),)
    if columns == AOL_COLUMNS and numbers == [1, 2, 3] and len(first) in AOL_WIDTHS:
        headers += _AOL_HEADERS
        widths = AOL_WIDTHS
    return replace(layout, columns=_three(numbers), widths=widths, headers=tuple(headers))


def _three(numbers: Sequence[int]) -> Tuple[int, int, int]:
    user, query, time = numbers
    return user, query, time


def _names_in(first: Sequence[str], before: str) -> str:
    """The column names in a first line; "" if a field starts with a digit, as no name does."""
    if not all(re.match(r"[^\W\d]", name) for name in first):
        return ""
    return _listed(first, before)


def _listed(names: Sequence[str], before: str) -> str:
    """The names, except those of many words, which could be queries."""
    shown = [repr(name) for name in names if len(name) <= 40 and _NAME.fullmatch(name)][:20]
    if not shown:
        return ""
    more = len(names) - len(shown)
    return before + ", ".join(shown) + (f" and {more} more" if more else "")


def _refuse_duplicate(name: str, names: Sequence[str], address: str) -> None:
    if names.count(name) > 1:
        raise InputError(f"column {name!r} is there twice", "rename one of them", address)
