"""The flags that `mtn-suggest` and `mtn-fit-ranker` share."""

import argparse
import logging
from typing import List, Optional

from mtn_preprocess.commands.flag_types import at_least_1

from ..candidates import SOURCES
from ..conditions import BEAM_SIZE
from ..suggester import Suggester


def add_suggester_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", metavar="FILE", help="checkpoint of fairseq-train; without it, no beam")
    add("--data", metavar="FOLDER", help="binarised data it was trained on, for its dictionary")
    add("--counts", metavar="FOLDER", help="of mtn-count-next; without it, no counts and edits")
    add(
        "--without",
        type=_sources,
        metavar="SOURCE,SOURCE",
        help=f"leave out some of {', '.join(SOURCES)}",
    )
    add(
        "--beam",
        type=at_least_1,
        metavar="N",
        help=f"hypotheses of the model (default: as the ranker was fitted, or {BEAM_SIZE})",
    )
    add(
        "--repeats",
        action="store_true",
        default=None,
        help="suggest queries of the session again, too (default: as the ranker was fitted)",
    )
    add(
        "--no-history",
        action="store_true",
        help="take everybody for a stranger: do not read PREFIX.history, nor what stands before "
        "the last <session> of a line",
    )
    add("--gpu", action="store_true", help="run the model on a GPU")


def suggester_of(
    parser: argparse.ArgumentParser,
    args: argparse.Namespace,
    ranker: Optional[str] = None,
    verify: bool = True,
) -> Suggester:
    """Args:
    verify: whether all of the table of counts is read first, as long work is worth
    """
    if args.model is None and args.counts is None:
        parser.error("nothing to suggest from: give --model and --data, or --counts, or all")
    # fairseq reports what it loads; here that is not what anybody asked for.
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    suggester = Suggester.load(
        args.model,
        args.data,
        args.counts,
        ranker,
        args.without,
        args.beam,
        args.repeats,
        cpu=not args.gpu,
        verify=verify,
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
