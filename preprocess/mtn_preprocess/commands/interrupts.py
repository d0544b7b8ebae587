"""Ctrl-C is how people leave, no error to tell them about."""

import os
import signal
from functools import wraps
from typing import Callable, Optional, Sequence

Main = Callable[..., None]


def interruptible(main: Main) -> Main:
    """Ctrl-C ends the command in silence, after whatever it has begun to write is cleared away."""

    @wraps(main)
    def wrapped(argv: Optional[Sequence[str]] = None) -> None:
        try:
            main(argv)
        except KeyboardInterrupt:
            # By the signal itself: a shell then ends the loop or script that the command is in.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)

    return wrapped
