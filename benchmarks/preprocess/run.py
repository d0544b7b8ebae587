"""`make bench-preprocess`: log_to_sessions.py on a log of AOL's size, checked against its bounds.

    python benchmarks/preprocess/run.py [--rows-millions 1,2] [--log FOLDER] [--output FOLDER]

Prints a table and whether each bound is met; writes results.json and linear.png.
"""

import argparse
import filecmp
import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import asdict
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import Any, Dict, List

import psutil
from measure import Measurement, TooSlow, measure
from subsets import first_rows

from report import (
    MILLION,
    OURS,
    OURS_IN_1_GIB,
    PANDAS,
    SPARK,
    YARDSTICK,
    Results,
    plot,
    table,
    verdicts,
)

HERE = Path(__file__).parent
CORES = 2
STARTUP_ROWS = 10_000  # so few that only start-up and shutdown count
PANDAS_ROWS = 2 * MILLION  # plain pandas keeps several copies of all rows in memory
SPARK_SECONDS = 180
ROWS_OF_PART = 3_600_000  # slightly more
TEXT = ["train.whole"]
TEXT += [f"{split}.{end}" for split in ("train", "valid", "test") for end in ("session", "next")]


class Benchmark:
    """Runs and collects measurements.

    Args:
        log: folder of the whole log
        work: folder for temporary files; removed at the end
    """

    def __init__(self, log: Path, work: Path) -> None:
        self.log, self.work = log, work
        self.measurements: List[Measurement] = []

    def run(self, sizes: List[int], repeats: int) -> None:
        """Take all measurements; our command and the yardstick take turns."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        compared = min(PANDAS_ROWS, sizes[-1])
        for rows in sorted({STARTUP_ROWS, compared, *sizes}):
            log = first_rows(self.log, rows, self.work / "rows")
            for _ in range(repeats):
                self._read_and_sort(log, rows)
                self._ours(OURS, log, rows)
                if rows == sizes[-1]:
                    self._ours(OURS_IN_1_GIB, log, rows, "--memory-limit", "1GiB")
            if rows == compared:
                self._compare(log, rows)
        shutil.rmtree(self.work)

    def _compare(self, log: Path, rows: int) -> None:
        """The alternatives on the same rows: pandas, and Spark if installed and fast enough."""
        self._prepare(PANDAS, rows, str(HERE / "pandas_sessions.py"), str(log))
        if not find_spec("pyspark"):
            print("Spark is not installed, so it is not measured")
            return
        flags = ["--engine", "spark", "--spark-master", f"local[{CORES}]"]
        try:
            self._ours(SPARK, log, rows, *flags, limit=SPARK_SECONDS)
        except TooSlow as error:
            print(error)

    def _read_and_sort(self, log: Path, rows: int) -> None:
        flags = ["--threads", str(CORES), "--scratch", str(self.work)]
        printed = self._measure(YARDSTICK, rows, str(HERE / "read_and_sort.py"), str(log), *flags)
        if int(printed) != rows:
            raise SystemExit(f"{YARDSTICK}: {printed} rows came out of {rows:,}")

    def _ours(self, what: str, log: Path, rows: int, *flags: str, **limit: float) -> None:
        command = ["-m", "mtn_preprocess.log_to_sessions", str(log), "--threads", str(CORES)]
        folder = self._prepare(what, rows, *command, *flags, **limit)
        read = json.loads((folder / "stats.json").read_text())["rows"]["read"]
        if read != rows:
            raise SystemExit(f"{what}: {read:,} rows were read of {rows:,}")

    def _prepare(self, what: str, rows: int, *command: str, **limit: float) -> Path:
        """Prepare the text; check that it has the same bytes as that of our command."""
        folder, first = self.work / what, self.work / OURS
        shutil.rmtree(folder, ignore_errors=True)
        self._measure(what, rows, *command, "--output", str(folder), **limit)
        _, differing, missing = filecmp.cmpfiles(first, folder, TEXT, shallow=False)
        if differing or missing:
            raise SystemExit(f"{what}: another {', '.join(differing + missing)} than {OURS}")
        return folder

    def _measure(self, what: str, rows: int, *command: str, **limit: float) -> str:
        printed = self.work / "printed.txt"
        measured = measure(what, rows, [sys.executable, *command], printed, **limit)
        self.measurements.append(measured)
        print(f"{rows:>12,} rows  {what:<26}{measured.seconds:>8.1f} s", flush=True)
        return printed.read_text()


def machine() -> Dict[str, Any]:
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "cores": CORES,
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "processor": platform.machine(),
        "python": platform.python_version(),
        **{name: _version(name) for name in ("duckdb", "pyarrow", "numpy", "pandas", "pyspark")},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _use_cores(count: int) -> None:
    """Limit this process and its children to this many cores, whatever the machine has."""
    if hasattr(os, "sched_setaffinity"):  # Linux
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


def _sizes(text: str) -> List[int]:
    return sorted({int(float(millions) * MILLION) for millions in text.split(",")})


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Measure log_to_sessions.py against its bounds.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--rows-millions", type=_sizes, default="1,2,4,9,18,36", metavar="N,…", help="log sizes")
    add("--log", type=Path, metavar="FOLDER", help="the log; made in --output if missing")
    add("--output", type=Path, default=Path("runs/bench-preprocess"), metavar="FOLDER", help="all")
    add("--repeats", type=int, default=1, metavar="N", help="repeats per run; the fastest counts")
    args = parser.parse_args()
    sizes, output = args.rows_millions, args.output.absolute()
    _use_cores(CORES)
    if not args.log:
        parts = ceil(sizes[-1] / ROWS_OF_PART)
        print(f"making missing files of the log, {parts} in all: about a minute for two files")
        maker = [sys.executable, str(HERE / "make_log.py"), str(output / "log")]
        subprocess.run([*maker, "--parts", str(parts)], check=True)
    benchmark = Benchmark(args.log or output / "log", output / "work")
    benchmark.run(sizes, args.repeats)
    results = Results(benchmark.measurements)
    judged = verdicts(results)
    plot(results, output / "linear.png")
    record = {
        "machine": machine(),
        "measurements": [asdict(m) for m in results.all],
        "verdicts": [verdict._asdict() for verdict in judged],
    }
    (output / "results.json").write_text(json.dumps(record, indent=2) + "\n")
    print(f"\n{table(results)}\n")
    for verdict in judged:
        print(f"{'met' if verdict.met else 'NOT MET'}: {verdict.text}")
    print(f"\nwritten to {args.output}: results.json, linear.png")
    return 0 if all(verdict.met for verdict in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
