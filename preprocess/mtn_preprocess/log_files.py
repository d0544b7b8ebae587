"""What is to be read: files, folders and patterns, their format, and where their columns are."""

import codecs
import glob
import json
import os
from dataclasses import dataclass, replace
from typing import Dict, List, NamedTuple, Sequence, Set, Tuple
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet

from mtn_fairseq.errors import InputError
from mtn_preprocess.log_lines import (
    Damaged,
    Layout,
    Location,
    column_text,
    decompressed,
    find,
    one_line,
    read_lines,
)
from mtn_preprocess.reasons import Reason

AOL_COLUMNS = ("AnonID", "Query", "QueryTime")
AOL_WIDTHS = (3, 5)  # the last two columns, rank and address of a click, may be missing
AOL_TIME = "%Y-%m-%d %H:%M:%S"

_KINDS = {
    ".tsv": "tsv",
    ".txt": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
KINDS = tuple(dict.fromkeys(_KINDS.values()))
_PACKED = (".gz", ".zst", ".zstd")
_AOL_HEADERS = (
    "\t".join([*AOL_COLUMNS, "ItemRank", "ClickURL"]),
    "\t".join(AOL_COLUMNS),
)
_START = 1 << 20  # bytes of a file of JSON in which each field must be there once
_SEE_COLUMNS = "see --user-column, --query-column, --time-column, --format"


class LogFile(NamedTuple):
    location: Location
    size: int  # bytes


@dataclass(frozen=True)
class Log:
    """Files of one format, and how to read them.

    Args:
        files: in the order in which their rows are numbered
        layout: of all of them
        time_format: as for `datetime.strptime`, or `epoch`, `epoch-ms` or `iso`
    """

    files: Tuple[LogFile, ...]
    layout: Layout
    time_format: str = AOL_TIME

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


def find_log(
    addresses: Sequence[str],
    columns: Tuple[str, str, str] = AOL_COLUMNS,
    kind: str = "auto",
    time_format: str = AOL_TIME,
) -> Log:
    """A log from the addresses a user gave: files, folders, patterns.

    Args:
        columns: for user, query and time: names, or numbers from 1
        kind: of format, or `auto` to go by the names of the files
    """
    files = _find_files(addresses)
    kinds = {_kind(file.location.name) if kind == "auto" else kind for file in files}
    if len(kinds) > 1:
        raise InputError(
            f"files of several formats: {', '.join(sorted(kinds))}",
            "prepare them apart, or say --format if they are the same",
        )
    kind = kinds.pop()
    layouts = [_layout(file.location, kind, columns) for file in files]
    # The rest of a header may differ, where its columns are those of the others.
    headers = dict.fromkeys(header for each in layouts for header in each.headers)
    layout = replace(layouts[0], headers=tuple(headers))
    for file, other in zip(files, layouts):
        if replace(other, headers=layout.headers) != layout:
            raise InputError(
                "its columns are not those of the first file",
                "prepare them apart, or bring them into one form",
                file.location.address,
            )
    return Log(tuple(files), layout, time_format)


# --- files ---------------------------------------------------------------------------------------


def _find_files(addresses: Sequence[str]) -> List[LogFile]:
    files: Dict[Tuple[str, str], LogFile] = {}
    for address in (each for given in addresses for each in _expand(str(given))):
        if set(address) & set("\t\r\n"):  # would break lines of messages and of rejects.tsv
            raise InputError("a tab or line break in its name", "rename it", repr(address))
        filesystem, path = find(address)
        size = filesystem.get_file_info(path).size or 0
        if not size:
            raise InputError("empty file", "leave it out, or fetch it again", address)
        is_local = isinstance(filesystem, pa.fs.LocalFileSystem)
        identity = filesystem.type_name, os.path.realpath(path) if is_local else path
        if identity in files:
            raise InputError("named twice", "its rows would count twice: name it once", address)
        files[identity] = LogFile(Location(len(files), address), size)
    return list(files.values())


def _expand(address: str) -> List[str]:
    """The files of a folder or a pattern, by name; or the file itself."""
    try:
        filesystem, path = find(address)
        kind = filesystem.get_file_info(path).type
        if kind == pa.fs.FileType.Directory:
            inside = filesystem.get_file_info(pa.fs.FileSelector(path))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(
            one_line(error), "check the address and the access to it", address
        ) from None
    if kind == pa.fs.FileType.Directory:
        names = sorted(each.base_name for each in inside if each.is_file)
        found = [_within(address, name) for name in names if _looks_like_a_log(name)]
        endings = ", ".join(_KINDS)
        remedy = f"name them: of a folder, files that end with {endings} (.gz, .zst) are read"
        return found or _nothing("no logs in this folder", remedy, address)
    if kind == pa.fs.FileType.File:
        return [address]
    if kind == pa.fs.FileType.Unknown:
        return _nothing("not a file", "a log is read more than once: no pipe can be", address)
    if "://" not in address and glob.has_magic(address):
        names = sorted(filter(os.path.isfile, glob.glob(address, recursive=True)))
        found = [name for name in names if not _is_readme(name)]
        return found or _nothing("no file fits this pattern", "check it", address)
    return _nothing("no such file", "check the path of the log", address)


def _nothing(reason: str, remedy: str, address: str) -> List[str]:
    raise InputError(reason, remedy, address)


def _within(folder: str, name: str) -> str:
    """The address of a file in a folder."""
    if "://" not in folder:
        return os.path.join(folder, name)
    base, question, options = folder.partition("?")  # s3://bucket/logs?region=…
    return f"{base.rstrip('/')}/{quote(name)}{question}{options}"


def _extension(name: str) -> str:
    name = name.lower()
    for packed in _PACKED:
        if name.endswith(packed):
            name = name[: -len(packed)]
    return os.path.splitext(name)[1]


def _looks_like_a_log(name: str) -> bool:
    return not name.startswith(".") and _extension(name) in _KINDS and not _is_readme(name)


def _is_readme(name: str) -> bool:
    return "README" in os.path.basename(name).upper()  # AOL's is called U500k_README.txt


def _kind(name: str) -> str:
    return _KINDS.get(_extension(name), "tsv")


# --- columns -------------------------------------------------------------------------------------


def _layout(location: Location, kind: str, columns: Tuple[str, str, str]) -> Layout:
    try:
        if kind == "parquet":
            return _parquet_layout(location, columns)
        with location.open() as file:
            start = decompressed(file).read(_START)
        if start in (b"", codecs.BOM_UTF8):
            raise InputError("empty file", "leave it out, or fetch it again", location.address)
        if start.startswith(b"PAR1"):
            raise InputError("a Parquet file", "say --format parquet", location.address)
        if kind == "jsonl":
            return _json_layout(start, columns, location.address)
        return _text_layout(location, kind, columns)
    except (Damaged, pa.ArrowException, OSError, UnicodeError) as error:
        remedy = "check that it is whole, may be read, and is of this --format"
        raise InputError(one_line(error), remedy, location.address) from None


def _parquet_layout(location: Location, columns: Tuple[str, str, str]) -> Layout:
    with location.open() as file:
        schema = pa.parquet.ParquetFile(file).schema_arrow
    for name in columns:
        if name not in schema.names:
            reason = f"no column {name!r}; there are: {', '.join(map(repr, schema.names))}"[:500]
            raise InputError(reason, _SEE_COLUMNS, location.address)
        _refuse_twice(name, schema.names, location.address)
        kind = schema.field(name).type
        try:
            column_text(pa.nulls(0, kind))
        except pa.ArrowNotImplementedError:
            reason = f"column {name!r} is of type {kind}"
            raise InputError(reason, "make it text or a number", location.address) from None
    return Layout("parquet", columns)


def _json_layout(start: bytes, columns: Tuple[str, str, str], address: str) -> Layout:
    """Refuses a file in whose beginning a field is never there."""
    there: Set[str] = set()
    for line in start.split(b"\n"):
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):  # no JSON, or cut off
            continue
        if isinstance(fields, dict):
            there.update(fields)
    for name in columns:
        if there and name not in there:
            raise InputError(f"no line has a field {name!r}", _SEE_COLUMNS, address)
    return Layout("jsonl", columns)


