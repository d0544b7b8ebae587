"""Types of flag values, for argparse."""

import argparse
from typing import Callable, Optional

MAX_VALUE = 10**9  # larger values fit neither into 32 bits nor into memory


def at_least(least: int, most: Optional[int] = MAX_VALUE) -> Callable[[str], int]:
    """Parses a whole number between `least` and `most`; None means no upper limit."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, not {text}")
        if most is not None and value > most:
            raise argparse.ArgumentTypeError(f"must be at most {most:,}, not {text}")
        return value

    return number


at_least_0, at_least_1 = at_least(0, most=None), at_least(1)
