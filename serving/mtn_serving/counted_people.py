"""Identify the same people in several texts.

`PREFIX.user` has running numbers, and each preparation numbers people anew. So a key identifies a
person across texts: `users.key`, written by `mtn-log-to-sessions --user-keys`.
"""

from pathlib import Path
from typing import Iterator, List, NamedTuple, Optional

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.users import KEYS as KEY_FILE
from mtn_preprocess.text.users import read_user_keys, read_users

KEYS, NUMBERS = "keys", "numbers"  # how people are recognised


class People(NamedTuple):
    by: Optional[str]  # KEYS or NUMBERS; None if people are not known
    of_pairs: Optional[Iterator[int]]  # one number per pair, the same for a person in all texts


def read_people(prefix: str, in_other_texts: bool, same_numbers: bool = False) -> People:
    """Args:
    prefix: of the text
    in_other_texts: whether the same people may be in other texts
    same_numbers: whether the user says that a number means the same person in all texts
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
