"""A folder with a header that identifies it, written atomically.

The header has the size and SHA-256 of every file beside it, and a checksum of its own content. So
damage is detected before anything is parsed or mapped.
"""

import hashlib
import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Collection, Dict, FrozenSet, Iterator, NamedTuple, Optional

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.json_file import read_json
from mtn_preprocess.files.whole_folder import foreign_names, written_whole

HEADER = "header.json"
_CHUNK = 1 << 20  # bytes hashed at once


class Kind(NamedTuple):
    """A kind of folder."""

    name: str
    schema: int
    command: str  # the command that writes it
    files: FrozenSet[str]  # names of the files, without the header

    @property
    def again(self) -> str:
        """The remedy for a damaged folder."""
        return f"run {self.command} again"


@contextmanager
def new_folder(folder: Path, kind: Kind, facts: Dict[str, Any]) -> Iterator[Path]:
    """Yield a folder to write into; afterwards it is renamed to `folder`.

    It replaces an older folder of the same kind, which is kept if anything fails.
    """
    check_output(folder, kind)
    place = Path(os.path.realpath(folder))  # write to the target of a link, and keep the link
    try:
        with written_whole(place, lambda: check_output(folder, kind)) as partial:
            yield partial
            write_header(partial, kind, facts)
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
        raise InputError(reason, "check its permissions and the free space", folder) from None


def check_output(folder: Path, kind: Kind) -> None:
    """Refuse to overwrite anything else. Call it before long work too, not only after it."""
    folder = Path(folder)
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    header = _parse_header(folder)
    own = {HEADER, *kind.files, *_named_files(header)}
    foreign = foreign_names(folder, own) if folder.is_dir() else []
    if header is None:  # damaged or missing: only the names can be checked
        is_ours = not foreign and _has_files(folder, {HEADER}) and _has_files(folder, kind.files)
    else:
        is_ours = header.get("kind") == kind.name
    if not is_ours:
        reason = f"something else is there already, no {kind.name}"
        raise InputError(reason, "give --output another name", folder)
    if foreign:
        raise InputError(
            f"holds {foreign[0]}, which {kind.command} did not write",
            "it is not deleted: move it elsewhere, or give --output another name",
            folder,
        )


def write_header(folder: Path, kind: Kind, facts: Dict[str, Any]) -> None:
    """Write the header, after all other files."""
    files = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": checksum_of(folder / name)}
        for name in sorted(kind.files)
    }
    header = {"kind": kind.name, "schema": kind.schema, **facts, "files": files}
    signed = {**header, "sha256": content_checksum(header)}
    (folder / HEADER).write_text(json.dumps(signed, indent=2) + "\n", encoding="utf-8")


def content_checksum(header: Dict[str, Any]) -> str:
    """The checksum of the header's content, whatever its layout."""
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode("utf-8")).hexdigest()


def read_header(folder: Path, kind: Kind) -> Dict[str, Any]:
    path = folder / HEADER
    if not path.is_file():
        remedy = f"give a folder that {kind.command} wrote"
        raise InputError(f"no {kind.name}: it has no {HEADER}", remedy, folder)
    header = _parse_header(folder)
    if header is None:
        raise InputError("damaged", kind.again, path)
    checksum = header.pop("sha256", None)
    if header.get("kind") != kind.name:
        raise InputError(f"not of {kind.name}", f"give a folder that {kind.command} wrote", path)
    schema = header.get("schema")
    if schema != kind.schema and schema in range(1000):  # otherwise not ours
        raise InputError(f"of schema {schema}, not {kind.schema}", kind.again, path)
    if schema != kind.schema or checksum != content_checksum(header):
        raise InputError("damaged (its checksum is another)", kind.again, path)
    return header


def kind_in(folder: Path) -> Optional[str]:
    """The kind of a folder by its header; None without one."""
    kind = (_parse_header(Path(folder)) or {}).get("kind")
    return kind if isinstance(kind, str) else None


def _parse_header(folder: Path) -> Optional[Dict[str, Any]]:
    """The header; None if it is damaged or missing."""
    try:
        header = read_json(folder / HEADER)
        content_checksum(header)  # JSON that can be read may be nested too deeply to be written
    except (InputError, RecursionError):
        return None
    return header if isinstance(header, dict) else None


def _named_files(header: Optional[Dict[str, Any]]) -> Collection[str]:
    """The files that a header lists: earlier versions used other names."""
    files = (header or {}).get("files")
    return files if isinstance(files, dict) else ()


def _has_files(folder: Path, names: Collection[str]) -> bool:
    """Whether any of the files exists."""
    return any((folder / name).is_file() for name in names)


def check_size(folder: Path, kind: Kind, header: Dict[str, Any], name: str) -> Path:
    """The path of a file, after a check of its size; nothing is read."""
    path = folder / name
    try:
        good = path.is_file() and path.stat().st_size == header["files"][name]["bytes"]
    except (OSError, KeyError, TypeError):
        good = False
    if not good:
        raise InputError("missing or damaged (not as long as written)", kind.again, path)
    return path


def check_file(folder: Path, kind: Kind, header: Dict[str, Any], name: str) -> Path:
    """The path of a file, after a check of its checksum: all of it is read."""
    path = check_size(folder, kind, header, name)
    try:
        found = checksum_of(path)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", kind.again, path) from None
    _compare(path, kind, header, found)
    return path


def read_file(folder: Path, kind: Kind, header: Dict[str, Any], name: str) -> bytes:
    """The content of a small file, after a check of its checksum."""
    path = check_size(folder, kind, header, name)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", kind.again, path) from None
    _compare(path, kind, header, hashlib.sha256(content).hexdigest())
    return content


def _compare(path: Path, kind: Kind, header: Dict[str, Any], found: str) -> None:
    if found != header["files"][path.name]["sha256"]:
        raise InputError("damaged (its checksum is another)", kind.again, path)


def checksum_of(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        for chunk in iter(lambda: stream.read(_CHUNK), b""):
            digest.update(chunk)
    return digest.hexdigest()
