"""The flags of mtn-log-to-sessions; the defaults of the rules are the paper's values."""

import argparse
from dataclasses import dataclass, field, fields
from decimal import Decimal
from pathlib import Path
from typing import Optional, Sequence, Tuple

from mtn_preprocess.commands.flag_types import at_least
from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.errors import InputError
from mtn_preprocess.flag_values import (
    delimiter,
    minutes,
    percentage,
    query_range,
    shares,
    time_format,
    time_range,
)
from mtn_preprocess.log_formats import AOL_COLUMNS, ENGINES, FORMATS
from mtn_preprocess.log_times import AOL_TIME, TimeRange
from mtn_preprocess.rules import Rules
from mtn_preprocess.text.block_lists import read_block_list
from mtn_preprocess.text.text_settings import CHARACTERS

_MAX_THREADS = 1024
_MAX_PAST = 1000  # sessions; more would make lines of megabytes


@dataclass(frozen=True)
class Settings:
    """The settings of one run."""

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
    user_keys: bool = False
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
        rules["block_list"] = read_block_list(args.block_list)
    _check_lengths(Rules(**rules))
    if args.user_keys and not args.users:
        raise InputError("--user-keys is for the people of SPLIT.user", "add --users")
    others = {each.name for each in fields(Settings)} - {"logs", "rules", "columns"}
    return Settings(
        logs=args.log,
        rules=Rules(**rules),
        columns=(args.user_column, args.query_column, args.time_column),
        **{name: getattr(args, name) for name in others},
    )


def _check_lengths(rules: Rules) -> None:
    if rules.max_queries < rules.min_queries:
        raise InputError("--max-queries is less than --min-queries", "swap or change them")
    (fewest, most), (fewest_of_test, most_of_test) = rules.train_bounds, rules.test_bounds
    if fewest > fewest_of_test or most < most_of_test:
        raise InputError(
            f"--train-queries {fewest},{most} leaves out sessions that --min-queries "
            f"{fewest_of_test} and --max-queries {most_of_test} keep for the test",
            "training must have all lengths of the test: widen the one or narrow the other",
        )
    if rules.past and not any(rules.split[1:]):
        raise InputError(
            "--past is for valid and test, and --split gives them no share",
            "give one of them a share, or leave out --past",
        )


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Shows a default only where there is one."""

    def _get_help_string(self, action: argparse.Action) -> Optional[str]:
        return super()._get_help_string(action) if action.default else action.help


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="mtn-log-to-sessions",
        description="From raw search logs to session text for fairseq-preprocess.",
        epilog="Example: mtn-log-to-sessions logs/*.csv.gz --user-column uid --query-column q "
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
        help="auto: by file name; tsv for unknown endings",
    )
    add(
        "--delimiter",
        type=delimiter,
        metavar="C",
        help="column separator of csv: one character, or tab (default: detected)",
    )
    for what, name in zip(("user", "query", "time"), AOL_COLUMNS):
        add(
            f"--{what}-column",
            default=name,
            metavar="C",
            help="column name; for tsv and csv also its number, from 1 (then give all three as "
            "numbers)",
        )
    add(
        "--time-format",
        default=AOL_TIME,
        metavar="F",
        type=time_format,
        help="a strptime format, or iso, epoch (seconds) or epoch-ms; not needed for Parquet "
        "timestamps",
    )
    add(
        "--time-range",
        type=time_range,
        metavar="FROM,TO",
        help="valid dates, such as 1990-01-01,2030-12-31; rows outside count as malformed "
        "(default: 1990 to tomorrow)",
    )
    add(
        "--max-bad-rows",
        type=percentage,
        default="5%",
        metavar="P",
        help="reject the log if more rows are malformed: it was probably misread",
    )
    add("--strict", action="store_true", help="stop at the first malformed line, writing nothing")


def _add_rules(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--characters",
        choices=CHARACTERS,
        help="what to keep besides letters and digits. aol: nothing; symbols: characters of words "
        "such as c++, c#, .net, o'brien, e-mail",
    )
    add("--mask-numbers", action="store_true", help="words of digits become <number>")
    add("--mask-emails", action="store_true", help="e-mail addresses become <email>")
    add("--gap-minutes", type=minutes, metavar="M", help="a pause that starts a new session")
    add(
        "--block-list",
        type=Path,
        metavar="FILE",
        help="remove queries with these words: one word, phrase or /regular expression/ per line, "
        "# for comments",
    )
    add("--max-query-tokens", type=at_least(1), metavar="N", help="remove longer queries")
    add(
        "--min-users",
        type=at_least(1),
        metavar="N",
        help="remove queries that fewer people asked",
    )
    for bound, name in (("fewest", "--min-queries"), ("most", "--max-queries")):
        add(
            name,
            type=at_least(2),
            metavar="N",
            help=f"{bound} queries per session, duplicates not counted",
        )
    add(
        "--train-queries",
        type=query_range,
        metavar="MIN,MAX",
        help="queries per training session, such as 2,10, if wider than for valid and test "
        "(default: as for valid and test)",
    )
    add("--split", type=shares, metavar="TRAIN,VALID,TEST", help="percentages")
    add(
        "--split-by",
        choices=["session", "user", "time"],
        help="user: all sessions of a user go to one split; time: the latest sessions are the test",
    )
    add("--seed", type=int, metavar="S", help="seed of the split")
    add(
        "--history",
        type=at_least(0),
        metavar="N",
        help="earlier sessions of the user in front of each source, for a third level",
    )
    add(
        "--past",
        type=at_least(0, _MAX_PAST),
        metavar="N",
        help="write valid.history and test.history too: for each pair the last N sessions of the "
        "user before, of any length",
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
        help="also write SPLIT.user: a number for the person of each pair, for mtn-count-next "
        "--min-users",
    )
    add(
        "--user-keys",
        action="store_true",
        help="also write users.key (needs --users): a hash of each person's id, so that "
        "mtn-count-next --add recognises people in other text; personal data",
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
        help="for DuckDB (default: all cores)",
    )
    add(
        "--scratch",
        type=Path,
        metavar="FOLDER",
        help="for what does not fit into memory (default: beside the output)",
    )
