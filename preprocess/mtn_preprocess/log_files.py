"""Find the files of a log: files, folders and patterns, all of one format."""

import glob
import os
from dataclasses import dataclass, field, replace
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple
from urllib.parse import quote

import pyarrow as pa

from mtn_preprocess.errors import InputError
from mtn_preprocess.log_formats import AOL_COLUMNS, FORMAT_OF_ENDING
from mtn_preprocess.log_layout import layout_of
from mtn_preprocess.log_lines import Layout, Location, find, one_line
from mtn_preprocess.log_times import AOL_TIME, TimeRange, plausible_times

_COMPRESSED = (".gz", ".zst", ".zstd")
_AOL_FILES = "user-ct-test-collection"


class LogFile(NamedTuple):
    location: Location
    size: int  # bytes


@dataclass(frozen=True)
class Log:
    """Files of one format, and how to read them.

    Args:
        files: in the order that numbers their rows
        layout: the same for all files
        time_format: as for `datetime.strptime`, or `epoch`, `epoch-ms` or `iso`
        times: the valid range; a row outside it is malformed
    """

    files: Tuple[LogFile, ...]
    layout: Layout
    time_format: str = AOL_TIME
    times: TimeRange = field(default_factory=plausible_times)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def is_aols(self) -> bool:
        """Whether these are files of the paper's log, recognised by their names."""
        return all(file.location.name.startswith(_AOL_FILES) for file in self.files)


def find_log(
    addresses: Sequence[str],
    columns: Tuple[str, str, str] = AOL_COLUMNS,
    kind: str = "auto",
    time_format: str = AOL_TIME,
    delimiter: Optional[str] = None,
    times: Optional[TimeRange] = None,
) -> Log:
    """Find the log at the addresses given by the user: files, folders, patterns.

    Args:
        columns: of user, query and time: names, or numbers from 1
        kind: the format, or `auto` to choose by file name
        delimiter: between text columns; detected if not given
        times: valid range; default: the plausible times
    """
    files = _find_files(addresses)
    kinds = {_kind(file.location.name) if kind == "auto" else kind for file in files}
    if len(kinds) > 1:
        raise InputError(
            f"files of several formats: {', '.join(sorted(kinds))}",
            "prepare them apart, or say --format if they are the same",
        )
    sure, kind = kind != "auto", kinds.pop()
    if delimiter and (kind not in ("tsv", "csv") or (kind == "tsv" and sure and delimiter != "\t")):
        reason = f"--delimiter is not for the format {kind}"
        raise InputError(reason, "leave it out, or say --format csv")
    layouts = [
        layout_of(file.location, kind, columns, delimiter, sure, time_format) for file in files
    ]
    # Other columns of the header may differ between files.
    headers = dict.fromkeys(header for each in layouts for header in each.headers)
    layout = replace(layouts[0], headers=tuple(headers))
    for file, other in zip(files, layouts):
        if replace(other, headers=layout.headers) != layout:
            raise InputError(
                "its columns are not those of the first file",
                "prepare them apart, or bring them into one form",
                file.location.address,
            )
    return Log(tuple(files), layout, time_format, times or plausible_times())


# --- files ---------------------------------------------------------------------------------------


def _find_files(addresses: Sequence[str]) -> List[LogFile]:
    files: Dict[Tuple[str, str], LogFile] = {}
    for address in (each for given in addresses for each in _expand(str(given))):
        if set(address) & set("\t\r\n"):  # would break the lines of messages and of rejects.tsv
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
    """The files of a folder or pattern, sorted by name; or the file itself."""
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
        endings = ", ".join(FORMAT_OF_ENDING)
        remedy = f"name them: of a folder, files that end with {endings} (.gz, .zst) are read"
        return found or _refuse("no logs in this folder", remedy, address)
    if kind == pa.fs.FileType.File:
        return [address]
    if kind == pa.fs.FileType.Unknown:
        return _refuse("not a file", "a log is read more than once: no pipe can be", address)
    if "://" not in address and glob.has_magic(address):
        names = sorted(filter(os.path.isfile, glob.glob(address, recursive=True)))
        found = [name for name in names if not _is_readme(name)]
        return found or _refuse("no file fits this pattern", "check it", address)
    return _refuse("no such file", "check the path of the log", address)


def _refuse(reason: str, remedy: str, address: str) -> List[str]:
    raise InputError(reason, remedy, address)


def _within(folder: str, name: str) -> str:
    """The address of a file in a folder."""
    if "://" not in folder:
        return os.path.join(folder, name)
    base, question, options = folder.partition("?")  # s3://bucket/logs?region=…
    return f"{base.rstrip('/')}/{quote(name)}{question}{options}"


def _extension(name: str) -> str:
    name = name.lower()
    for packed in _COMPRESSED:
        if name.endswith(packed):
            name = name[: -len(packed)]
    return os.path.splitext(name)[1]


def _looks_like_a_log(name: str) -> bool:
    return (
        not name.startswith(".") and _extension(name) in FORMAT_OF_ENDING and not _is_readme(name)
    )


def _is_readme(name: str) -> bool:
    return "README" in os.path.basename(name).upper()  # AOL's is called U500k_README.txt


def _kind(name: str) -> str:
    return FORMAT_OF_ENDING.get(_extension(name), "tsv")
