"""Checks of numbers given by callers; errors name the number and its bounds."""

from operator import index
from typing import Optional

from mtn_preprocess.errors import InputError

MAX_BEAM = 1000  # hypotheses; a wider beam takes more memory than machines have
MAX_THREADS = 256


def check_whole(name: str, value: object, least: int, most: Optional[int] = None) -> None:
    """Refuse what is not a whole number between `least` and `most`; None means no upper limit."""
    bounds = f"at least {least}" if most is None else f"{least} to {most:,}"
    remedy = f"give a whole number, {bounds}"
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputError(f"{name}={value!r} is no whole number", remedy)
    if index(value) < least or (most is not None and index(value) > most):
        raise InputError(f"{name}={value!r} is out of bounds", remedy)


def check_number(n: int, what: str = "suggestions") -> None:
    """Refuse a number below 1."""
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"n is a whole number, not {type(n).__name__}: how many {what} are wanted")
    if index(n) < 1:
        raise InputError(f"{n} {what} were asked for", "ask for at least 1")
