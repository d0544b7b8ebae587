"""A folder with a header that says what it is; it appears whole or not at all."""

import json
import os
import shutil
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, NamedTuple

from ..errors import InputError

HEADER = "header.json"


class Kind(NamedTuple):
    """What a folder holds."""

    name: str
    schema: int
    command: str  # that writes it

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
    unique = f".{place.name}.{uuid.uuid4().hex[:8]}"
    partial, old = place.with_name(f"{unique}.partial"), place.with_name(f"{unique}.old")
    try:
        partial.mkdir(parents=True)
        yield partial
        header = {"kind": kind.name, "schema": kind.schema, **facts}
        (partial / HEADER).write_text(json.dumps(header, indent=2) + "\n", encoding="utf-8")
        if place.exists():
            place.rename(old)
        partial.rename(place)
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
        raise InputError(reason, "check its permissions and the free space", folder) from None
    finally:
        if old.exists() and not place.exists():
            old.rename(place)
        for rest in (partial, old):
            shutil.rmtree(rest, ignore_errors=True)


def check_output(folder: Path, kind: Kind) -> None:
    """Refuse to write where something else is. Ask before long work, too, not only after it."""
    folder = Path(folder)
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        found = json.loads((folder / HEADER).read_text(encoding="utf-8"))["kind"]
    except (OSError, ValueError, KeyError, TypeError):
        found = None
    if found != kind.name:
        reason = f"something else is there already, no {kind.name}"
        raise InputError(reason, "give --output another name", folder)


def read_header(folder: Path, kind: Kind) -> Dict[str, Any]:
    path = folder / HEADER
    if not path.is_file():
        remedy = f"give a folder that {kind.command} wrote"
        raise InputError(f"no {kind.name}: it has no {HEADER}", remedy, folder)
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise InputError("damaged", kind.again, path)
    if header.get("kind") != kind.name:
        raise InputError(f"not of {kind.name}", f"give a folder that {kind.command} wrote", path)
    if header.get("schema") != kind.schema:
        reason = f"of schema {header.get('schema')}, not {kind.schema}"
        raise InputError(reason, kind.again, path)
    return header