def _text_layout(location: Location, kind: str, columns: Tuple[str, str, str]) -> Layout:
    # What the first line says stays out of all messages: it may be a row.
    batch = next(read_lines(location, Layout(kind, columns)))
    text, fault = batch.column("text")[0].as_py(), batch.column("fault")[0].as_py()
    first = (text or "").split("\t")
    if columns == AOL_COLUMNS and not set(columns) & set(first):
        return Layout(kind, columns, widths=AOL_WIDTHS, headers=_AOL_HEADERS)
    if fault:
        remedy = "the first line must name the columns; or see --format"
        raise InputError(Reason(fault).text, remedy, location.address, 1)
    if all(name.isdecimal() and int(name) for name in columns):
        numbers = [int(name) for name in columns]
        if max(numbers) > len(first):
            reason = f"no column {max(numbers)}: its first line has {len(first)}"
            raise InputError(reason, _SEE_COLUMNS, location.address)
        return Layout(kind, columns, tuple(numbers), (len(first),))  # type: ignore[arg-type]
    for name in columns:
        if name not in first:
            reason = f"its first line names no column {name!r} (it has {len(first)})"
            raise InputError(reason, f"{_SEE_COLUMNS}: names, or numbers from 1", location.address)
        _refuse_twice(name, first, location.address)
    numbers = [first.index(name) + 1 for name in columns]
    headers = ["\t".join(first)]
    widths: Tuple[int, ...] = (len(first),)
    if columns == AOL_COLUMNS and numbers == [1, 2, 3] and len(first) in AOL_WIDTHS:
        headers += _AOL_HEADERS
        widths = AOL_WIDTHS
    return Layout(kind, columns, tuple(numbers), widths, tuple(headers))  # type: ignore[arg-type]


def _refuse_twice(name: str, names: Sequence[str], address: str) -> None:
    if names.count(name) > 1:
        raise InputError(f"column {name!r} is there twice", "rename one of them", address)
