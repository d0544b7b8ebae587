#!/usr/bin/env python3
"""`mtn-serve` under load, beside `fairseq-interactive` on the same sessions: 8 minutes.

    load.py --demo runs/demo --output benchmarks/serving --docs docs/serving.md

Closed loop: 1, 8 and 64 clients. Open loop: requests arrive at half the capacity, which is what 64
clients got, at even distances or at random ones; rare: at half of what one client got.
Each server after the first differs from it in what its name says. The demo's model is very small,
so wider ones are asked, too; the first call makes them, in 4 minutes of CPU time. Server and
clients share the machine, so CPU time per request is measured, too: it hardly depends on what else
runs there. The cache is off, and every model uses one thread. `wrk`, if it is installed, asks each
server again with 64 clients: it takes next to no CPU time from the server, unlike our own client.
"""

import argparse
import asyncio
import os
import platform
import statistics
import subprocess
import sys
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence

import psutil
import wrk
from http_clients import Answered, closed_loop, open_loop
from interactive import interactive
from load_report import DEMO, HEADINGS, Figures, Interactive, Report, row_text, write_into
from servers import MEASURED, Server, command_of, server
from sessions import bodies_of, lines_of, request_of
from wider_models import WiderModel, wider_models

from mtn_serving.bundle.folder import Bundle

WARM_UP = 1.0  # seconds
CLIENTS = (1, 8, 64)
TOGETHER = {1: 150, 64: 1024}  # buffers of fairseq-interactive, and sessions that are asked
NOT_KNOWN = float("nan")


class Bench:
    def __init__(self, bundle: Path, int8: Path, text: Path, seconds: float) -> None:
        self.bundle, self.int8, self.seconds = bundle, int8, seconds
        self.bodies = {route: bodies_of(text, route) for route in ("suggest", "complete")}
        self.rows: List[Figures] = []
        self.wrk: List[Figures] = []
        self.cached: List[Figures] = []

    def run_all(self) -> None:
        for route in ("suggest", "complete"):
            self.run("float", f"{self.bundle}", route, compare=route == "suggest")
            self.run("float, no batches", f"{self.bundle} --max-batch 1", route)
            self.run("float, 2 workers", f"{self.bundle} --workers 2", route)
            self.run("int8", f"{self.int8}", route)
            self.run("int8, 2 workers", f"{self.int8} --workers 2", route)
        self.run_cached()

    def run(self, name: str, flags: str, route: str, compare: bool = False) -> None:
        """Args:
        compare: whether wrk asks with fewer clients, too, and requests arrive at random, too
        """
        with server(f"{flags} {MEASURED}") as running:
            measure = partial(self.measure, running, name, route, self.requests(route))
            for number in CLIENTS:
                self.rows.append(measure(clients(number), closed_loop, number))
                is_asked_again = compare or (route == "suggest" and number == CLIENTS[-1])
                if is_asked_again and wrk.is_installed():
                    self.wrk.append(self.measure_by_wrk(running, name, route, number))
                rate = self.rows[-1].per_second / 2
                for arrivals in _arrivals(number, compare):
                    loop = partial(open_loop, is_random=arrivals.startswith("random"))
                    self.rows.append(measure(f"open, {arrivals}, {rate:.0f}/s", loop, rate))

    def run_wider(self, model: WiderModel) -> None:
        for kind, bundle in {"float": model.bundle(False), "int8": model.bundle(True)}.items():
            self.run(f"{model.name}, {kind}", f"{bundle}", "suggest")
            self.run(f"{model.name}, {kind}, 2 workers", f"{bundle} --workers 2", "suggest")

    def run_cached(self) -> None:
        """One list, again and again: it is made once."""
        request = request_of("suggest", self.bodies["suggest"][0])
        with server(f"{self.bundle} --deadline-ms 10000") as running:
            for number in (1, 64):
                measured = self.measure(
                    running, "from memory", "suggest", cycle([request]), clients(number),
                    closed_loop, number,
                )  # fmt: skip
                self.cached.append(measured)

    def requests(self, route: str) -> Iterable[bytes]:
        return cycle(request_of(route, body) for body in self.bodies[route])

    def measure(
        self,
        running: Server,
        name: str,
        route: str,
        requests: Iterable[bytes],
        load: str,
        loop: Callable,
        amount: float,
    ) -> Figures:
        before = running.cpu_seconds()
        found = asyncio.run(loop(running.address, requests, amount, WARM_UP + self.seconds))
        used = running.cpu_seconds() - before
        figures = self.figures(name, route, load, found, used, running)
        print(row_text(figures), flush=True)
        return figures

    def figures(
        self, name: str, route: str, load: str, found: List[Answered], used: float, running: Server
    ) -> Figures:
        """Throughput is of answers that came after the warm-up, latency of requests made then."""
        begin = min(each.began for each in found) + WARM_UP
        in_time = [each for each in found if begin <= each.ended < begin + self.seconds]
        latencies = [1000 * (each.ended - each.began) for each in found if each.began >= begin]
        cuts = statistics.quantiles(latencies, n=100)
        return Figures(
            name,
            route,
            load,
            *(cuts[place - 1] for place in (50, 95, 99)),
            len(in_time) / self.seconds,
            1000 * used / len(found),
            sum(not each.good for each in found),
            running.megabytes(),
        )

    def measure_by_wrk(self, running: Server, name: str, route: str, number: int) -> Figures:
        found = wrk.closed_loop(running.address, route, self.bodies[route], number, self.seconds)
        latencies = (found["p50"], found["p95"], found["p99"], found["per_second"])
        load = f"{clients(number)}, wrk"
        figures = Figures(name, route, load, *latencies, NOT_KNOWN, int(found["errors"]), NOT_KNOWN)
        print(row_text(figures), flush=True)
        return figures


