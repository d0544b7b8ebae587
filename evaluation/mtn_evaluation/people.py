"""The person of each test pair, if the preparation recorded it."""

from typing import List, Optional

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.users import read_users


def people_of(prefix: str, pairs: int) -> Optional[List[int]]:
    """One number per pair from `PREFIX.user`; None if the file does not exist."""
    users = read_users(prefix)
    if users is None:
        return None
    people = list(users)
    if len(people) != pairs:
        raise InputError(
            f"{len(people):,} lines, but {prefix}.session has {pairs:,}",
            "line n of all files must belong together; prepare the text again",
            f"{prefix}.user",
            min(len(people), pairs) + 1,
        )
    return people
