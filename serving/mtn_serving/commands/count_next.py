"""`mtn-count-next`: count next queries into a table that opens by memory map."""

import argparse
from pathlib import Path
from typing import List, NamedTuple, Optional, Sequence, Tuple

from mtn_preprocess.commands.flag_types import at_least_1
from mtn_preprocess.commands.interrupts import interruptible
from mtn_preprocess.commands.notes import counted, notes_of
from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.errors import InputError
from mtn_preprocess.text.display_forms import read_forms
from mtn_preprocess.text.session_pairs import read_pairs_in_words
from mtn_preprocess.text.text_settings import NAME as SETTINGS
from mtn_preprocess.text.text_settings import SettingsOf, agreed_settings, read_settings
from mtn_preprocess.text.users import read_users

from ..counted_people import read_people
from ..counted_text import CountedText, joined
from ..counting import MAX_CONTEXT, table_of
from ..counting_state import (
    State,
    nobody_else_adds,
    open_state,
    save_with_state,
    save_without_state,
    state_folder,
    text_checksum,
)
from ..display_rules import MIN_USERS
from ..kept_folder import check_output
from ..next_queries import KIND, NextQueries
from ..tally import count_text

_say = notes_of("mtn-count-next")


class Options(NamedTuple):
    min_users: Optional[int]  # None for the default
    same_users: bool  # whether a number means the same person in all texts


def count(
    texts: Sequence[str],
    output: Path,
    options: Options,
    longest: int,
    keep_state: bool,
) -> None:
    """Count a new table."""
    check_output(output, KIND)
    settings = [(Path(text).parent / SETTINGS, read_settings(Path(text).parent)) for text in texts]
    agreed_settings(settings)
    min_users = _min_users(options.min_users, texts[0])
    parts = _count_each(texts, longest, keep_state or len(texts) > 1, options.same_users)
    state = _joined_state(parts)
    table = table_of(state.counted, min_users, state.key if keep_state else None)
    if keep_state:
        save_with_state(table, state, output)
        _say(f"{state_folder(output)} has who asked what, for --add: personal data")
    elif save_without_state(table, output):
        _say(f"{state_folder(output)} is deleted: it belonged to an older table")
    _report(table, output)


def add(texts: Sequence[str], folder: Path, options: Options, decay: float) -> None:
    """Add text to a table.

    Args:
        decay: factor for the existing counts, applied first
    """
    check_output(folder, KIND)
    older = NextQueries.open(folder)
    state = open_state(older, folder)
    settings: List[SettingsOf] = [(older.header, older.text_settings)]
    settings += [(Path(text).parent / SETTINGS, read_settings(Path(text).parent)) for text in texts]
    agreed_settings(settings)
    asked_for = options.min_users
    min_users = _min_users(older.facts["min_users"] if asked_for is None else asked_for, texts[0])
    longest = state.counted.facts.longest
    parts = _count_each(texts, longest, True, options.same_users, state.checksums)
    aged = state if decay == 1 else state._replace(counted=state.counted.aged(decay))
    state = _joined_state([aged, *parts])
    table = table_of(state.counted, min_users, state.key)
    save_with_state(table, state, folder)
    _report(table, folder)


def _count_each(
    texts: Sequence[str],
    longest: int,
    several: bool,
    same_users: bool,
    known: Tuple[str, ...] = (),
) -> List[State]:
    """Args:
    several: whether the same people may be in other texts
    known: checksums of texts counted before
    """
    found: List[State] = []
    for text in texts:
        checksum = text_checksum(text) if several else ""
        if several and checksum in (*known, *(each.checksums[0] for each in found)):
            raise InputError(
                "has been counted already", "leave it out: it would count twice", f"{text}.session"
            )
        people = read_people(text, several, same_users)
        part = count_text(
            counted(read_pairs_in_words(text), "pairs", _say),
            longest,
            people.of_pairs,
            read_settings(Path(text).parent),
            read_forms(Path(text).parent),
        )
        found.append(State(part, (checksum,), people.by))
    return found


def _joined_state(parts: Sequence[State]) -> State:
    kinds = {part.people_by for part in parts}
    if len(kinds) > 1:
        named = " and ".join(sorted(kind or "nothing" for kind in kinds))
        raise InputError(
            f"people are known by {named}, not in the same way in all text",
            "prepare all text with mtn-log-to-sessions --users --user-keys, and count it again",
        )
    whole: CountedText = parts[0].counted
    if len(parts) > 1:
        whole = joined([part.counted for part in parts])
    checksums = tuple(each for part in parts for each in part.checksums)
    return State(whole, checksums, kinds.pop())


