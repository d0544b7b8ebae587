"""Check that a checkpoint file is intact."""

import os
import zipfile
from typing import Optional

from fairseq.file_io import PathManager

from mtn_preprocess.errors import InputError


def find_damage(path: str) -> Optional[str]:
    """What is wrong with a checkpoint file; None if it is intact.

    torch writes zip archives with a table of contents at the end and a checksum of each part. So
    this check finds files that were cut off or overwritten, without unpacking them or loading them
    into memory. It does not reject files that merely do not fit here.
    """
    with open(path, "rb") as stream:  # outside `try`: a missing permission is not damage
        try:
            with zipfile.ZipFile(stream) as archive:
                broken = archive.testzip()
        except Exception as error:  # zipfile raises errors of many types here
            size = os.path.getsize(path)
            if not size:
                return "empty"
            return f"cut off or overwritten, or no checkpoint at all, {size:,} bytes ({error})"
    return broken and f"cut off or overwritten (checksum of {broken})"


def require_whole(path: str, remedy: str) -> None:
    """Refuse a checkpoint that is missing or damaged.

    For a remote file (`s3://…`), only its existence is checked.
    """
    if not PathManager.isfile(path):
        raise InputError("no such checkpoint", remedy, path)
    damage = find_damage(path) if os.path.isfile(path) else None
    if damage is not None:
        raise InputError(f"damaged checkpoint: {damage}", remedy, path)
