"""The measurements as a table, as verdicts in words, and as a plot."""

from pathlib import Path
from typing import Iterable, List, NamedTuple, Optional

from measure import Measurement

OURS, OURS_IN_1_GIB = "log_to_sessions", "log_to_sessions, 1 GiB"
YARDSTICK, PANDAS, SPARK = "read and sort", "pandas", "log_to_sessions on Spark"

MAX_TIMES_READ_AND_SORT = 3
MAX_GIB = 4
# Ratio of seconds per million rows, largest log to smallest. Linear growth gives 1, sorting's n log
# n from 1 to 36 million rows 1.26, quadratic growth 36.
MAX_GROWTH = 1.5

MILLION = 1_000_000


class Verdict(NamedTuple):
    met: bool
    text: str


class Results:
    """All measurements of one run; of repeated measurements, the fastest counts."""

    def __init__(self, measurements: Iterable[Measurement]) -> None:
        self.all = list(measurements)

    def of(self, what: str) -> List[Measurement]:
        """One measurement per number of rows, fewest first."""
        fastest = {m.rows: m for m in sorted(self.all, key=lambda m: -m.seconds) if m.what == what}
        return [fastest[rows] for rows in sorted(fastest)]

    def at(self, what: str, rows: int) -> Optional[Measurement]:
        return next((m for m in self.of(what) if m.rows == rows), None)

    def peak_gib(self, what: str) -> float:
        return max(m.peak_gib for m in self.all if m.what == what)


def table(results: Results) -> str:
    """A table in Markdown, sorted by number of rows."""
    head = ["rows", "what", "seconds", "of read and sort", "CPU seconds", "peak memory"]
    lines = [f"| {' | '.join(head)} |", "|---:|---|---:|---:|---:|---:|"]
    for rows in sorted({m.rows for m in results.all}):
        yardstick = results.at(YARDSTICK, rows)
        for what in (YARDSTICK, OURS, OURS_IN_1_GIB, SPARK, PANDAS):
            m = results.at(what, rows)
            if m:
                times = f"{m.seconds / yardstick.seconds:.2f} ×" if yardstick else ""
                lines.append(
                    f"| {rows:,} | {what} | {m.seconds:.1f} | {times} | {m.cpu_seconds:.1f} | "
                    f"{m.peak_gib:.2f} GiB |"
                )
    return "\n".join(lines)


def verdicts(results: Results) -> List[Verdict]:
    """The checks against the bounds, at the largest number of rows."""
    startup, fewest, most = (results.of(OURS)[i] for i in (0, 1, -1))
    yardstick = results.at(YARDSTICK, most.rows)
    limited = results.at(OURS_IN_1_GIB, most.rows)
    times = most.seconds / yardstick.seconds
    peak, limited_peak = results.peak_gib(OURS), results.peak_gib(OURS_IN_1_GIB)
    per_million = [
        (m.seconds - startup.seconds) / (m.rows - startup.rows) * MILLION for m in (fewest, most)
    ]
    growth = per_million[1] / per_million[0]
    return [
        Verdict(
            times <= MAX_TIMES_READ_AND_SORT,
            f"{times:.2f} times the time to read and sort {most.rows:,} rows "
            f"(at most {MAX_TIMES_READ_AND_SORT})",
        ),
        Verdict(peak < MAX_GIB, f"{peak:.2f} GiB of memory at the peak (under {MAX_GIB})"),
        Verdict(
            limited_peak < MAX_GIB,
            f"{limited_peak:.2f} GiB with the limit at 1 GiB (under {MAX_GIB}), the same bytes, "
            f"in {limited.seconds / most.seconds:.2f} times the time",
        ),
        Verdict(
            growth <= MAX_GROWTH,
            f"{per_million[0]:.2f} seconds per million rows at {fewest.rows:,}, "
            f"{per_million[1]:.2f} at {most.rows:,}: {growth:.2f} times as many "
            f"(at most {MAX_GROWTH}; {startup.seconds:.1f} seconds of start-up taken off)",
        ),
    ]


def plot(results: Results, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    styles = {
        OURS: ("tab:blue", "o-"),
        OURS_IN_1_GIB: ("tab:cyan", "D"),
        YARDSTICK: ("tab:gray", "s-"),
        PANDAS: ("tab:orange", "^"),
    }
    figure, (time, memory) = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for what, (colour, style) in styles.items():
        measured = results.of(what)
        millions = [m.rows / MILLION for m in measured]
        if measured:
            time.plot(millions, [m.seconds for m in measured], style, color=colour, label=what)
            memory.plot(millions, [m.peak_gib for m in measured], style, color=colour, label=what)
    first, last = results.of(OURS)[0], results.of(OURS)[-1]
    time.plot(
        [first.rows / MILLION, last.rows / MILLION],
        [first.seconds, last.seconds],
        ":",
        color="black",
        label="a straight line",
    )
    memory.axhline(MAX_GIB, color="black", linestyle=":", label="bound")
    time.set(title="Time", ylabel="seconds", ylim=(0, None))
    memory.set(title="Peak memory", ylabel="GiB", ylim=(0, None))
    for axes in (time, memory):
        axes.set(xlabel="million rows", xlim=(0, None))
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=120)