def _min_users(asked_for: Optional[int], text: str) -> int:
    """The minimum number of people; checked before long work, not after it."""
    unknown = read_users(text) is None
    if asked_for is None:
        _say(
            f"no {text}.user: the number of people per query is unknown, so all queries are kept"
            if unknown
            else f"found {text}.user: queries of fewer than {MIN_USERS} people are left out "
            " (--min-users 1 keeps them)"
        )
        return 1 if unknown else MIN_USERS
    if asked_for > 1 and unknown:
        raise InputError(
            "no such file, and without it nobody knows how many people asked a query",
            "prepare the text with mtn-log-to-sessions --users, or leave out --min-users",
            f"{text}.user",
        )
    return asked_for


def _report(table: NextQueries, folder: Path) -> None:
    facts = table.facts
    left_out = ""
    if facts["min_users"] > 1:
        few = facts["queries_of_too_few_users"]
        left_out = f", {few:,} queries of fewer than {facts['min_users']} users left out"
    if facts["queries_of_long_ago"]:
        left_out += f", {facts['queries_of_long_ago']:,} queries of long ago left out"
    _say(
        f"{facts['pairs']:,} pairs: {facts['queries']:,} queries after {facts['contexts']:,} "
        f"contexts{left_out}; in {folder}"
    )


def share(text: str) -> float:
    """An argparse type: above 0, at most 1."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"must be above 0 and at most 1, not {text}")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="mtn-count-next",
        description="Count what people asked next in training text: a source of suggestions for "
        "mtn-suggest. Or add further text to such a table, without counting the rest again.",
        epilog="Examples: mtn-count-next --train text/train --output next-queries --keep-state, "
        "and a day later mtn-count-next --add tuesday/train --to next-queries --decay 0.98",
    )
    new = parser.add_argument_group("a new table").add_argument
    new(
        "--train",
        action="append",
        metavar="PREFIX",
        help="PREFIX.session, PREFIX.next to count; repeat for several texts",
    )
    new("--output", metavar="FOLDER", help="the table; an older one is replaced")
    new(
        "--longest",
        type=at_least_1,
        metavar="N",
        help=f"most queries that are looked up together (default: {MAX_CONTEXT})",
    )
    new(
        "--keep-state",
        action="store_true",
        help="write FOLDER.state too, which --add needs: all queries and who asked them, personal "
        "data. It is not needed for suggestions",
    )
    more = parser.add_argument_group("more text for a table").add_argument
    more(
        "--add",
        action="append",
        metavar="PREFIX",
        help="text to add, not counted yet. The table is the same, to the byte, as if all text had "
        "been counted at once",
    )
    more("--to", metavar="FOLDER", help="a table that was counted with --keep-state")
    more(
        "--decay",
        type=share,
        metavar="SHARE",
        help="multiply the counts of the table by this first, so that what is old counts less: "
        "0.9 with a text a day halves them in a week. Prepared text has no times, so the table "
        "ages by texts, not by days. What counts less than half is not in the table; what a "
        "person asked is forgotten when it counts less than 0.01 (default: 1)",
    )
    either = parser.add_argument_group("people").add_argument
    either(
        "--min-users",
        type=at_least_1,
        metavar="N",
        help="leave out queries that fewer people asked; needs PREFIX.user (default: "
        f"{MIN_USERS} where PREFIX.user is there, else 1; with --add, as before)",
    )
    either(
        "--same-users",
        action="store_true",
        help="numbers in PREFIX.user mean the same person in all texts (not in text of "
        "mtn-log-to-sessions: use --user-keys there)",
    )
    return parser


@interruptible
def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = _parser()
    args = parser.parse_args(argv)
    options = Options(args.min_users, args.same_users)
    if args.add is None:
        if args.train is None or args.output is None:
            parser.error("give --train and --output, or --add and --to")
        if args.to is not None or args.decay is not None:
            parser.error("--to and --decay are for --add")
        longest = args.longest or MAX_CONTEXT
        count(args.train, Path(args.output), options, longest, args.keep_state)
        return
    if args.to is None:
        parser.error("--add needs --to: the table")
    if args.train is not None or args.output is not None:
        parser.error("--train and --output count a new table, --add and --to add to one: give one")
    if args.longest is not None or args.keep_state:
        parser.error("--longest and --keep-state are as they were when the table was new")
    with nobody_else_adds(Path(args.to)):
        add(args.add, Path(args.to), options, args.decay or 1.0)


if __name__ == "__main__":
    main()
