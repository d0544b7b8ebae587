"""Exit silently on Ctrl-C."""

import os
import signal
from functools import wraps
from typing import Callable, Optional, Sequence

Main = Callable[..., None]


def interruptible(main: Main) -> Main:
    """On Ctrl-C, end the command silently, after its unfinished output has been removed."""

    @wraps(main)
    def wrapped(argv: Optional[Sequence[str]] = None) -> None:
        try:
            main(argv)
        except KeyboardInterrupt:
            # Die by the signal itself, so that a shell also ends the loop or script around the
            # command.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)

    return wrapped
