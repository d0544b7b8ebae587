"""Is a checkpoint file whole?"""

import os
import zipfile
from typing import Optional


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
            return f"cut off or overwritten, {size:,} bytes ({error})" if size else "empty"
    return broken and f"cut off or overwritten (checksum of {broken})"
