"""The flags that `mtn-suggest` and `mtn-fit-ranker` share."""

import argparse
import logging
from typing import Callable, Counter, List, Optional

from mtn_preprocess.commands.flag_types import at_least, at_least_0

from ..argument_checks import MAX_BEAM
from ..candidates import SOURCES
from ..conditions import BEAM_SIZE
from ..display_rules import ALLOW, MIN_USERS, REASONS
from ..suggester import Suggester


def add_suggester_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--model",
        metavar="FILE",
        help="checkpoint of fairseq-train (without it: no beam candidates)",
    )
    add("--data", metavar="FOLDER", help="binarised data it was trained on, for its dictionary")
    add(
        "--counts",
        metavar="FOLDER",
        help="table of mtn-count-next (without it: no candidates from counts and edits)",
    )
    add(
        "--without",
        type=_sources,
        metavar="SOURCE,SOURCE",
        help=f"leave out some of {', '.join(SOURCES)}",
    )
    add(
        "--beam",
        type=at_least(1, MAX_BEAM),
        metavar="N",
        help=f"hypotheses of the model (default: as the ranker was fitted, or {BEAM_SIZE})",
    )
    add(
        "--no-history",
        action="store_true",
        help="ignore histories: PREFIX.history, and text before the last <session> of a line",
    )
    add("--gpu", action="store_true", help="run the model on a GPU")
    add_display_flags(parser)


def add_display_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what may be shown").add_argument
    add(
        "--min-users",
        type=at_least_0,
        metavar="N",
        help="show only queries that N people asked in training, and other text only if N people "
        "typed each of its words and word pairs (the person's own are exempt); times, not people, "
        "where --counts does not know users; 0: show any "
        f"(default: {MIN_USERS} where --counts knows users, else 1)",
    )
    add(
        "--block-list",
        metavar="FILE",
        help="never show suggestions with these words, phrases or /patterns/",
    )
    add(
        "--explicit",
        metavar=f"FILE or {ALLOW}",
        help="replace the list of explicit words, which are shown only if the session has one; "
        f"{ALLOW!r}: always show them (default: the bundled list)",
    )
    add(
        "--personal-data",
        choices=[ALLOW],
        help="also show e-mail addresses, long numbers and addresses of personal pages",
    )


def say_held_back(held_back: Counter[str], say: Callable[[str], None]) -> None:
    """Report how many candidates were held back, and why."""
    reasons = ", ".join(f"{reason} {held_back[reason]:,}" for reason in REASONS)
    say(f"{sum(held_back.values()):,} candidates held back: {reasons}")


def suggester_of(
    parser: argparse.ArgumentParser,
    args: argparse.Namespace,
    ranker: Optional[str] = None,
    verify: bool = True,
    unrelated: bool = False,
    bundle: Optional[str] = None,
    completion_ranker: Optional[str] = None,
) -> Suggester:
    """Args:
    verify: whether to read the whole table of counts first, worthwhile before long work
    bundle: replaces model, counts and ranker
    """
    if args.model is None and args.counts is None and bundle is None:
        parser.error("nothing to suggest from: give --bundle, --counts, or --model and --data")
    # fairseq logs what it loads; that is of no interest here.
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    suggester = Suggester.load(
        bundle,
        model=args.model,
        data=args.data,
        counts=args.counts,
        ranker=ranker,
        completion_ranker=completion_ranker,
        without=args.without,
        beam=args.beam,
        cpu=not args.gpu,
        verify=verify,
        min_users=args.min_users,
        block_list=args.block_list,
        explicit=args.explicit,
        personal_data=args.personal_data,
        unrelated=unrelated,
    )
    if not suggester.sources:
        parser.error("nothing to suggest from: --without leaves no source")
    return suggester


def _sources(text: str) -> List[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in SOURCES]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(SOURCES)}")
    return names
