"""Several systems at the same work, taking turns, so that what else the machine does hits all."""

import multiprocessing
import multiprocessing.connection
import resource
from statistics import median
from time import perf_counter
from typing import Callable, Dict, List, Protocol, Tuple

import torch


class Worker(Protocol):
    parameters: int

    def step(self) -> Tuple[int, float]: ...


def pairs_per_second(workers: Dict[str, Worker], rounds: int) -> Dict[str, List[float]]:
    """Speed of each in each round; one round before, to warm up, does not count."""
    speeds: Dict[str, List[float]] = {name: [] for name in workers}
    for turn in range(rounds + 1):
        for name, worker in workers.items():
            pairs, seconds = worker.step()
            if turn:
                speeds[name].append(pairs / seconds)
    return speeds


def ratio(speeds: Dict[str, List[float]], system: str, to: str) -> float:
    """Round by round, then the middle one."""
    return median(one / other for one, other in zip(speeds[system], speeds[to]))


def peak_gib(work: Callable[[], None]) -> float:
    """Resident memory at its peak, of a process that does this and nothing else."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_tell_peak, args=(work, send))
    process.start()
    send.close()
    peak = receive.recv()
    process.join()
    return peak


def _tell_peak(work: Callable[[], None], send: multiprocessing.connection.Connection) -> None:
    work()
    send.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def matmul_flops_per_second(size: int = 1024, seconds: float = 2.0) -> float:
    """The machine's peak, as torch reaches it."""
    one, other = torch.randn(size, size), torch.randn(size, size)
    best, end = float("inf"), perf_counter() + seconds
    while perf_counter() < end:
        start = perf_counter()
        one @ other
        best = min(best, perf_counter() - start)
    return 2 * size**3 / best


def flops_per_second(worker: Worker, steps: int) -> float:
    """Of the matrix multiplications in some steps, over all their time."""
    from torch.utils.flop_counter import FlopCounterMode

    start = perf_counter()
    with FlopCounterMode(display=False) as counter:
        for _ in range(steps):
            worker.step()
    return counter.get_total_flops() / (perf_counter() - start)
