"""A folder with a header that says what it is; it appears whole or not at all.

The header has the size and the SHA-256 of every file beside it, and of its own content. So damage
is found before anything is parsed or mapped.
"""

import hashlib
import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, FrozenSet, Iterator, NamedTuple

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.whole_folder import written_whole

HEADER = "header.json"
_CHUNK = 1 << 20  # bytes that are hashed at once


class Kind(NamedTuple):
    """What a folder holds."""

    name: str
    schema: int
    command: str  # that writes it
    files: FrozenSet[str]  # their names, beside the header

    @property
    def again(self) -> str:
        """The remedy for a folder that is not as it was written."""
        return f"run {self.command} again"


@contextmanager
def new_folder(folder: Path, kind: Kind, facts: Dict[str, Any]) -> Iterator[Path]:
    """A folder to write into, which in the end is renamed to `folder`.

    An older one of the same kind gives way, and is still there if anything went wrong.
    """
    check_output(folder, kind)
    place = Path(os.path.realpath(folder))  # what a link leads to; the link stays
    try:
        with written_whole(place, lambda: check_output(folder, kind)) as partial:
            yield partial
            write_header(partial, kind, facts)
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
        raise InputError(reason, "check its permissions and the free space", folder) from None


def check_output(folder: Path, kind: Kind) -> None:
    """Refuse to write where something else is. Ask before long work, too, not only after it."""
    folder = Path(folder)
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        found = json.loads((folder / HEADER).read_text(encoding="utf-8"))["kind"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        found = None
    if found != kind.name:
        reason = f"something else is there already, no {kind.name}"
        raise InputError(reason, "give --output another name", folder)
    ours = {HEADER, *kind.files}
    foreign = sorted(each.name for each in folder.iterdir() if each.name not in ours)
    if foreign:
        raise InputError(
            f"holds {foreign[0]}, which {kind.command} did not write",
            "it is not deleted: move it elsewhere, or give --output another name",
            folder,
        )


def write_header(folder: Path, kind: Kind, facts: Dict[str, Any]) -> None:
    """When all other files are written."""
    files = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": _checksum(folder / name)}
        for name in sorted(kind.files)
    }
    header = {"kind": kind.name, "schema": kind.schema, **facts, "files": files}
    signed = {**header, "sha256": content_checksum(header)}
    (folder / HEADER).write_text(json.dumps(signed, indent=2) + "\n", encoding="utf-8")


def content_checksum(header: Dict[str, Any]) -> str:
    """Of what the header says, however it is laid out."""
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode("utf-8")).hexdigest()


def read_header(folder: Path, kind: Kind) -> Dict[str, Any]:
    path = folder / HEADER
    if not path.is_file():
        remedy = f"give a folder that {kind.command} wrote"
        raise InputError(f"no {kind.name}: it has no {HEADER}", remedy, folder)
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
        checksum = header.pop("sha256", None) if isinstance(header, dict) else None
        found = content_checksum(header)
    except (OSError, ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise InputError("damaged", kind.again, path)
    if header.get("kind") != kind.name:
        raise InputError(f"not of {kind.name}", f"give a folder that {kind.command} wrote", path)
    schema = header.get("schema")
    if schema != kind.schema and schema in range(1000):  # else nothing that we ever wrote
        raise InputError(f"of schema {schema}, not {kind.schema}", kind.again, path)
    if schema != kind.schema or checksum != found:
        raise InputError("damaged (its checksum is another)", kind.again, path)
    return header


def check_size(folder: Path, kind: Kind, header: Dict[str, Any], name: str) -> Path:
    """The path of a file that is as long as it was written; nothing is read."""
    path = folder / name
    try:
        good = path.is_file() and path.stat().st_size == header["files"][name]["bytes"]
    except (OSError, KeyError, TypeError):
        good = False
    if not good:
        raise InputError("missing or damaged (not as long as written)", kind.again, path)
    return path


def check_file(folder: Path, kind: Kind, header: Dict[str, Any], name: str) -> Path:
    """The path of a file that is as it was written, byte by byte: all of it is read."""
    path = check_size(folder, kind, header, name)
    try:
        found = _checksum(path)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", kind.again, path) from None
    _compare(path, kind, header, found)
    return path


def read_file(folder: Path, kind: Kind, header: Dict[str, Any], name: str) -> bytes:
    """The content of a small file, as it was written."""
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


def _checksum(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        for chunk in iter(lambda: stream.read(_CHUNK), b""):
            digest.update(chunk)
    return digest.hexdigest()
