"""`mtn-yardstick`: baselines that copy and count, in the format of `fairseq-generate`."""

from collections import Counter
from itertools import repeat
from typing import Iterable, Iterator, List, Optional, Sequence, TextIO

from mtn_evaluation.generate_log import write_suggestions
from mtn_preprocess.commands.flag_types import at_least_1
from mtn_preprocess.commands.interrupts import interruptible
from mtn_preprocess.commands.notes import counted, notes_of
from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.errors import InputError
from mtn_preprocess.files.standard_streams import standard_output
from mtn_preprocess.text.histories import histories_of
from mtn_preprocess.text.session_pairs import Pair, read_pairs_in_words

from ..baselines import METHODS, Asked, Source, after_last, after_session, own_next, suggest
from ..counting import count_followers
from ..next_queries import Followers

_say = notes_of("mtn-yardstick")


def run(method: str, train: Optional[str], test: str, nbest: int, out: TextIO) -> None:
    """Read the test pairs, count the training pairs, and write the suggestions."""
    sources = METHODS[method]
    pairs = list(read_pairs_in_words(test))
    histories: Iterable[List[List[str]]] = repeat([])
    if own_next in sources:
        histories = _histories(test, pairs)
    followers = _followers(sources, str(train), pairs) if _counts(sources) else None
    origins: Counter = Counter()
    for number, (pair, history) in enumerate(zip(pairs, histories)):
        asked = Asked(pair.queries(), followers, history)
        ranked, origin = suggest(sources, asked, nbest)
        origins[origin] += 1
        write_suggestions(number, pair, ranked, out)
    # A last line, as in `fairseq-generate`: the output is complete, with lists of this length.
    out.write(f"Yardstick {method} with nbest={nbest}: {len(pairs)} pairs\n")
    parts = [f"{origins[origin]:,} by {origin}" for origin in sorted(origins, reverse=True)]
    _say(f"{len(pairs):,} pairs of {test}; first suggestions: {', '.join(parts)}")


def _counts(sources: Sequence[Source]) -> bool:
    """Whether training text is needed."""
    return after_last in sources or after_session in sources


def _followers(sources: Sequence[Source], train: str, pairs: Sequence[Pair]) -> Followers:
    # Every context ends with the last query: other training pairs are never looked up.
    asked = {pair.queries()[-1] for pair in pairs}
    training = counted(read_pairs_in_words(train), f"pairs of {train}", _say)
    wanted = (pair for pair in training if pair.queries()[-1] in asked)
    longest = 1
    if after_session in sources:
        longest = max((len(pair.queries()) for pair in pairs), default=1)
    return count_followers(wanted, longest)


def _histories(test: str, pairs: Sequence[Pair]) -> Iterator[List[List[str]]]:
    if not any(histories_of(test, pairs)):
        raise InputError(
            "no earlier sessions, neither there nor in the text itself",
            "prepare the text with mtn-log-to-sessions --past, or take another method",
            f"{test}.history",
        )
    return histories_of(test, pairs)


@interruptible
def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = CommandParser(
        prog="mtn-yardstick",
        description="Suggest next queries without a model, in the format of fairseq-generate.",
        epilog="Example: mtn-yardstick session --train text/train --test text/test > generate.log",
    )
    parser.add_argument(
        "method",
        choices=METHODS,
        help="echo: the last query again; last: what followed the last query most often; session: "
        "what followed the whole session so far, then as many of its last queries as were seen; "
        "back: the same, then earlier queries of the session, newest first, never the last one; "
        "back-first: earlier queries first; personal: what this person asked after the last query "
        "in earlier sessions, then asks most often, then as session, never the last query",
    )
    parser.add_argument("--train", metavar="PREFIX", help="PREFIX.session, PREFIX.next to count")
    parser.add_argument("--test", metavar="PREFIX", required=True, help="the pairs to answer")
    parser.add_argument(
        "--nbest", type=at_least_1, default=10, metavar="N", help="at most (default: %(default)s)"
    )
    args = parser.parse_args(argv)
    if args.train is None and _counts(METHODS[args.method]):
        parser.error(f"{args.method} counts in training text: give --train PREFIX")
    with standard_output() as out:
        run(args.method, args.train, args.test, args.nbest, out)


if __name__ == "__main__":
    main()
