"""Who asked, in a way that holds for several texts.

`PREFIX.user` has running numbers, and each preparation numbers people anew. So a person is known
again in other text by a key: `users.key`, which `mtn-log-to-sessions --user-keys` writes.
"""

from pathlib import Path
from typing import Iterator, List, NamedTuple, Optional

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.users import KEYS as KEY_FILE
from mtn_preprocess.text.users import read_user_keys, read_users

KEYS, NUMBERS = "keys", "numbers"  # how people are known again


class People(NamedTuple):
    by: Optional[str]  # KEYS or NUMBERS; None where it is not known who asked
    of_pairs: Optional[Iterator[int]]  # a number per pair, the same person's in all texts


def read_people(prefix: str, in_other_texts: bool, same_numbers: bool = False) -> People:
    """Args:
    prefix: of the text
    in_other_texts: whether the same people may be in other text
    same_numbers: whether somebody says that a number is the same person's in all texts
    """
    users = read_users(prefix)
    if users is None:
        return People(None, None)
    if same_numbers or not in_other_texts:
        return People(NUMBERS, users)
    keys = read_user_keys(Path(prefix).parent)
    if keys is None:
        raise InputError(
            f"numbers of people, which mean others in other text, and no {KEY_FILE} beside it",
            "prepare each text with mtn-log-to-sessions --users --user-keys; or pass --same-users "
            "if a number is the same person's in all of them",
            f"{prefix}.user",
        )
    return People(KEYS, _keys_of(users, keys, prefix))


def _keys_of(users: Iterator[int], keys: List[int], prefix: str) -> Iterator[int]:
    for line, user in enumerate(users, 1):
        if user >= len(keys):
            reason = f"person {user}, but {KEY_FILE} has {len(keys)}"
            raise InputError(reason, "prepare the text again", f"{prefix}.user", line)
        yield keys[user]
