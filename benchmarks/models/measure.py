"""Compare systems on the same work in turns, so that other load affects all of them equally."""

import multiprocessing
import multiprocessing.connection
import re
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Callable, Dict, Hashable, List, Protocol, Tuple, TypeVar

import torch

Name = TypeVar("Name", bound=Hashable)


class Worker(Protocol):
    parameters: int

    def step(self) -> Tuple[int, float]: ...


def clock() -> float:
    """Seconds: CPU time with one thread, because other load hardly affects it; else wall time."""
    return process_time() if torch.get_num_threads() == 1 else perf_counter()


def pairs_per_second(workers: Dict[Name, Worker], rounds: int) -> Dict[Name, List[float]]:
    """The speed of each system in each round, after one warm-up round that does not count."""
    speeds: Dict[Name, List[float]] = {name: [] for name in workers}
    for turn in range(rounds + 1):
        for name, worker in workers.items():
            pairs, seconds = worker.step()
            if turn:
                speeds[name].append(pairs / seconds)
    return speeds


def ratio(speeds: Dict[Name, List[float]], system: Name, to: Name) -> float:
    """The median of the ratios per round."""
    return median(one / other for one, other in zip(speeds[system], speeds[to]))


def peak_gib(work: Callable[[], None]) -> float:
    """Peak resident memory of a process that does only this work."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_send_peak, args=(work, send))
    process.start()
    send.close()
    peak = receive.recv()
    process.join()
    return peak


def _send_peak(work: Callable[[], None], send: multiprocessing.connection.Connection) -> None:
    work()
    # Not `getrusage`, whose peak includes that of the parent process.
    status = Path("/proc/self/status").read_text()
    send.send(int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 2**20)


def matmul_flops_per_second(size: int = 1024, seconds: float = 2.0) -> float:
    """The machine's peak speed in torch's matrix multiplication."""
    one, other = torch.randn(size, size), torch.randn(size, size)
    best, end = float("inf"), clock() + seconds
    while clock() < end:
        start = clock()
        one @ other
        best = min(best, clock() - start)
    return 2 * size**3 / best


def flops_per_second(worker: Worker, steps: int) -> float:
    """The rate of matrix-multiplication operations over the total time of some steps."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:  # counting is slow, so this run is not timed
        counted = sum(worker.step()[0] for _ in range(steps))
    timed = [worker.step() for _ in range(steps)]
    speed = sum(pairs for pairs, _ in timed) / sum(seconds for _, seconds in timed)
    return counter.get_total_flops() / counted * speed
