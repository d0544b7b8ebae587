"""CPU time, memory and start-up of engines that answer the same requests in turn."""

import importlib
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Sequence

HERE = Path(__file__).resolve().parent
WARM_UP = 5  # first requests, which do not count
PAUSE = 0.02  # seconds in which threads that wait in a loop for more work fall asleep


class Taken(NamedTuple):
    cpu: float  # milliseconds, all threads together
    wall: float


def cpu_seconds(process: int) -> float:
    """Of any process, to the nanosecond: Linux's number of another process' clock."""
    return time.clock_gettime((~process << 3) | 2)


def in_turn(engines: Dict[str, Any], batches: Sequence[List[str]]) -> Dict[str, List[Taken]]:
    """Each batch through all engines, so that a busy machine slows all of them alike."""
    found: Dict[str, List[Taken]] = {name: [] for name in engines}
    for batch in batches:
        for name, engine in engines.items():
            time.sleep(PAUSE)
            cpu, wall = cpu_seconds(engine.process), time.perf_counter()
            answers = engine.answer(batch)
            taken = Taken(
                1000 * (cpu_seconds(engine.process) - cpu), 1000 * (time.perf_counter() - wall)
            )
            assert len(answers) == len(batch), name
            found[name].append(taken)
    return found


def one_request(taken: List[Taken]) -> Dict[str, float]:
    counted = taken[WARM_UP:]
    ordered = sorted(each.cpu for each in counted)
    return {
        "median_ms": statistics.median(ordered),
        "p95_ms": ordered[int(0.95 * len(ordered))],
        "wall_ms": statistics.median(each.wall for each in counted),
    }


def many_requests(taken: List[Taken], together: int) -> Dict[str, float]:
    """The first batch warms up."""
    counted = taken[1:]
    return {
        "per_cpu_second": 1000 * together / statistics.median(each.cpu for each in counted),
        "per_second": 1000 * together / statistics.median(each.wall for each in counted),
    }


def fresh(module: str, name: str, folder: Path, request: str) -> Dict[str, float]:
    """Start-up and memory: a process that loads one engine and answers one request."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), module, name, str(folder)],
        input=request,
        capture_output=True,
        text=True,
        cwd=HERE,
    )
    if done.returncode:
        sys.exit(f"{name} did not start: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _answer_once(module: str, name: str, folder: Path) -> None:
    """Before the engine is loaded this process has imported the standard library only."""
    engine = importlib.import_module(module).ENGINES[name](folder, 1, 1)
    engine.answer([sys.stdin.read()])
    megabytes = megabytes_of(engine.process)
    weights = _bytes(engine.weights) / 1e6
    figures = {"start_s": cpu_seconds(engine.process), "peak_mb": megabytes, "weights_mb": weights}
    engine.end()
    print(json.dumps(figures), flush=True)


def megabytes_of(process: int) -> float:
    """Resident memory at its peak."""
    status = Path(f"/proc/{process}/status").read_text()
    match = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert match is not None
    return int(match.group(1)) * 1024 / 1e6


def _bytes(path: Path) -> int:
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sum(each.stat().st_size for each in files)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    _answer_once(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
