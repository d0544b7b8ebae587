"""The lines of a log, of any format, as Arrow batches: place, text, fault.

`text` has the columns of a row separated by tabs, whatever the format. It is null for a header
and for a malformed line; `fault` says which. Lines end only at a line feed, so a stray quote never
swallows the lines below it. `place` is the number of the file and of the line in one number.
"""

import codecs
import csv
import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Tuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet

from mtn_preprocess.reasons import KEPT, Reason

SCHEMA = pa.schema([("place", pa.int64()), ("text", pa.string()), ("fault", pa.int8())])
MAX_LINE = 1 << 16  # bytes; no row of a search log is longer

_BLOCK = 4 << 20  # bytes read at once
_FILE_BITS = 40  # bits of `place` for the line: a trillion lines per file
_MAX_EXACT = 2**53  # floats are exact integers below this
_decode_json = json.JSONDecoder().decode
_BREAKS = str.maketrans("\n\r\0", "   ")
_SPACES = str.maketrans("\t\n\r\0", "    ")

Watch = Callable[[int, int], None]  # called after each batch with its bytes and lines


class Damaged(ValueError):
    """A file that cannot be opened or read to its end."""

    def __init__(self, address: str, error: Exception) -> None:
        super().__init__(f"{address}: {one_line(error)}")
        self.address, self.reason = address, one_line(error)


def one_line(error: Exception) -> str:
    """The reason in one line and without the address; Arrow's messages are longer."""
    if isinstance(error, Damaged):
        return error.reason
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else f"{error}\n".splitlines()[0].rstrip(". ")


class Location(NamedTuple):
    """The address of a file, local or in an object store; `number` is its number in the log."""

    number: int
    address: str

    @property
    def name(self) -> str:
        """The file name: the last part of the address."""
        path = unquote(self.address.partition("?")[0]) if "://" in self.address else self.address
        return path.rpartition("/")[2]

    def open(self) -> pa.NativeFile:
        filesystem, path = find(self.address)
        return filesystem.open_input_file(path)


@dataclass(frozen=True)
class Layout:
    """How the rows of a log are written.

    Args:
        kind: tsv, csv, jsonl or parquet
        names: of the columns of user, query and time; used for jsonl and parquet
        columns: the numbers of these columns in the text of a line, from 1
        widths: the numbers of columns a row may have
        headers: lines that count as headers anywhere in the file, as text with tabs
        delimiter: between csv columns, one ASCII character
    """

    kind: str
    names: Tuple[str, str, str]
    columns: Tuple[int, int, int] = (1, 2, 3)
    widths: Tuple[int, ...] = (3,)
    headers: Tuple[str, ...] = ()
    delimiter: str = ","


def find(address: str) -> Tuple[pa.fs.FileSystem, str]:
    """File system and path of an address: `s3://…`, `gs://…`, `hdfs://…`, `file://…`, or a path."""
    if "://" in address:
        return pa.fs.FileSystem.from_uri(address)
    return pa.fs.LocalFileSystem(), address


def place_of(file: int, line: int) -> int:
    return file << _FILE_BITS | line


def file_of(place: Any) -> Any:
    """The number of the file; also for arrays."""
    return place >> _FILE_BITS


def line_of(place: Any) -> Any:
    return place & ((1 << _FILE_BITS) - 1)


def read_lines(
    location: Location, layout: Layout, watch: Optional[Watch] = None
) -> Iterator[pa.RecordBatch]:
    """All lines of one file."""
    watch = watch or (lambda size, lines: None)
    try:
        if layout.kind == "parquet":
            yield from _parquet_rows(location, layout, watch)
        else:
            yield from _text_lines(location, layout, watch)
    except (OSError, EOFError, UnicodeError, pa.ArrowException) as error:
        # Arrow raises the same type for damaged files and for files that cannot be opened.
        raise Damaged(location.address, error) from None


def decompressed(file: pa.NativeFile) -> pa.NativeFile:
    """Decompress gzip and zstandard, recognised by content, not by name."""
    start = file.read(4)
    file.seek(0)
    if start[:2] == b"\x1f\x8b":
        return pa.CompressedInputStream(file, "gzip")
    if start == b"\x28\xb5\x2f\xfd":
        return pa.CompressedInputStream(file, "zstd")
    return file


def checksum(location: Location) -> str:
    """SHA-256 of a file as it is stored."""
    digest = hashlib.sha256()
    with location.open() as file:
        while True:
            block = file.read(1 << 22)
            if not block:
                return digest.hexdigest()
            digest.update(block)


# --- text ----------------------------------------------------------------------------------------