def _arrivals(number: int, compare: bool) -> Sequence[str]:
    """The open loops at half of what so many clients got."""
    if number == CLIENTS[0]:
        return ("even and rare", "random and rare") if compare else ()
    if number == CLIENTS[-1]:
        return ("even", "random") if compare else ("even",)
    return ()


def clients(number: int) -> str:
    return f"{number} client{'s' * (number > 1)}"


def yardstick(model: str, checkpoint: Path, data: Path, text: Path, beam: int) -> List[Interactive]:
    lines, rows = lines_of(text), []
    for together, number in TOGETHER.items():
        found = interactive(checkpoint, data, lines[:number], together, beam)
        rows.append(Interactive(model, together, **found))
        print(rows[-1], flush=True)
    return rows


def int8_bundle(demo: Path) -> Path:
    """The demo's bundle with weights of one byte; made once."""
    folder = demo / "bundle-int8"
    if not folder.is_dir():
        command = (
            f"{command_of('mtn-export')} --checkpoint {demo}/checkpoints/checkpoint_best.pt"
            f" --data {demo}/data-bin --counts {demo}/next-queries --ranker {demo}/ranker --int8"
            f" --output {folder}"
        )
        print(f"$ {command}", flush=True)
        subprocess.run(command.split(), check=True)
    return folder


def machine(seconds: float) -> Dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "processor": processor(),
        "python": platform.python_version(),
        "seconds": seconds,
        "load_before": os.getloadavg()[0],
    }


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def main(argv: Optional[Sequence[str]] = None) -> None:
    args = parse_args(argv)
    demo, text = args.demo, args.demo / "text/test"
    if not (demo / "bundle").is_dir():
        sys.exit(f"{demo} has no bundle: make demo")
    int8 = int8_bundle(demo)
    wider = wider_models(demo)
    facts = machine(args.seconds)
    beam = Bundle.open(demo / "bundle").manifest["ranker"]["beam"]
    print(f"| {' | '.join(HEADINGS)} |", flush=True)
    bench = Bench(demo / "bundle", int8, text, args.seconds)
    bench.run_all()
    rows = yardstick(DEMO, demo / "checkpoints/checkpoint_best.pt", demo / "data-bin", text, beam)
    for model in wider:
        bench.run_wider(model)
        rows += yardstick(model.name, model.checkpoint, model.data, text, beam)
    facts["load_after"] = os.getloadavg()[0]
    report = Report(facts, bench.rows, bench.cached, bench.wrk, rows)
    report.save(args.output or demo / "load")
    if args.docs is not None:
        write_into(args.docs, report.markdown())
    print(f"\n{report.markdown()}")


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--demo", type=Path, required=True, help="folder of examples/sample_log/demo.py")
    add("--output", type=Path, help="for load.json and load.md (default: DEMO/load)")
    add("--docs", type=Path, help="a page that shows them between its marks")
    add("--seconds", type=float, default=4.0, help="per measurement (default: %(default)s)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
