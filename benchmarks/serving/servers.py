"""Running `mtn-serve`s, and what they use."""

import os
import re
import shlex
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, NamedTuple

import psutil

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
# What is measured is the making of lists: none from memory, none from counts because it is late.
MEASURED = "--cache 0 --deadline-ms 10000"


class Server(NamedTuple):
    address: str
    process: psutil.Process

    def megabytes(self) -> float:
        """Of all its processes; pages that they share count once."""
        return sum(each.memory_full_info().pss for each in self._processes()) / 1e6

    def cpu_seconds(self) -> float:
        times = [each.cpu_times() for each in self._processes()]
        return sum(each.user + each.system for each in times)

    def _processes(self) -> list:
        return [self.process, *self.process.children(recursive=True)]


@contextmanager
def server(flags: str) -> Iterator[Server]:
    """On a free port, ended with the block."""
    command = [sys.executable, "-m", "mtn_serving.commands.serve", *shlex.split(flags)]
    with subprocess.Popen(
        [*command, "--port", "0"], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            ready = re.search(r"ready at (\S+)", process.stderr.readline())
            assert ready is not None, f"mtn-serve {flags} did not start"
            yield Server(ready.group(1), psutil.Process(process.pid))
        finally:
            process.terminate()


def command_of(name: str) -> str:
    """The command of the environment that runs this script."""
    return str(Path(sys.executable).with_name(name))