def _text_lines(location: Location, layout: Layout, watch: Watch) -> Iterator[pa.RecordBatch]:
    line, position = 1, 0
    with location.open() as file:
        for block, too_long in _whole_lines(decompressed(file)):
            batch = _faulty(Reason.LONG_LINE) if too_long else lines_of(block, layout)
            places = np.arange(line, line + batch.num_rows, dtype=np.int64)
            line += batch.num_rows
            places += place_of(location.number, 0)
            yield batch.set_column(0, SCHEMA[0], pa.array(places))
            watch(file.tell() - position, batch.num_rows)
            position = file.tell()


def _whole_lines(stream: pa.NativeFile) -> Iterator[Tuple[bytes, bool]]:
    """Blocks of whole lines, each with False; a line that is too long is only (b"", True)."""
    rest = b""
    skipping = False
    for block in _blocks(stream):
        if skipping:
            end = block.find(b"\n")
            if end < 0:
                continue
            block, skipping = block[end + 1 :], False
        end = block.rfind(b"\n") + 1
        if end:
            yield rest + block[:end], False
            rest = b""
        rest += block[end:]
        if len(rest) > MAX_LINE:
            yield b"", True
            rest, skipping = b"", True
    if rest:
        yield rest, False


def _blocks(stream: pa.NativeFile) -> Iterator[bytes]:
    start = stream.read(len(codecs.BOM_UTF8))
    if start == codecs.BOM_UTF8:  # not part of the first column
        start = b""
    block = start + stream.read(_BLOCK)
    while block:
        yield block
        block = stream.read(_BLOCK)


def lines_of(block: bytes, layout: Layout) -> pa.RecordBatch:
    """The lines of a block of whole lines, without their places."""
    rewrite = {"tsv": _tsv_lines, "csv": _csv_to_tabs, "jsonl": _json_to_tabs}[layout.kind]
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + 1
    if not len(ends) or ends[-1] != len(block):
        ends = np.append(ends, len(block))  # the last line of a file may have no line feed
    starts = np.concatenate([[0], ends[:-1]])
    faults = np.zeros(len(ends), np.int8)
    faults[np.searchsorted(ends, _positions(block, b"\0"), "right")] = Reason.NUL
    if not _is_utf8(block):
        for i, (start, end) in enumerate(zip(starts, ends)):
            if not _is_utf8(block[start:end]):
                faults[i] = Reason.NOT_UTF8
    # Last, because a long line that spans blocks was not checked for other faults.
    faults[ends - starts > MAX_LINE] = Reason.LONG_LINE
    if faults.any():  # rare: blank out such lines, then continue as usual
        block = b"".join(
            b"\n" if fault else block[start:end] for start, end, fault in zip(starts, ends, faults)
        )
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + 1
        if len(ends) < len(faults):
            ends = np.append(ends, len(block))
    text, more_faults = rewrite(block, ends, layout)
    faults = np.where(faults == KEPT, more_faults, faults).astype(np.int8)
    faults[(faults == KEPT) & _are_headers(text, layout.headers)] = Reason.HEADER
    text = pc.if_else(pa.array(faults == KEPT), text, pa.scalar(None, pa.string()))
    return pa.record_batch([pa.nulls(len(text), pa.int64()), text, pa.array(faults)], schema=SCHEMA)


def _are_headers(lines: pa.Array, headers: Tuple[str, ...]) -> np.ndarray:
    """Which lines are headers. Only lines of a header's length are compared, which is fast."""
    result = np.zeros(len(lines), bool)
    lengths = [len(header.encode("utf-8")) for header in headers]
    alike = np.flatnonzero(np.isin(pc.fill_null(pc.binary_length(lines), -1).to_numpy(), lengths))
    if len(alike):
        same = pc.is_in(lines.take(pa.array(alike)), pa.array(headers, pa.string()))
        result[alike] = same.to_numpy(zero_copy_only=False)
    return result


def _faulty(reason: Reason) -> pa.RecordBatch:
    columns = [pa.nulls(1, pa.int64()), pa.nulls(1, pa.string()), pa.array([reason], pa.int8())]
    return pa.record_batch(columns, schema=SCHEMA)


def _positions(block: bytes, byte: bytes) -> np.ndarray:
    if byte not in block:
        return np.empty(0, np.int64)
    return np.flatnonzero(np.frombuffer(block, np.uint8) == byte[0])


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


# --- formats: a block of valid UTF-8 lines -> rows with tabs, and a fault or KEPT per row --------


def _tsv_lines(block: bytes, ends: np.ndarray, layout: Layout) -> Tuple[pa.Array, np.ndarray]:
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    lines = pa.Array.from_buffers(pa.string(), len(ends), buffers)
    return pc.ascii_rtrim(lines, "\r\n"), np.zeros(len(ends), np.int8)


