#!/usr/bin/env python3
"""A minute of ten times the load that `mtn-serve` can hold: what is answered, and how it is after.

    overload.py --demo runs/demo

Requests arrive at random, whether or not earlier ones were answered. Settings are the default ones,
without the cache. Exits with 1 if an answer is neither a list nor 503, if a list took much longer
than its deadline, if memory grew without end, or if the service is not as before afterwards.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections import Counter
from itertools import cycle
from pathlib import Path
from typing import Iterator, List, Optional, Sequence

from http_clients import Answered, closed_loop, open_loop
from servers import server
from sessions import bodies_of, request_of

TIMES = 10
CONNECTIONS = 512
LATE = 2.0  # seconds, four times the deadline: server and clients share the cores
GROWTH = 50.0  # MB between the first and the last third


def main(argv: Optional[Sequence[str]] = None) -> None:
    args = parse_args(argv)
    bodies = bodies_of(args.demo / "text/test", "suggest")
    requests = cycle([request_of("suggest", body) for body in bodies])
    faults: List[str] = []
    with server(f"{args.demo / 'bundle'} --cache 0") as running:
        capacity = len(asyncio.run(closed_loop(running.address, requests, 16, 5.0))) / 5
        single, memory = single_ms(running.address, requests), [running.megabytes()]
        print(f"before: {capacity:.0f} lists per second, {single:.1f} ms alone, {memory[0]:.0f} MB")
        answers: List[Answered] = []
        for third in range(1, 4):
            found = asyncio.run(
                open_loop(
                    running.address, requests, TIMES * capacity, args.seconds / 3, True, CONNECTIONS
                )
            )
            answers += found
            memory.append(running.megabytes())
            print(f"{third}/3: {in_words(found, args.seconds / 3)}, {memory[-1]:.0f} MB")
        started = time.monotonic()
        after = single_ms(running.address, requests)
        print(f"after: {after:.1f} ms alone, {running.megabytes():.0f} MB")
        outcomes = Counter(each.outcome for each in answers)
        took = sorted(each.ended - each.began for each in answers if each.outcome != "refused")
        if set(outcomes) - {"list", "degraded", "refused"}:
            faults.append(f"answers that are none: {outcomes}")
        if took[int(0.99 * len(took))] > LATE:
            faults.append(f"1 % of the lists took more than {LATE} s")
        if memory[-1] - memory[1] > GROWTH:
            faults.append(f"memory grew: {memory}")
        if after > 5 * single or time.monotonic() - started > 30:
            faults.append(f"{after:.1f} ms alone, {single:.1f} before")
    print("\n".join(faults) or "no fault")
    sys.exit(1 if faults else 0)


def single_ms(address: str, requests: Iterator[bytes]) -> float:
    found = asyncio.run(closed_loop(address, requests, 1, 2.0))
    return 1000 * statistics.median(each.ended - each.began for each in found)


def in_words(found: Sequence[Answered], seconds: float) -> str:
    outcomes = Counter(each.outcome for each in found)
    lists = [1000 * (each.ended - each.began) for each in found if each.outcome != "refused"]
    cuts = statistics.quantiles(lists, n=100)
    rates = ", ".join(f"{name} {number / seconds:.0f}/s" for name, number in outcomes.items())
    return f"{rates}; lists p50 {cuts[49]:.0f} ms, p99 {cuts[98]:.0f} ms"


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--demo", type=Path, required=True, help="folder with bundle and text")
    parser.add_argument("--seconds", type=float, default=60.0, help="(default: %(default)s)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
