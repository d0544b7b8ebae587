"""Ctrl-C and SIGTERM: the end of the program in one line, with everything tidied up."""

import signal
import sys
from contextlib import contextmanager
from types import FrameType
from typing import Iterator, List, Optional


@contextmanager
def stoppable() -> Iterator[None]:
    """Ends the program if a signal comes, whatever exception an engine makes of it on its way."""
    received: List[int] = []

    def stop(number: int, frame: Optional[FrameType]) -> None:
        received.append(number)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except BaseException:
        if not received:
            raise
        print("stopped: nothing was written", file=sys.stderr)
        raise SystemExit(128 + received[0]) from None  # as shells number it
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
