"""Progress of long work and the time left, as lines on standard error."""

import time
from typing import Callable

EVERY = 10.0  # seconds


class TimeLeft:
    """Reports progress every `EVERY` seconds.

    Args:
        say: prints a line
        clock: returns seconds
    """

    def __init__(
        self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.say, self.clock = say, clock
        self.what = ""
        self.started = self.called = self.said = clock()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Args:
        what: the unit of the work, as in "3 of 5 pairs"; a new unit restarts the timing
        done: how many units are done, at least one
        """
        now = self.clock()
        if what != self.what:  # its first unit began at the previous call
            self.what, self.started = what, self.called
        self.called = now
        if now - self.said < EVERY and done < total:
            return
        self.said = now
        left = (now - self.started) / done * (total - done)
        note = f", about {_rounded(left)} left" if done < total else ""
        self.say(f"{done:,} of {total:,} {what}{note}")


def _rounded(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
