"""The flags of mtn-log-to-sessions, each rule with the paper's value as default."""

import argparse
import re
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import List, Optional, Sequence, Tuple

from mtn_preprocess.commands.flag_types import at_least
from mtn_preprocess.errors import InputError
from mtn_preprocess.log_formats import AOL_COLUMNS, ENGINES, FORMATS
from mtn_preprocess.log_times import (
    AOL_TIME,
    TIME_FORMATS,
    TimeRange,
    says_the_day,
    tells_morning_from_afternoon,
)
from mtn_preprocess.rules import Rules
from mtn_preprocess.text.text_settings import CHARACTERS
from mtn_preprocess.text.typed_queries import is_pattern, normalise

_MAX_THREADS = 1024


@dataclass(frozen=True)
class Settings:
    """One run."""

    logs: Sequence[str]
    output: Path
    rules: Rules = field(default_factory=Rules)
    overwrite: bool = False
    strict: bool = False
    max_bad_rows: Decimal = Decimal(5)  # percent
    columns: Tuple[str, str, str] = AOL_COLUMNS
    format: str = "auto"
    delimiter: Optional[str] = None
    time_format: str = AOL_TIME
    time_range: Optional[TimeRange] = None
    sentencepiece: int = 0
    users: bool = False
    engine: str = "duckdb"
    spark_master: str = "local[*]"
    memory_limit: str = "2GiB"
    threads: Optional[int] = None
    scratch: Optional[Path] = None