def _csv_to_tabs(block: bytes, ends: np.ndarray, layout: Layout) -> Tuple[pa.Array, np.ndarray]:
    to_tabs = bytes.maketrans(b"\t" + layout.delimiter.encode("ascii"), b" \t")
    text, faults = _tsv_lines(block.translate(to_tabs), ends, layout)
    quoted = np.unique(np.searchsorted(ends, _positions(block, b'"'), "right"))
    if len(quoted):
        rows = text.to_pylist()
        for i in quoted:
            start = ends[i - 1] if i else 0
            line = block[start : ends[i]].decode("utf-8").rstrip("\r\n")
            fields = _csv_fields(line.translate(_BREAKS), layout.delimiter)
            if fields is None:
                faults[i] = Reason.QUOTES
            else:
                rows[i] = "\t".join(field.translate(_SPACES) for field in fields)
        text = pa.array(rows, pa.string())
    return text, faults


def _csv_fields(line: str, delimiter: str) -> Optional[List[str]]:
    """The fields of a line, or None if a quote is not closed."""
    try:
        # Only strict mode reports a quote that is still open at the end of the line.
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error:
        return None


def _json_to_tabs(block: bytes, ends: np.ndarray, layout: Layout) -> Tuple[pa.Array, np.ndarray]:
    lines = block.decode("utf-8").split("\n")[: len(ends)]
    rows = [_json_row(line, layout.names) for line in lines]
    faults = np.array([KEPT if row is not None else Reason.NOT_JSON for row in rows], np.int8)
    return pa.array(rows, pa.string()), faults


def _json_row(line: str, names: Tuple[str, ...]) -> Optional[str]:
    """The fields of a JSON object, or None if the line is not one."""
    try:
        fields = _decode_json(line)
        if not isinstance(fields, dict):
            return None
        texts = [_json_text(fields.get(name)) for name in names]
    except (ValueError, RecursionError):
        return None
    if "\\" in line:  # without it there can be no tab and no half of a surrogate pair
        texts = [
            text.translate(_SPACES).encode("utf-8", "replace").decode("utf-8") for text in texts
        ]
    return "\t".join(texts)


def _json_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < _MAX_EXACT:
        value = int(value)  # as for Parquet
    return json.dumps(value)


# --- Parquet -------------------------------------------------------------------------------------


def _parquet_rows(location: Location, layout: Layout, watch: Watch) -> Iterator[pa.RecordBatch]:
    row = 1
    with location.open() as file:
        table = pa.parquet.ParquetFile(file, page_checksum_verification=True)
        size = file.size() / max(table.metadata.num_rows, 1)
        for batch in table.iter_batches(1 << 16, columns=list(dict.fromkeys(layout.names))):
            places = np.arange(row, row + batch.num_rows) + place_of(location.number, 0)
            row += batch.num_rows
            columns = [column_text(batch.column(name)) for name in layout.names]
            text, faults = _joined(columns)
            yield pa.record_batch([pa.array(places), text, pa.array(faults)], schema=SCHEMA)
            watch(int(size * batch.num_rows), batch.num_rows)


def _joined(columns: List[pa.Array]) -> Tuple[pa.Array, np.ndarray]:
    """Join columns of bytes into rows with tabs; with a fault or KEPT per row."""
    rows = pc.binary_join_element_wise(*columns, b"\t")
    long = pc.greater(pc.binary_length(rows), MAX_LINE)
    faults = np.where(long.to_numpy(zero_copy_only=False), Reason.LONG_LINE, KEPT).astype(np.int8)
    rows = pc.if_else(long, pa.scalar(None, pa.binary()), rows)
    try:
        return rows.cast(pa.string()), faults
    except pa.ArrowInvalid:  # Parquet does not check that its strings are UTF-8
        texts = rows.to_pylist()
    for i, text in enumerate(texts):
        if text is not None and not _is_utf8(text):
            texts[i], faults[i] = None, Reason.NOT_UTF8
    return pa.array(texts, pa.binary()).cast(pa.string()), faults


def column_text(column: pa.Array) -> pa.Array:
    """The values of a column as bytes without tabs; null becomes empty."""
    if pa.types.is_timestamp(column.type):
        # In UTC if the column has a time zone, in whole seconds, as in the AOL log.
        clock = pc.floor_temporal(column.cast(pa.timestamp(column.type.unit)), unit="second")
        column = clock.cast(pa.timestamp("s")).cast(pa.string())
    elif pa.types.is_floating(column.type):
        column = _whole_numbers(column)
    try:
        text = column.cast(pa.binary())  # not via text, which would have to be UTF-8
    except pa.ArrowNotImplementedError:
        text = column.cast(pa.string()).cast(pa.binary())
    return pc.replace_substring_regex(pc.fill_null(text, b""), r"[\t\n\r\x00]", " ")


def _whole_numbers(column: pa.Array) -> pa.Array:
    """Numbers as text, integers without ".0": a column with nulls may store them as floats."""
    whole = pc.and_(pc.equal(column, pc.floor(column)), pc.less(pc.abs(column), _MAX_EXACT))
    integers = pc.cast(pc.if_else(whole, column, 0), pa.int64())
    return pc.if_else(whole, integers.cast(pa.string()), column.cast(pa.string()))
