"""The yardstick: DuckDB only reads the rows of a log and sorts them by user and time.

    python benchmarks/preprocess/read_and_sort.py FOLDER [--memory-limit 2GiB] [--threads 2]

It uses DuckDB's own C++ CSV reader and keeps all columns, with the user as text, as
log_to_sessions.py sorts it. Prints the number of rows returned.
"""

import argparse
import tempfile
from pathlib import Path

import duckdb

ROWS = 1 << 19  # per batch
COLUMNS = {
    "AnonID": "VARCHAR",
    "Query": "VARCHAR",
    "QueryTime": "TIMESTAMP",
    "ItemRank": "VARCHAR",
    "ClickURL": "VARCHAR",
}


def sorted_rows(log: Path, memory_limit: str, threads: int, scratch: str) -> int:
    """The number of rows read, sorted and returned as Arrow batches."""
    connection = duckdb.connect(
        config={
            "memory_limit": memory_limit,
            "threads": threads,
            "preserve_insertion_order": False,
            "temp_directory": scratch,
        }
    )
    rows = connection.read_csv(
        str(log / "*.txt"), sep="\t", header=True, dtype=COLUMNS, quotechar="", escapechar=""
    )
    return sum(batch.num_rows for batch in rows.order("AnonID, QueryTime").to_arrow_reader(ROWS))


def main() -> None:
    parser = argparse.ArgumentParser(description="Read and sort a log, nothing else.")
    parser.add_argument("log", type=Path, metavar="FOLDER")
    parser.add_argument("--memory-limit", default="2GiB", metavar="SIZE")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--scratch", type=Path, metavar="FOLDER")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
        print(sorted_rows(args.log, args.memory_limit, args.threads, scratch))


if __name__ == "__main__":
    main()
