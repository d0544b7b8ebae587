"""The manifest of a bundle: facts about it, and the size and SHA-256 of every file."""

import json
from pathlib import Path
from typing import Any, Callable, Dict, List

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.json_file import read_json

from ..kept_folder import checksum_of, content_checksum, kind_in

NAME = "manifest.json"
KIND = "bundle"
FORMAT = 1
# Parts of a bundle by kind of folder: a description, and the flag for them.
KINDS_OF_PARTS = {
    "next queries": ("a table of counts", "--counts"),
    "ranker": ("a ranker", "--ranker"),
    "completion ranker": ("a ranker of completions", "--completion-ranker"),
}
_EXPORT = "run mtn-export again"

Manifest = Dict[str, Any]


def write_manifest(folder: Path, facts: Dict[str, Any]) -> Manifest:
    """Write the manifest, after all other files; it replaces an earlier one."""
    (folder / NAME).unlink(missing_ok=True)
    files = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": checksum_of(folder / name)}
        for name in files_in(folder)
    }
    content = {"kind": KIND, "format": FORMAT, **facts, "files": files}
    manifest = {**content, "sha256": content_checksum(content)}
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / NAME).write_text(text, encoding="utf-8")
    return manifest


def read_manifest(folder: Path) -> Manifest:
    path = folder / NAME
    if not path.is_file():
        _refuse_other_kinds(folder)
        raise InputError(f"no bundle: it has no {NAME}", "give a folder of mtn-export", folder)
    manifest = read_json(path, _EXPORT)
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND:
        raise InputError(f"no {NAME} of a bundle", "give a folder of mtn-export", path)
    version = manifest.get("format")
    if version != FORMAT:
        reason = f"a bundle of format {version}; this version reads format {FORMAT}"
        raise InputError(reason, "export it again, or install the version that wrote it", path)
    content = {name: value for name, value in manifest.items() if name != "sha256"}
    if manifest.get("sha256") != content_checksum(content):
        raise InputError("damaged (its checksum is another)", _EXPORT, path)
    return manifest


def _refuse_other_kinds(folder: Path) -> None:
    """Refuse a folder that is a part of a bundle, and name the right flag."""
    kind = kind_in(folder)
    if kind in KINDS_OF_PARTS:
        what, flag = KINDS_OF_PARTS[kind]
        raise InputError(f"no bundle, but {what}", f"pass it as {flag}", folder)


def check_files(folder: Path, manifest: Manifest, read_all: Callable[[str], bool]) -> None:
    """Refuse missing or changed files.

    Args:
        read_all: whether to compare the checksum of the file with this name, or only its size
    """
    for name, written in manifest["files"].items():
        path = folder / name
        try:
            if not path.is_file() or path.stat().st_size != written["bytes"]:
                raise InputError("missing or damaged (not as long as written)", _EXPORT, path)
            if read_all(name) and checksum_of(path) != written["sha256"]:
                raise InputError("damaged (its checksum is another)", _EXPORT, path)
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", _EXPORT, path) from None


def foreign_files(folder: Path, manifest: Manifest) -> List[str]:
    """Files in the folder that are not in the manifest."""
    return sorted(set(files_in(folder)) - {NAME, *manifest["files"]})


def files_in(folder: Path) -> List[str]:
    """Paths relative to the folder, with slashes."""
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()
    )
