"""What is to be read: files, folders and patterns, their format, and where their columns are."""

import glob
import os
from dataclasses import dataclass, replace
from typing import List, NamedTuple, Sequence, Tuple

import pyarrow as pa
import pyarrow.parquet

from mtn_fairseq.errors import InputError
from mtn_preprocess.log_lines import (
    Damaged,
    Layout,
    Location,
    find,
    read_lines,
)

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
    kinds = {_kind(file) if kind == "auto" else kind for file in files}
    if len(kinds) > 1:
        raise InputError(
            f"files of several formats: {', '.join(sorted(kinds))}",
            "prepare them apart, or say --format if they are the same",
        )
    layouts = [_layout(file, kinds.copy().pop(), columns) for file in files]
    layout = next((each for each in layouts if each.header), layouts[0])
    for file, other in zip(files, layouts):
        if other != layout and other != replace(layout, header=""):
            raise InputError(
                "its columns are not those of the first file",
                "prepare them apart, or bring them into one form",
                file.location.address,
            )
    return Log(tuple(files), layout, time_format)


# --- files ---------------------------------------------------------------------------------------


def _find_files(addresses: Sequence[str]) -> List[LogFile]:
    found: List[str] = []
    for address in addresses:
        found += _expand(str(address))
    twice = [address for address in found if found.count(address) > 1]
    if twice:
        raise InputError("named twice", "its rows would count twice: name it once", twice[0])
    files = []
    for number, address in enumerate(found):
        filesystem, path = find(address)
        size = filesystem.get_file_info(path).size or 0
        if not size:
            raise InputError("empty file", "leave it out, or fetch it again", address)
        files.append(LogFile(Location(number, address), size))
    return files


def _expand(address: str) -> List[str]:
    """The files of a folder or a pattern, by name; or the file itself."""
    try:
        filesystem, path = find(address)
        info = filesystem.get_file_info(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(reason, "check the address and the access to it", address) from None
    if info.type == pa.fs.FileType.Directory:
        inside = filesystem.get_file_info(pa.fs.FileSelector(path))
        names = [each.path for each in inside if each.is_file and _looks_like_a_log(each.base_name)]
        remedy = (
            f"name them: a folder's files count if they end with {', '.join(_KINDS)} (.gz, .zst)"
        )
        return _with_scheme(address, sorted(names)) or _nothing(
            "no logs in this folder", remedy, address
        )
    if info.type == pa.fs.FileType.File:
        return [address]
    if "://" not in address and glob.has_magic(address):
        names = [each for each in glob.glob(address, recursive=True) if os.path.isfile(each)]
        return sorted(names) or _nothing("no file fits this pattern", "check it", address)
    return _nothing("no such file", "check the path of the log", address)


def _nothing(reason: str, remedy: str, address: str) -> List[str]:
    raise InputError(reason, remedy, address)


def _with_scheme(address: str, paths: List[str]) -> List[str]:
    """Paths of a filesystem as addresses again."""
    scheme = address.split("://", 1)[0] + "://" if "://" in address else ""
    return [scheme + path for path in paths]


def _extension(name: str) -> str:
    for packed in _PACKED:
        if name.endswith(packed):
            name = name[: -len(packed)]
    return os.path.splitext(name)[1].lower()


def _looks_like_a_log(name: str) -> bool:
    # The AOL collection comes with a U500k_README.txt.
    return not name.startswith(".") and _extension(name) in _KINDS and "README" not in name.upper()


def _kind(file: LogFile) -> str:
    return _KINDS.get(_extension(file.location.address), "tsv")


# --- columns -------------------------------------------------------------------------------------


def _layout(file: LogFile, kind: str, columns: Tuple[str, str, str]) -> Layout:
    address = file.location.address
    try:
        if kind == "parquet":
            with file.location.open() as stream:
                _must_have(columns, pa.parquet.ParquetFile(stream).schema_arrow.names, address)
            return Layout(kind, columns)
        if kind == "jsonl":
            return Layout(kind, columns)
        first = _first_row(file, kind)
    except (Damaged, pa.ArrowException, OSError) as error:
        raise InputError(
            str(error).splitlines()[0], "check the file and its format", address
        ) from None
    return _text_layout(first, kind, columns, address)


def _first_row(file: LogFile, kind: str) -> List[str]:
    batches = read_lines(file.location, Layout(kind, AOL_COLUMNS))
    text = next(batches).column("text")[0].as_py()
    return text.split("\t") if text else []


def _text_layout(
    first: List[str], kind: str, columns: Tuple[str, str, str], address: str
) -> Layout:
    if all(name.isdigit() and int(name) > 0 for name in columns):
        numbers = tuple(map(int, columns))
        if max(numbers) > len(first):
            remedy = "see --user-column, --query-column, --time-column, --format"
            raise InputError(f"its first line has {len(first)} columns", remedy, address)
        return Layout(kind, columns, numbers, (len(first),))  # type: ignore[arg-type]
    if columns == AOL_COLUMNS and not set(columns) & set(first):
        return Layout(kind, columns, widths=AOL_WIDTHS)  # AOL's own, without a header
    _must_have(columns, first, address)
    numbers = tuple(first.index(name) + 1 for name in columns)
    widths = AOL_WIDTHS if columns == AOL_COLUMNS and len(first) in AOL_WIDTHS else (len(first),)
    return Layout(kind, columns, numbers, widths, "\t".join(first))  # type: ignore[arg-type]


def _must_have(columns: Sequence[str], present: Sequence[str], address: str) -> None:
    for name in columns:
        if name not in present:
            raise InputError(
                f"no column {name!r}; there are: {', '.join(map(repr, present))}"[:500],
                "say --user-column, --query-column, --time-column (and --format, if it is wrong)",
                address,
            )
