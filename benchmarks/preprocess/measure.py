"""One command in a process of its own: how long it took, and how much memory at its peak."""

import os
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional

import psutil

EVERY = 0.05  # seconds between two looks at the memory


@dataclass
class Measurement:
    """What one run took.

    Args:
        what: was run
        rows: of the log
        seconds: on the clock, start-up and end of the process included
        cpu_seconds: of all threads together
        peak_gib: resident memory, that of processes it started included
    """

    what: str
    rows: int
    seconds: float
    cpu_seconds: float
    peak_gib: float


class TooSlow(Exception):
    """A command that was stopped because its time was up."""


def measure(
    what: str, rows: int, command: List[str], output: Path, limit: Optional[float] = None
) -> Measurement:
    """Run a command; what it prints goes to a file.

    The system's own account of the peak is exact, but knows one process; looking at the children
    every now and then is needed for Spark. This process must stay small itself: a new process
    counts the memory of the one it was forked from.
    """
    with open(output, "wb") as printed:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=printed, stderr=subprocess.STDOUT)
        peak = 0
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            seconds = time.perf_counter() - start
            if pid:
                break
            peak = max(peak, _memory_of_tree(child.pid))
            if limit and seconds > limit:
                _stop_tree(child.pid)
                raise TooSlow(f"{what}: stopped after {limit:.0f} seconds")
            time.sleep(EVERY)
    child.returncode = status  # it was waited for here
    if status:
        raise SystemExit(f"{' '.join(command)} failed:\n{output.read_text(errors='replace')}")
    peak = max(peak, usage.ru_maxrss * 1024)
    return Measurement(what, rows, seconds, usage.ru_utime + usage.ru_stime, peak / 2**30)


def _memory_of_tree(pid: int) -> int:
    return sum(_memory(process) for process in _tree(pid))


def _memory(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.Error:  # it has just ended
        return 0


def _stop_tree(pid: int) -> None:
    for process in _tree(pid):
        with suppress(psutil.Error):  # it may just have ended
            process.kill()
    os.waitpid(pid, 0)


def _tree(pid: int) -> List[psutil.Process]:
    try:
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.Error:
        return []
