"""Run a command in its own process, and measure its time and peak memory."""

import os
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional

import psutil

EVERY = 0.05  # seconds between two memory readings


@dataclass
class Measurement:
    """The cost of one run.

    Args:
        what: name of the run
        rows: of the log
        seconds: wall time, including start and end of the process
        cpu_seconds: of all threads together
        peak_gib: resident memory, including child processes
    """

    what: str
    rows: int
    seconds: float
    cpu_seconds: float
    peak_gib: float


class TooSlow(Exception):
    """A command was stopped at its time limit."""


def measure(
    what: str, rows: int, command: List[str], output: Path, limit: Optional[float] = None
) -> Measurement:
    """Run a command; its output goes to a file.

    The system's peak value is exact but covers a single process, so Spark also needs regular
    readings
    of the child processes. This process must stay small itself: a new process counts the memory of
    the process it was forked from.
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
    child.returncode = status  # os.wait4 has already collected the process
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
