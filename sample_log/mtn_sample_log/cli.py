"""`mtn-sample-log`: write the sample log, and measure how predictable prepared data is."""

import argparse
import gzip
import io
import json
import sys
from contextlib import contextmanager
from typing import Iterator, List, NoReturn, Optional, TextIO

from mtn_preprocess.commands.flag_types import at_least_0, at_least_1
from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.files.result_file import check_result_file, open_result_file
from mtn_preprocess.files.standard_streams import standard_output

from .best_possible import BestPossible, ImpossiblePair, Rates
from .session_text import read_pairs
from .writer import HEADER, LogWriter

DEFAULT_USERS = 2000  # about 10,000 sessions of 3 to 5 queries
PROGRESS_EVERY = 1000


class _Parser(CommandParser):
    """Prints errors in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n")


def _log_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="mtn-sample-log",
        description="Write a synthetic search log in the AOL format. The same options always give "
        "the same log.",
        epilog="`mtn-sample-log yardstick PREFIX` prints the best achievable accuracy on pairs "
        "made from it.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--users", type=at_least_1, default=DEFAULT_USERS, metavar="N", help="number of users"
    )
    parser.add_argument("--seed", type=at_least_0, default=1, metavar="S", help="random seed")
    parser.add_argument(
        "--output", default="-", metavar="FILE", help="- for standard output; .gz to compress"
    )
    parser.add_argument(
        "--progress",
        action="store_true",
        default=sys.stderr is not None and sys.stderr.isatty(),
        help="report progress on standard error, even if that is not a terminal",
    )
    return parser


def _yardstick_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="mtn-sample-log yardstick",
        description="Exact-match rates of ideal predictors of the next query that see the "
        "whole session, its last query and how many came before, or its last query only, on "
        "pairs made from a sample log (sessions of 3 to 5 queries).",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("prefix", metavar="PREFIX", help="reads PREFIX.session and PREFIX.next")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--skip-impossible",
        action="store_true",
        help="skip and count pairs that the sample log cannot contain, instead of stopping there",
    )
    return parser


@contextmanager
def _log_file(path: str) -> Iterator[TextIO]:
    """Open a file, or standard output for `-`; compress if the name ends in .gz."""
    if path == "-":
        with standard_output() as out:
            yield out
        return
    check_result_file(path)
    with open_result_file(path) as raw:
        # Without name and time, so that the same log gives the same file.
        packed = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.endswith(".gz") else raw
        with io.TextIOWrapper(packed, encoding="ascii", newline="\n") as text:
            yield text


def write_log(users: int, seed: int, path: str, progress: bool = False) -> None:
    """Write a log of this many users to a file, or to standard output for `-`."""
    writer = LogWriter(seed)
    with _log_file(path) as out:
        out.write(HEADER + "\n")
        for number in range(users):
            out.writelines(row.line() for row in writer.rows_of_user(number))
            if progress and (number + 1) % PROGRESS_EVERY == 0:
                print(f"mtn-sample-log: {number + 1:,} of {users:,} users", file=sys.stderr)


def _report(prefix: str, rates: Rates) -> str:
    whole = f"{rates.actual_whole_session:8.4f}  {rates.expected_whole_session:8.4f}"
    placed = f"{rates.actual_last_and_place:8.4f}  {rates.expected_last_and_place:8.4f}"
    last = f"{rates.actual_last_query:8.4f}  {rates.expected_last_query:8.4f}"
    return (
        f"{prefix}: {rates.pairs:,} pairs, {rates.skipped:,} skipped\n"
        f"best exact match      measured  expected\n"
        f"whole session       {whole}\n"
        f"last query + place  {placed}\n"
        f"last query only     {last}"
    )


def _measure(argv: List[str]) -> None:
    args = _yardstick_parser().parse_args(argv)
    try:
        rates = BestPossible().measure(read_pairs(args.prefix), args.skip_impossible)
    except ImpossiblePair as error:
        place = f"{args.prefix}.session:{error.number}"
        raise ValueError(f"{place}: {error.reason} (--skip-impossible to go on)") from None
    with standard_output() as out:
        out.write(json.dumps(rates._asdict()) if args.json else _report(args.prefix, rates))
        out.write("\n")


def main(argv: Optional[List[str]] = None) -> int:
    """Run the command; returns its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    try:
        if argv[:1] == ["yardstick"]:
            _measure(argv[1:])
        else:
            args = _log_parser().parse_args(argv)
            write_log(args.users, args.seed, args.output, args.progress)
    except KeyboardInterrupt:
        print("mtn-sample-log: interrupted", file=sys.stderr)
        return 130
    except (OSError, ValueError) as error:
        print(f"mtn-sample-log: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
