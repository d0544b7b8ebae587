"""Flags with one number per level."""

from typing import List

from mtn_preprocess.errors import InputError


def one_int_per_level(text: str, flag: str) -> List[int]:
    """`3,2` -> [3, 2], bottom level first."""
    try:
        numbers = [int(number) for number in str(text).split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise InputError(
            f"{flag} {text!r} is not a list of whole numbers above 0",
            f"give one number per level, bottom up, such as {flag} 3,2",
        )
    return numbers
