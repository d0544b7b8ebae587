"""The figures of `load.py` as JSON, as Markdown, and inside of docs/serving.md."""

import json
import math
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional

BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"


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


DEMO = "demo"  # the model of `make demo`; others are named by their words


class Interactive(NamedTuple):
    """Of `fairseq-interactive` with a buffer of so many sessions."""

    model: str
    together: int
    per_second: float
    cpu: float  # milliseconds per session
    p50: float  # milliseconds until a buffer is answered


class Report(NamedTuple):
    machine: Dict[str, Any]
    rows: List[Figures]
    cached: List[Figures]  # answers from memory: what is left is HTTP, JSON and checks
    wrk: List[Figures]  # some of the rows again, by a client that costs less
    interactive: List[Interactive]

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        content = {
            name: value if name == "machine" else list(map(_known, value))
            for name, value in self._asdict().items()
        }
        text = json.dumps(content, indent=2) + "\n"
        (folder / "load.json").write_text(text, encoding="utf-8")
        (folder / "load.md").write_text(self.markdown(), encoding="utf-8")

    def markdown(self) -> str:
        parts = [
            self._how(),
            _table(HEADINGS, map(_row, self.rows)),
            "Goals and yardstick:",
            _table(("", "measured", "goal", "reached"), self._goals()),
            _table(INTERACTIVE, map(_interactive_row, self.interactive)),
            "By `wrk`, right after the rows above; the goals on throughput are judged by these. "
            "And answers from memory (`--cache`):",
            _table(HEADINGS, map(_row, [*self.wrk, *self.cached])),
            "A thousand requests per second, worked out from the CPU time above, not measured:",
            _table(THOUSAND, self._thousand()),
        ]
        return "\n\n".join(parts) + "\n"

    def _how(self) -> str:
        found = self.machine
        before, after = found["load_before"], found["load_after"]
        busy = (
            ""
            if before < 1
            else " **The machine was busy with other work:** compare CPU time only."
        )
        return (
            f"{found['cores']} cores, {found['memory_gb']} GB, {found['processor']}. Load average "
            f"before the run {before:.1f}, after it {after:.1f}; server and clients share the "
            f"cores. {found['seconds']:g} s per row.{busy}"
        )

    def _goals(self) -> List[List[str]]:
        single = self.find("float", "suggest", "1 client")
        rows = []
        for each in self.interactive:
            for server in SERVERS:
                of_model = server if each.model == DEMO else f"{each.model}, {server}"
                busy = self.find(of_model, "suggest", "64 clients")
                name = f"{each.model}: {server}, 64 clients, `fairseq-interactive` {_fed(each)} = 1"
                times = self.most_per_second(busy) / each.per_second
                goal = 10 if each.together == 1 else None
                rows.append(_at_least(f"throughput of the {name}", times, goal))
                rows.append(_at_least("the same per CPU second", each.cpu / busy.cpu, None))
        for load, name in ARRIVALS.items():
            times = self.find("float", "suggest", f"open, {load}, ").p99 / single.p50
            name = f"p99 at half of what {name}, median of a single client = 1"
            rows.append(_goal(name, f"{times:.1f}", "≤ 3", times <= 3))
        http = self.cached[0]
        rows.append(_goal("HTTP, JSON and checks, CPU ms", f"{http.cpu:.2f}", "≤ 2", http.cpu <= 2))
        rows.append(_goal("the same, ms until the answer", f"{http.p50:.2f}", "≤ 2", http.p50 <= 2))
        return rows

    def _thousand(self) -> List[List[str]]:
        one = self.find("float", "suggest", "open, even, ").memory
        added = self.find("float, 2 workers", "suggest", "open, even, ").memory - one
        rows = []
        for route, load in (
            ("suggest", "open, even, "),
            ("suggest", "64 clients"),
            ("complete", "open, even, "),
            ("complete", "64 clients"),
        ):
            cpu = self.find("float", route, load).cpu
            workers = 2 * math.ceil(cpu)
            memory = (one + (workers - 1) * added) / 1000
            batches = "small batches" if load.startswith("open") else "full batches"
            numbers = (f"{cpu:.1f}", f"{math.ceil(cpu)}", f"{workers}", f"{memory:.1f} GB")
            rows.append([f"{route}, {batches}", *numbers])
        return rows

    def most_per_second(self, row: Figures) -> float:
        """By `wrk`, if it asked the same: our own client takes CPU time from the server."""
        again = [each for each in self.wrk if each[:3] == (*row[:2], f"{row.load}, wrk")]
        return (again or [row])[0].per_second

    def find(self, server: str, route: str, load: str) -> Figures:
        (found,) = (
            each
            for each in self.rows
            if (each.server, each.route) == (server, route) and each.load.startswith(load)
        )
        return found


HEADINGS = (
    "server",
    "route",
    "load",
    "p50 ms",
    "p95",
    "p99",
    "per second",
    "CPU ms",
    "errors",
    "MB",
)
ARRIVALS = {  # of an open loop
    "even and rare": "one client gets, at even distances",
    "random and rare": "one client gets, at random (one queue, equal times: 4.3 in theory)",
    "even": "64 clients get, at even distances",
    "random": "64 clients get, at random",
}
SERVERS = ("float", "float, 2 workers", "int8", "int8, 2 workers")
INTERACTIVE = (
    "model",
    "`fairseq-interactive`",
    "sessions per second",
    "CPU ms per session",
    "p50 ms",
)
THOUSAND = ("", "CPU ms", "cores in use", "workers at half load", "memory")


def write_into(docs: Path, markdown: str) -> None:
    """Between the two marks; all else stays."""
    text = docs.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    assert mark, f"{docs} has no place for figures: {BEGIN}{END}"
    docs.write_text(f"{before}{BEGIN}\n{markdown}\n{END}{after}", encoding="utf-8")


def row_text(each: Figures) -> str:
    return _line(_row(each))


def _row(each: Figures) -> List[str]:
    latencies = [f"{value:.1f}" for value in (each.p50, each.p95, each.p99)]
    cpu = "" if math.isnan(each.cpu) else f"{each.cpu:.1f}"
    memory = "" if math.isnan(each.memory) else f"{each.memory:,.0f}"
    return [
        *(each.server, each.route, each.load, *latencies),
        *(f"{each.per_second:,.0f}", cpu, str(each.errors), memory),
    ]


def _interactive_row(each: Interactive) -> List[str]:
    return [each.model, _fed(each), f"{each.per_second:.1f}", f"{each.cpu:.1f}", f"{each.p50:.1f}"]


def _fed(each: Interactive) -> str:
    return "one by one" if each.together == 1 else f"{each.together} together"


def _at_least(name: str, times: float, goal: Optional[float]) -> List[str]:
    if goal is None:
        return _goal(name, f"{times:.1f}", "", False)
    return _goal(name, f"{times:.1f}", f"≥ {goal}", times >= goal)


def _known(each: Any) -> Dict[str, Any]:
    """JSON has no word for what is not a number."""
    return {name: None if value != value else value for name, value in each._asdict().items()}


def _goal(name: str, measured: str, goal: str, is_reached: bool) -> List[str]:
    return [name, measured, goal, ("yes" if is_reached else "no") if goal else ""]


def _table(headings: Any, rows: Any) -> str:
    return "\n".join([_line(headings), "|" + "---|" * len(headings), *map(_line, rows)])


def _line(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"
