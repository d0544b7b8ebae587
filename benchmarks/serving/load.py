#!/usr/bin/env python3
"""`mtn-serve` under load, beside `fairseq-interactive` on the same sessions.

    load.py --bundle my-bundle --int8 my-bundle-int8 --text text/test
            --checkpoint checkpoint_best.pt --data data-bin

Closed loop: 1, 8 and 64 clients. Open loop: requests arrive at half the measured capacity.
Server and clients share the machine, so CPU time per request is measured, too: it hardly depends on
what else runs there. The cache is off, and every model uses one thread.
"""

import argparse
import asyncio
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import psutil
from http_clients import Answered, closed_loop, open_loop

WARM_UP = 1.0  # seconds
CLIENTS = (1, 8, 64)
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
BEAM = 10


class Figures(NamedTuple):
    """Of one measurement; latencies in milliseconds."""

    server: str
    route: str
    load: str
    p50: float
    p95: float
    p99: float
    per_second: float
    cpu: float  # milliseconds per request, of all processes of the server
    errors: int  # answers that are no list of the model's
    memory: float  # MB of all processes of the server, shared pages counted once


# --- requests ------------------------------------------------------------------------------------


def request_of(route: str, body: Dict[str, Any]) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST /v1/{route} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


def requests_of(text: Path, route: str, number: int) -> List[bytes]:
    """Of distinct sessions; of completions, half of the query that was really asked next."""
    found = {}
    sessions = text.with_name(f"{text.name}.session").read_text(encoding="utf-8").splitlines()
    nexts = text.with_name(f"{text.name}.next").read_text(encoding="utf-8").splitlines()
    for session, query in zip(sessions, nexts):
        body: Dict[str, Any] = {"session": session.rpartition(" <session> ")[2].split(" <q> ")}
        if route == "complete":
            body["prefix"] = query[: len(query) // 2]
        found[session] = request_of(route, body)
        if len(found) == number:
            break
    return list(found.values())


# --- servers -------------------------------------------------------------------------------------


@contextmanager
def server(flags: str) -> Iterator[Any]:
    """(address, process) of a running one."""
    command = [sys.executable, "-m", "mtn_serving.commands.serve", *shlex.split(flags)]
    options = ["--port", "0", "--cache", "0", "--deadline-ms", "10000"]
    with subprocess.Popen(
        [*command, *options], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            ready = re.search(r"ready at (\S+)", process.stderr.readline())
            assert ready is not None, f"mtn-serve {flags} did not start"
            yield ready.group(1), psutil.Process(process.pid)
        finally:
            process.terminate()


def megabytes(process: psutil.Process) -> float:
    processes = [process, *process.children(recursive=True)]
    return sum(each.memory_full_info().pss for each in processes) / 1e6


def cpu_seconds(process: psutil.Process) -> float:
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(each.user + each.system for each in times)


class Bench:
    def __init__(self, text: Path, seconds: float) -> None:
        self.seconds = seconds
        self.requests = {
            route: cycle(requests_of(text, route, 5000)) for route in ("suggest", "complete")
        }
        self.rows: List[Figures] = []

    def run(
        self,
        name: str,
        flags: str,
        route: str,
        clients: Sequence[int] = CLIENTS,
        is_open: bool = False,
    ) -> None:
        with server(flags) as (address, process):

            def measure(load: str, loop: Callable, amount: float) -> None:
                before = cpu_seconds(process)
                found = asyncio.run(
                    loop(address, self.requests[route], amount, WARM_UP + self.seconds)
                )
                used = cpu_seconds(process) - before
                self.add(name, route, load, found, used, process)

            for number in clients:
                measure(f"{number} client{'s' * (number > 1)}", closed_loop, number)
            if is_open:
                rate = self.rows[-1].per_second / 2
                measure(f"open, {rate:.0f}/s", open_loop, rate)

    def add(
        self,
        name: str,
        route: str,
        load: str,
        found: List[Answered],
        used: float,
        process: psutil.Process,
    ) -> None:
        """Throughput is of answers that came after the warm-up, latency of requests made then."""
        begin = min(each.began for each in found) + WARM_UP
        in_time = [each for each in found if begin <= each.ended < begin + self.seconds]
        latencies = [1000 * (each.ended - each.began) for each in found if each.began >= begin]
        cuts = statistics.quantiles(latencies, n=100)
        figures = Figures(
            name,
            route,
            load,
            *(cuts[place - 1] for place in (50, 95, 99)),
            len(in_time) / self.seconds,
            1000 * used / len(found),
            sum(not each.good for each in found),
            megabytes(process),
        )
        self.rows.append(figures)
        print(row(figures), flush=True)


def row(each: Figures) -> str:
    latencies = " | ".join(f"{value:.1f}" for value in (each.p50, each.p95, each.p99))
    ends = f"{each.per_second:,.0f} | {each.cpu:.1f} | {each.errors} | {each.memory:,.0f}"
    return f"| {each.server} | {each.route} | {each.load} | {latencies} | {ends} |"


# --- what it is compared with --------------------------------------------------------------------


def direct_milliseconds(bundle: Path, text: Path, number: int = 200) -> Tuple[float, float]:
    """(median, CPU time) of one list without HTTP, in this process."""
    from mtn_serving import Suggester

    suggester = Suggester.load(bundle)
    taken, before = [], time.process_time()
    for request in requests_of(text, "suggest", number):
        session = json.loads(request.partition(b"\r\n\r\n")[2])["session"]
        started = time.perf_counter()
        suggester.suggest(session)
        taken.append(time.perf_counter() - started)
    return 1000 * statistics.median(taken), 1000 * (time.process_time() - before) / number


def interactive(args: argparse.Namespace, together: int, number: int) -> Tuple[float, float]:
    """(sessions per second, CPU ms per session) of `fairseq-interactive`, after its first batch."""
    lines = args.text.with_name(f"{args.text.name}.session").read_text(encoding="utf-8")
    sessions = list(dict.fromkeys(lines.splitlines()))[:number]
    plugin = subprocess.check_output([_command("mtn-user-dir")], text=True).strip()
    command = (
        f"{_command('fairseq-interactive')} {args.data} --user-dir {plugin}"
        f" --task session_to_query --path {args.checkpoint} --cpu --beam {BEAM} --nbest {BEAM}"
        f" --buffer-size {together} --max-sentences {together}"
    )
    times: List[float] = []
    used: List[float] = []
    with subprocess.Popen(
        shlex.split(command),
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("".join(f"{each}\n" for each in sessions))
        process.stdin.close()
        for line in process.stdout:
            if line.startswith("S-"):
                times.append(time.perf_counter())
                used.append(cpu_seconds(psutil.Process(process.pid)))
    assert len(times) == len(sessions), "fairseq-interactive did not answer all of them"
    answered, first = len(times) - together, together - 1
    cpu = 1000 * (used[-1] - used[first]) / answered
    return answered / (times[-1] - times[first]), cpu


def _command(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def main(argv: Optional[Sequence[str]] = None) -> None:
    args = parse_args(argv)
    print(f"{os.cpu_count()} cores, {psutil.virtual_memory().total / 1e9:.0f} GB of memory\n")
    print("| server | route | load | p50 ms | p95 | p99 | per second | CPU ms | errors | MB |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    bench = Bench(args.text, args.seconds)
    bench.run("float", f"{args.bundle}", "suggest", is_open=True)
    bench.run("float, no batches", f"{args.bundle} --max-batch 1", "suggest")
    bench.run("float, 2 workers", f"{args.bundle} --workers 2", "suggest", is_open=True)
    bench.run("float", f"{args.bundle}", "complete", is_open=True)
    if args.int8 is not None:
        bench.run("int8", f"{args.int8}", "suggest", is_open=True)
        bench.run("int8, 2 workers", f"{args.int8} --workers 2", "suggest", (64,))
    one = bench.rows[0]
    direct, cpu = direct_milliseconds(args.bundle, args.text)
    print(f"\none list without HTTP: {direct:.1f} ms, {cpu:.1f} ms of CPU")
    print(f"one list with HTTP: {one.p50:.1f} ms, {one.cpu:.1f} ms of CPU")
    if args.checkpoint is not None:
        for together, number in ((1, 200), (64, 1024)):
            rate, cpu = interactive(args, together, number)
            print(f"fairseq-interactive, {together} together: {rate:.0f}/s, {cpu:.1f} ms of CPU")


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--bundle", type=Path, required=True, help="folder of mtn-export")
    add("--int8", type=Path, help="the same with --int8")
    add("--text", type=Path, required=True, metavar="PREFIX", help="sessions to ask")
    add("--checkpoint", type=Path, help="for fairseq-interactive; without it, no comparison")
    add("--data", type=Path, help="binarised data of the checkpoint")
    add("--seconds", type=float, default=5.0, help="per measurement (default: %(default)s)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
