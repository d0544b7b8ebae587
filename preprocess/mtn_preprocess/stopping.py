"""On Ctrl-C and SIGTERM, clean up and end the program with one line."""

import signal
import sys
from contextlib import contextmanager
from types import FrameType
from typing import Iterator, List, Optional


@contextmanager
def stoppable() -> Iterator[None]:
    """End the program after a signal, whatever exception an engine turns it into."""
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
        raise SystemExit(128 + received[0]) from None  # the shell's exit code for signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
