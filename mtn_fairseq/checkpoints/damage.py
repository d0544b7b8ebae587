"""Is a checkpoint file whole?"""

import os
import zipfile
from typing import Optional

from fairseq.file_io import PathManager

from mtn_preprocess.errors import InputError


def find_damage(path: str) -> Optional[str]:
    """What is wrong with a checkpoint file; None if it is whole.

    torch writes zip archives, with their table of contents at the end and a checksum of each part.
    So a file that was cut or overwritten is told from one that merely does not fit here, and
    nothing needs to be unpacked for it, nor to fit into memory.
    """
    with open(path, "rb") as stream:  # outside of `try`: no right to read it is not damage
        try:
            with zipfile.ZipFile(stream) as archive:
                broken = archive.testzip()
        except Exception as error:  # whatever zipfile stumbles over in bytes of any kind
            size = os.path.getsize(path)
            if not size:
                return "empty"
            return f"cut off or overwritten, or no checkpoint at all, {size:,} bytes ({error})"
    return broken and f"cut off or overwritten (checksum of {broken})"


def require_whole(path: str, remedy: str) -> None:
    """Refuse a checkpoint that is missing or damaged.

    Of a file that is not on this machine's disks (`s3://…`), only the presence is checked.
    """
    if not PathManager.isfile(path):
        raise InputError("no such checkpoint", remedy, path)
    damage = find_damage(path) if os.path.isfile(path) else None
    if damage is not None:
        raise InputError(f"damaged checkpoint: {damage}", remedy, path)
