"""Convert a folder of search histories, one file per user, to one log in AOL's format.

    python users_to_log.py user_search_logs > log.tsv

A history has a line `query<TAB>time` per query and, below it, the addresses clicked.
"""

import re
import sys
from pathlib import Path

QUERY = re.compile(r"(.*)\t(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")


def rows(history: Path):
    """User, query, time, rank (unknown), address: one row per click, or one row without click."""
    asked, clicked = None, True
    for line in history.read_text(encoding="utf-8", errors="replace").splitlines():
        query = QUERY.fullmatch(line)
        if query:
            if not clicked:
                yield (*asked, "", "")
            asked, clicked = (history.stem, *query.groups()), False
        elif line.strip() and asked:
            yield (*asked, "", line.strip())
            clicked = True
    if not clicked:
        yield (*asked, "", "")


def main() -> None:
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit(__doc__)
    print("AnonID\tQuery\tQueryTime\tItemRank\tClickURL")
    for history in sorted(Path(sys.argv[1]).glob("*.txt")):
        for row in rows(history):
            print(*row, sep="\t")


if __name__ == "__main__":
    main()
