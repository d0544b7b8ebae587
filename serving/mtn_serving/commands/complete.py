"""`mtn-complete`: completions for a test set or for one prefix."""

import argparse
from collections import Counter
from typing import Iterator, NamedTuple, Optional, Sequence, TextIO

from mtn_evaluation.completion_log import prefixes_of, write_completions, write_end
from mtn_preprocess.commands.flag_types import at_least_1
from mtn_preprocess.commands.interrupts import interruptible
from mtn_preprocess.commands.notes import counted, notes_of
from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.commands.time_left import TimeLeft
from mtn_preprocess.files.standard_streams import standard_output
from mtn_preprocess.text.histories import split_history
from mtn_preprocess.text.session_pairs import read_pairs_in_words

from ..completion.baselines import METHODS, Typed, complete
from ..counting import count_next_queries
from ..engine import HistorySize
from ..suggester import Suggester
from .personal_pairs import PersonalPair, PersonalPairs
from .suggester_flags import add_suggester_flags, say_held_back, suggester_of

MAX_CHARACTERS = 20

_say = notes_of("mtn-complete")


class Prefix(NamedTuple):
    """A prefix to complete."""

    pair: int
    typed: int  # characters
    text: str
    line: str  # the session, with the history before it


def prefixes_in(batch: Sequence[PersonalPair], first: int, characters: int) -> Iterator[Prefix]:
    """All prefixes of the next queries of some pairs, numbered from `first` on."""
    for number, (pair, line) in enumerate(batch, first):
        for typed, text in prefixes_of(pair.next_query, range(1, characters + 1)):
            yield Prefix(number, typed, text, line)


def answer_test(
    suggester: Suggester, test: str, nbest: int, characters: int, out: TextIO, use_history: bool
) -> None:
    suggester.check_text(test)
    personal = PersonalPairs(test, use_history, suggester.model_reads, _say)
    held_back: Counter[str] = Counter()
    progress = TimeLeft(_say)
    done = 0
    for batch in personal.batches():
        prefixes = list(prefixes_in(batch, done, characters))
        found = suggester.complete_many(
            [each.line for each in prefixes],
            [each.text for each in prefixes],
            nbest,
            None,
            held_back,
        )
        for each, completions in zip(prefixes, found):
            texts = [completion.query for completion in completions]
            write_completions(each.pair, each.typed, texts, out)
        done += len(batch)
        progress("pairs", done, len(personal.pairs))
    write_end(done, range(1, characters + 1), nbest, out)
    say_held_back(held_back, _say)


def answer_by_baseline(
    method: str,
    train: str,
    test: str,
    nbest: int,
    characters: int,
    out: TextIO,
    use_history: bool,
) -> None:
    pairs = counted(read_pairs_in_words(train), f"pairs of {train}", _say)
    table = count_next_queries(pairs, longest=1)
    personal = PersonalPairs(test, use_history, HistorySize(0, 0), _say)
    done = 0
    for batch in personal.batches():
        for each in prefixes_in(batch, done, characters):
            history, session = split_history(each.line)
            typed = Typed(each.text, session, history, table)
            texts = complete(METHODS[method], typed, nbest)
            write_completions(each.pair, each.typed, texts, out)
        done += len(batch)
    write_end(done, range(1, characters + 1), nbest, out)


def answer_one(suggester: Suggester, session: str, typed: str, nbest: int, out: TextIO) -> None:
    for each in suggester.complete(session, typed, nbest):
        out.write(f"{each.score:.4f}\t{each.source}\t{each.rule}\t{each.text}\n")


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="mtn-complete",
        description="Complete what is being typed after a session; or every prefix of the next "
        "queries of a test text, for mtn-evaluate --completion.",
        epilog="Example: mtn-complete --counts next-queries --session 'paris hotels' --typed lon",
    )
    add_suggester_flags(parser)
    add = parser.add_argument
    add(
        "--bundle",
        metavar="FOLDER",
        help="of mtn-export, in the place of --model, --data, --counts",
    )
    add(
        "--completion-ranker",
        metavar="FOLDER",
        help="of mtn-fit-ranker --completion; without it, one source after another",
    )
    add("--typed", metavar="TEXT", help="complete this; a space at its end finishes a word")
    add(
        "--session",
        default="",
        metavar="TEXT",
        help="queries before: 'paris hotels <q> london', with earlier sessions of the same person "
        "'rome <session> paris hotels <q> london' (default: none)",
    )
    add(
        "--test",
        metavar="PREFIX",
        help="PREFIX.session, PREFIX.next: complete all prefixes of its next queries; "
        "PREFIX.history, where it exists: what the same people asked before",
    )
    add(
        "--characters",
        type=at_least_1,
        default=MAX_CHARACTERS,
        metavar="N",
        help="of --test, prefixes of 1 to N characters (default: %(default)s)",
    )
    add("--nbest", type=at_least_1, default=10, metavar="N", help="at most (default: %(default)s)")
    add(
        "--baseline",
        choices=METHODS,
        help="complete by counting in --train: popular: what is asked most; last: what followed "
        "the last query most often; last-popular: last, then popular; personal: what the "
        "person asks most, then last-popular",
    )
    add("--train", metavar="PREFIX", help="PREFIX.session, PREFIX.next, for --baseline")
    return parser


@interruptible
def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = _parser()
    args = parser.parse_args(argv)
    if (args.test is None) == (args.typed is None):
        parser.error("give --test or --typed")
    if args.baseline is not None and (args.test is None or args.train is None):
        parser.error("--baseline counts in --train and completes --test: give both")
    use_history = not args.no_history
    if args.baseline is not None:
        with standard_output() as out:
            answer_by_baseline(
                args.baseline, args.train, args.test, args.nbest, args.characters, out, use_history
            )
        return
    suggester = suggester_of(
        parser,
        args,
        verify=args.test is not None,
        bundle=args.bundle,
        completion_ranker=args.completion_ranker,
    )
    with standard_output() as out:
        if args.test is None:
            answer_one(suggester, args.session, args.typed, args.nbest, out)
        else:
            answer_test(suggester, args.test, args.nbest, args.characters, out, use_history)


if __name__ == "__main__":
    main()
