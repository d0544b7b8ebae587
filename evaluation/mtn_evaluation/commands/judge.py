"""`mtn-judge`: lists for a reader to judge, counts of verdicts, and automatic shares."""

import argparse
import json
import os
from typing import Callable, Iterator, Mapping, Optional, Sequence

from mtn_preprocess.commands.flag_types import at_least_0, at_least_1
from mtn_preprocess.commands.interrupts import interruptible
from mtn_preprocess.commands.notes import notes_of
from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.errors import InputError
from mtn_preprocess.files.json_file import read_json
from mtn_preprocess.files.result_file import check_result_file, write_result_file
from mtn_preprocess.files.standard_streams import standard_output
from mtn_preprocess.text.histories import histories_of

from ..judging.form import read_form
from ..judging.sample import draw_sample
from ..judging.shares import GENERIC, list_shares
from ..judging.systems import read_systems
from ..judging.verdicts import count_verdicts
from ..people import people_of
from .judge_tables import share_tables, verdict_tables
from .named_files import files_by_name

LISTS = 100
NBEST = 10
SEED = 1

_say = notes_of("mtn-judge")


@interruptible
def main(argv: Optional[Sequence[str]] = None) -> None:
    args = _parser().parse_args(argv)
    args.run(args)


def _sample(args: argparse.Namespace) -> None:
    key_file = _key_of(args.output)
    files = files_by_name(args.system)
    inputs = list(_inputs(files, args.test))
    for path in (args.output, key_file):
        if os.path.lexists(path):
            raise InputError(
                "there already, and may be filled in", "name another file, or remove it", path
            )
        check_result_file(path, inputs)
    systems = read_systems(args.test, files)
    people = people_of(args.test, len(systems.pairs))
    sample = draw_sample(systems, people, args.lists, args.nbest, args.seed)
    write_result_file(key_file, json.dumps(sample.key, indent=2) + "\n")
    try:
        write_result_file(args.output, sample.form)
    except BaseException:  # a key without its form would block the next attempt
        os.unlink(key_file)
        raise
    _say(
        f"{args.lists} pairs ({sample.key['drawn']}), {len(files)} lists each, in {args.output}; "
        f"the key, which the reader must not see, in {key_file}"
    )


def _count(args: argparse.Namespace) -> None:
    key_file = args.key or _key_of(args.form)
    if args.json is not None:
        check_result_file(args.json, [args.form, key_file])
    key = read_json(key_file, "sample again, into another form")
    _show(count_verdicts(read_form(args.form), key, args.form, key_file), verdict_tables, args.json)


def _shares(args: argparse.Namespace) -> None:
    files = files_by_name(args.system)
    if args.json is not None:
        check_result_file(args.json, _inputs(files, args.test, args.train))
    systems = read_systems(args.test, files)
    histories = histories_of(args.test, systems.pairs)
    _show(list_shares(systems, args.train, histories, args.generic), share_tables, args.json)


def _show(result: dict, tables: Callable[[dict], Iterator[str]], file: Optional[str]) -> None:
    if file is not None:
        write_result_file(file, json.dumps(result, indent=2, allow_nan=False) + "\n")
    with standard_output() as out:
        for line in tables(result):
            out.write(line + "\n")


def _key_of(form: str) -> str:
    return f"{form[: -len('.tsv')] if form.endswith('.tsv') else form}.key.json"


def _inputs(files: Mapping[str, Sequence[str]], *prefixes: str) -> Iterator[str]:
    for paths in files.values():
        yield from paths
    for prefix in prefixes:
        yield from (f"{prefix}.{ending}" for ending in ("session", "next", "user", "history"))


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="mtn-judge",
        description="Judge lists of suggestions by eye, and by shares over all of them. "
        "The protocol: docs/judging.md.",
        epilog="Example: mtn-judge sample --test text/test mtn=mtn.log --output form.tsv",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_sample(
        commands.add_parser(
            "sample", help="draw lists into a form, for a reader who does not see who made them"
        )
    )
    _add_count(commands.add_parser("count", help="count the verdicts of a filled form"))
    _add_shares(
        commands.add_parser(
            "shares", help="generic, made-up, private, unrelated suggestions; shortened queries"
        )
    )
    return parser


def _add_sample(parser: argparse.ArgumentParser) -> None:
    _add_systems(parser)
    add = parser.add_argument
    add(
        "--lists",
        type=at_least_1,
        default=LISTS,
        metavar="N",
        help="lists to draw per system, for the same pairs: of different people where PREFIX.user "
        "of --test exists (default: %(default)s)",
    )
    add(
        "--nbest",
        type=at_least_1,
        default=NBEST,
        metavar="N",
        help="suggestions to show per list, at most (default: %(default)s)",
    )
    add("--seed", type=at_least_0, default=SEED, help="of the draw (default: %(default)s)")
    add(
        "--output",
        required=True,
        metavar="FORM.tsv",
        help="the form; beside it, FORM.key.json, which the reader must not see",
    )
    parser.set_defaults(run=_sample)


def _add_count(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("form", metavar="FORM.tsv", help="filled in, saved as text with tabs")
    add("--key", metavar="FILE", help="default: FORM.key.json")
    _add_json(parser)
    parser.set_defaults(run=_count)


def _add_shares(parser: argparse.ArgumentParser) -> None:
    _add_systems(parser)
    add = parser.add_argument
    add(
        "--train",
        required=True,
        metavar="PREFIX",
        help="PREFIX.session, PREFIX.next: what was asked; PREFIX.user, if it exists: by whom",
    )
    add(
        "--generic",
        type=at_least_1,
        default=GENERIC,
        metavar="N",
        help="how many of the most asked queries of training are generic (default: %(default)s)",
    )
    _add_json(parser)
    parser.set_defaults(run=_shares)


def _add_systems(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "system",
        nargs="+",
        metavar="NAME=LOG",
        help="the lists of a system: all that mtn-suggest, fairseq-generate or mtn-yardstick "
        "printed; the same NAME again for a further shard",
    )
    add("--test", required=True, metavar="PREFIX", help="PREFIX.session, PREFIX.next: the pairs")


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", metavar="FILE", help="write everything there too")


if __name__ == "__main__":
    main()