def settings_from(argv: Optional[Sequence[str]] = None) -> Settings:
    args = _parser().parse_args(argv)
    rules = {rule.name: getattr(args, rule.name) for rule in fields(Rules)}
    rules["block_list"] = ()
    if args.block_list:
        rules["block_list"] = _read_block_list(args.block_list, args.characters)
    if args.max_queries < args.min_queries:
        raise InputError("--max-queries is less than --min-queries", "swap or change them")
    others = {each.name for each in fields(Settings)} - {"logs", "rules", "columns"}
    return Settings(
        logs=args.log,
        rules=Rules(**rules),
        columns=(args.user_column, args.query_column, args.time_column),
        **{name: getattr(args, name) for name in others},
    )


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Tells defaults where there are any."""

    def _get_help_string(self, action: argparse.Action) -> Optional[str]:
        return super()._get_help_string(action) if action.default else action.help


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mtn-log-to-sessions",
        description="From raw search logs to session text for fairseq-preprocess.",
        epilog="An example: mtn-log-to-sessions logs/*.csv.gz --user-column uid --query-column q "
        "--time-column ts --time-format epoch --output text",
        formatter_class=_Help,
    )
    _add_input(parser.add_argument_group("what is read"))
    _add_rules(parser.add_argument_group("rules, in their order"))
    _add_output(parser.add_argument_group("what is written"))
    _add_engine(parser.add_argument_group("how it runs"))
    return parser


def _add_input(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "log",
        nargs="+",
        metavar="LOG",
        help="files, folders, or quoted patterns ('logs/*.gz'); files and folders also by address "
        "(s3://, gs://, hdfs://, file://); plain, gzip or zstd",
    )
    add(
        "--format",
        choices=["auto", *FORMATS],
        default="auto",
        help="auto goes by the files' names, and takes what it does not know for tsv",
    )
    add(
        "--delimiter",
        type=_delimiter,
        metavar="C",
        help="between the columns of csv: one character, or tab; found by looking if not said",
    )
    for what, name in zip(("user", "query", "time"), AOL_COLUMNS):
        add(
            f"--{what}-column",
            default=name,
            metavar="C",
            help="its name, or for tsv and csv its number from 1 (all three, then)",
        )
    add(
        "--time-format",
        default=AOL_TIME,
        metavar="F",
        type=_time_format,
        help="as for Python's strptime; or iso, epoch (seconds) or epoch-ms; Parquet's timestamps "
        "need none",
    )
    add(
        "--time-range",
        type=_time_range,
        metavar="FROM,TO",
        help="days, as 1990-01-01,2030-12-31; rows of other times are malformed; from 1990 to "
        "tomorrow if not said",
    )
    add(
        "--max-bad-rows",
        type=_percentage,
        default="5%",
        metavar="P",
        help="a log of which more rows are malformed is refused: it is probably misread",
    )
    add("--strict", action="store_true", help="stop at the first malformed line, writing nothing")


def _add_rules(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--characters",
        choices=CHARACTERS,
        help="what stays beside letters and digits: aol: nothing; symbols: what belongs to words "
        "as c++, c#, .net, o'brien, e-mail",
    )
    add("--mask-numbers", action="store_true", help="words of digits become <number>")
    add("--mask-emails", action="store_true", help="e-mail addresses become <email>")
    add("--gap-minutes", type=_minutes, metavar="M", help="a pause that starts a new session")
    add(
        "--block-list",
        type=Path,
        metavar="FILE",
        help="queries with these words are taken out: one word, phrase or /regular expression/ a "
        "line, # for comments",
    )
    add("--max-query-tokens", type=at_least(1), metavar="N", help="longer queries are taken out")
    add(
        "--min-users",
        type=at_least(1),
        metavar="N",
        help="queries that fewer people asked are taken out",
    )
    for name in ("--min-queries", "--max-queries"):
        add(name, type=at_least(2), metavar="N", help="of a session, duplicates not counted")
    add("--split", type=_shares, metavar="TRAIN,VALID,TEST", help="percentages")
    add(
        "--split-by",
        choices=["session", "user", "time"],
        help="user: all sessions of one are in one split; time: the latest are for the test",
    )
    add("--seed", type=int, metavar="S", help="another one gives another split")
    add(
        "--history",
        type=at_least(0),
        metavar="N",
        help="earlier sessions of the user in front of each source, for a third level",
    )
    defaults = {rule.name: rule.default for rule in fields(Rules)}
    defaults["split"] = ",".join(map(str, Rules.split))
    defaults["block_list"] = None
    for action in group._group_actions:
        action.default = defaults[action.dest]


def _add_output(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--output",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="folder to write; appears when complete",
        default=argparse.SUPPRESS,
    )
    add("--overwrite", action="store_true", help="replace FOLDER if it holds prepared text")
    add(
        "--sentencepiece",
        type=at_least(1),
        default=0,
        metavar="V",
        help="train V word pieces on the training split, and write all text in them",
    )
    add(
        "--users",
        action="store_true",
        help="write train.user too: who asked, as a running number, for mtn-count-next --min-users",
    )


def _add_engine(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--engine", choices=ENGINES, default="duckdb", help="the bytes written are the same")
    add("--spark-master", default="local[*]", metavar="URL", help="as for spark-submit")
    add(
        "--memory-limit", default="2GiB", metavar="SIZE", help="of the engine (Spark: the driver's)"
    )
    add(
        "--threads",
        type=at_least(1, _MAX_THREADS),
        metavar="N",
        help="for DuckDB; all cores if not said",
    )
    add(
        "--scratch",
        type=Path,
        metavar="FOLDER",
        help="for what does not fit into memory; beside the output if not said",
    )


def _minutes(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):  # also refuses "nan"
        raise argparse.ArgumentTypeError(f"must be more than 0, and finite, not {text}")
    return value


def _time_format(text: str) -> str:
    if text not in TIME_FORMATS and not says_the_day(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} tells no day: must be {', '.join(TIME_FORMATS)}, or as {AOL_TIME}"
        )
    if not tells_morning_from_afternoon(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} would read afternoons as mornings: must have %I with %p for an hour of 12, "
            "or %H alone for an hour of 24"
        )
    return text


def _delimiter(text: str) -> str:
    character = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if (
        len(character) != 1
        or not character.isascii()
        or character.isalnum()
        or character in '"\r\n\0'
    ):
        raise argparse.ArgumentTypeError(f"must be tab, or one character as ; or |, not {text!r}")
    return character


def _time_range(text: str) -> TimeRange:
    try:
        first, last = (datetime.strptime(day, "%Y-%m-%d").date() for day in text.split(","))
    except ValueError:
        first, last = date.max, date.min
    if first > last:
        raise argparse.ArgumentTypeError(
            f"must be two days, as 1990-01-01,2030-12-31, not {text!r}"
        )
    return TimeRange.of_days(first, last)


def _percentage(text: str) -> Decimal:
    try:
        share = Decimal(text[:-1] if text.endswith("%") else text)
        good = 0 <= share <= 100
    except InvalidOperation:  # no number, or "nan"
        good = False
    if not good:
        raise argparse.ArgumentTypeError(f"must be a percentage, as 5%, not {text!r}")
    return share


def _shares(text: str) -> Tuple[Decimal, ...]:
    try:
        shares = tuple(map(Decimal, text.split(",")))
        good = len(shares) == 3 and min(shares) >= 0 and sum(shares) == 100
    except InvalidOperation:  # no number, or "nan"
        good = False
    if not good:
        raise argparse.ArgumentTypeError(f"{text!r} is not three percentages that add up to 100")
    return shares


def _read_block_list(path: Path, characters: str) -> Tuple[str, ...]:
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = f"cannot be read ({getattr(error, 'strerror', None) or error})"
        raise InputError(reason, "check --block-list", path) from None
    entries: List[str] = []
    for number, line in enumerate(lines, 1):
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        if is_pattern(entry):
            try:
                re.compile(entry[1:-1])
            except re.error as error:
                raise InputError(f"bad pattern ({error})", "correct it", path, number) from None
        elif not normalise(entry, characters):
            raise InputError("no word in this entry", "queries have none such", path, number)
        entries.append(entry)
    return tuple(entries)
