"""The users of pairs: line n of `PREFIX.user` is the running number of the person of pair n.

Each preparation numbers people anew. `users.key` has a hash of each person's ID in the log, one
line per person in the order of the numbers, so that a person is recognised in other text.
"""

import re
from hashlib import blake2b
from pathlib import Path
from typing import Iterator, List, Optional

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_checks import numbered_lines

KEYS = "users.key"
MAX_USERS = 1 << 32  # counts pack a user and a query into 64 bits


def read_users(prefix: str) -> Optional[Iterator[int]]:
    """One number per pair, as written by `mtn-log-to-sessions --users`.

    The caller must check that pairs and users end together.

    Returns:
        None if there is no `PREFIX.user`
    """
    path = Path(f"{prefix}.user")
    return _users(path) if path.is_file() else None


def _users(path: Path) -> Iterator[int]:
    for number, line in numbered_lines(path):
        if not line.strip().isdecimal() or int(line) >= MAX_USERS:
            raise InputError("not a number of a user", "prepare the text again", path, number)
        yield int(line)


def user_key(name: str) -> str:
    """A 64-bit hash of a person's ID in the log; unsalted, so it is the same for all logs."""
    return blake2b(name.encode("utf-8"), digest_size=8).hexdigest()


def read_user_keys(folder: Path) -> Optional[List[int]]:
    """The key of each person in a folder's text, by number; None if there is no file."""
    path = Path(folder) / KEYS
    if not path.is_file():
        return None
    keys = []
    for number, line in numbered_lines(path):
        if not re.fullmatch("[0-9a-f]{16}", line.strip()):
            raise InputError("not a key of a user", "prepare the text again", path, number)
        keys.append(int(line, 16))
    return keys
