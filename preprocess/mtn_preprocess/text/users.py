"""Who asked: `PREFIX.user`, where line n is the running number of the person of pair n."""

from pathlib import Path
from typing import Iterator, Optional

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.text_checks import numbered_lines

MAX_USERS = 1 << 32  # counts pack a user and a query into 64 bits


def read_users(prefix: str) -> Optional[Iterator[int]]:
    """One number per pair, as `mtn-log-to-sessions --users` writes them.

    A reader of pairs must check that both end together.

    Returns:
        None where there is no `PREFIX.user`
    """
    path = Path(f"{prefix}.user")
    return _users(path) if path.is_file() else None


def _users(path: Path) -> Iterator[int]:
    for number, line in numbered_lines(path):
        if not line.strip().isdecimal() or int(line) >= MAX_USERS:
            raise InputError("not a number of a user", "prepare the text again", path, number)
        yield int(line)
