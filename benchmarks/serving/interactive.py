"""The yardstick: `fairseq-interactive` on the same sessions, hypotheses only.

One by one, a client sends a session, reads its hypotheses, and sends the next. Together, as many
sessions as `--buffer-size` says are sent before the first is answered.
"""

import shlex
import statistics
import subprocess
import time
from pathlib import Path
from typing import IO, Dict, Sequence

import psutil
from servers import ENVIRONMENT, command_of

WARM_UP = 2  # buffers


def interactive(
    checkpoint: Path, data: Path, lines: Sequence[str], together: int, beam: int
) -> Dict[str, float]:
    """Sessions per second, CPU milliseconds per session, and p50 of the time of one buffer."""
    plugin = subprocess.check_output([command_of("mtn-user-dir")], text=True).strip()
    command = (
        f"{command_of('fairseq-interactive')} {data} --user-dir {plugin}"
        f" --task session_to_query --path {checkpoint} --cpu --beam {beam} --nbest {beam}"
        f" --buffer-size {together} --max-sentences {together}"
    )
    buffers = [lines[at : at + together] for at in range(0, len(lines), together)]
    buffers = [each for each in buffers if len(each) == together]
    with subprocess.Popen(
        shlex.split(command),
        env={**ENVIRONMENT, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        watched = psutil.Process(process.pid)
        for buffer in buffers[:WARM_UP]:
            _ask(process, buffer, beam)
        cpu, began, taken = _cpu(watched), time.perf_counter(), []
        for buffer in buffers[WARM_UP:]:
            sent = time.perf_counter()
            _ask(process, buffer, beam)
            taken.append(1000 * (time.perf_counter() - sent))
        seconds, used = time.perf_counter() - began, _cpu(watched) - cpu
        process.stdin.close()
        process.stdout.read()
    sessions = together * len(taken)
    return {
        "per_second": sessions / seconds,
        "cpu": 1000 * used / sessions,
        "p50": statistics.median(taken),
    }


def _ask(process: subprocess.Popen, buffer: Sequence[str], beam: int) -> None:
    stdin: IO[str] = process.stdin
    stdin.write("".join(f"{line}\n" for line in buffer))
    stdin.flush()
    left = beam * len(buffer)
    while left:  # scores of the words come last, with each hypothesis
        line = process.stdout.readline()
        assert line, "fairseq-interactive ended"
        left -= line.startswith("P-")


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system
