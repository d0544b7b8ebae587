"""`mtn-count-next`: count what people asked next, into a table that opens by memory map."""

from pathlib import Path
from typing import Optional, Sequence

from mtn_preprocess.commands.flag_types import at_least_1
from mtn_preprocess.commands.interrupts import interruptible
from mtn_preprocess.commands.notes import counted, notes_of
from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.errors import InputError
from mtn_preprocess.text.display_forms import read_forms
from mtn_preprocess.text.session_pairs import read_pairs_in_words
from mtn_preprocess.text.text_settings import read_settings
from mtn_preprocess.text.users import read_users

from ..counting import MAX_CONTEXT, count_next_queries
from ..display_rules import MIN_USERS
from ..kept_folder import check_output
from ..next_queries import KIND

_say = notes_of("mtn-count-next")


def run(train: str, output: str, min_users: Optional[int], longest: int) -> None:
    check_output(Path(output), KIND)
    users = read_users(train)
    if min_users is None:
        min_users = 1 if users is None else MIN_USERS
        _say(
            f"no {train}.user: nobody knows how many people asked a query, and all are kept"
            if users is None
            else f"{train}.user tells who asked: queries of fewer than {MIN_USERS} people are left "
            "out (--min-users 1 keeps them)"
        )
    if min_users > 1 and users is None:
        raise InputError(
            "no such file, and without it nobody knows how many people asked a query",
            "prepare the text with mtn-log-to-sessions --users, or leave out --min-users",
            f"{train}.user",
        )
    table = count_next_queries(
        counted(read_pairs_in_words(train), "pairs", _say),
        users,
        min_users,
        longest,
        read_settings(Path(train).parent),
        read_forms(Path(train).parent),
    )
    table.save(Path(output))
    facts = table.facts
    left_out = ""
    if min_users > 1:
        few = facts["queries_of_too_few_users"]
        left_out = f", {few:,} queries of fewer than {min_users} users left out"
    _say(
        f"{facts['pairs']:,} pairs: {facts['queries']:,} queries after {facts['contexts']:,} "
        f"contexts{left_out}; in {output}"
    )


@interruptible
def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = CommandParser(
        prog="mtn-count-next",
        description="Count what people asked next in training text: a source of suggestions for "
        "mtn-suggest.",
        epilog="Example: mtn-count-next --train text/train --output next-queries",
    )
    add = parser.add_argument
    add("--train", required=True, metavar="PREFIX", help="PREFIX.session, PREFIX.next to count")
    add("--output", required=True, metavar="FOLDER", help="the table; an older one is replaced")
    add(
        "--min-users",
        type=at_least_1,
        metavar="N",
        help="leave out queries that fewer people asked; needs PREFIX.user (default: "
        f"{MIN_USERS} where PREFIX.user is there, else 1)",
    )
    add(
        "--longest",
        type=at_least_1,
        default=MAX_CONTEXT,
        metavar="N",
        help="most queries that are looked up together (default: %(default)s)",
    )
    args = parser.parse_args(argv)
    run(args.train, args.output, args.min_users, args.longest)


if __name__ == "__main__":
    main()
