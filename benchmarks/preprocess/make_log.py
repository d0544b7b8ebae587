"""Write a log of the size of AOL's with the sample log's generator: 10 files of 3.6 million rows.

    python benchmarks/preprocess/make_log.py FOLDER [--parts N]

Two processes write the ten parts in about six minutes. Existing parts are kept.
"""

import argparse
import os
from functools import partial
from multiprocessing import Pool
from pathlib import Path

from mtn_sample_log.writer import HEADER, LogWriter

PARTS = 10
USERS_OF_PART = 111_800  # about 32 rows each: 36 million rows in all
SEED = 1


def make_part(folder: Path, number: int) -> None:
    """Write one file; it gets its name only when complete."""
    path = folder / f"part-{number:02d}.txt"
    if path.exists():
        return
    writer = LogWriter(SEED)
    unfinished = path.with_suffix(".partial")
    with open(unfinished, "w", encoding="ascii", newline="\n") as file:
        file.write(HEADER + "\n")
        for user in range(number * USERS_OF_PART, (number + 1) * USERS_OF_PART):
            file.writelines(row.line() for row in writer.rows_of_user(user))
    os.replace(unfinished, path)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a synthetic log of the AOL log's size.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parts", type=int, default=PARTS, metavar="N", help="only the first N")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    with Pool(2) as pool:
        pool.map(partial(make_part, args.folder), range(args.parts), chunksize=1)


if __name__ == "__main__":
    main()
