"""`mtn-yardstick`: suggestions by copying and counting, which any model should beat.

What follows a query in the training sessions is suggested for it, most frequent first; of equally
frequent ones the first in the order of code points, so that the order of the training sessions does
not matter. When there are too few, shorter contexts go on (`session` only), and the last query
itself comes last. The output is that of `fairseq-generate`, and is scored in the same way.
"""

import argparse
import heapq
import math
import sys
from collections import Counter, defaultdict
from itertools import chain
from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Set, TextIO, Tuple

from mtn_preprocess.commands.flag_types import at_least_1
from mtn_preprocess.files.standard_streams import standard_output
from mtn_preprocess.text.session_pairs import Pair, read_pairs
from mtn_preprocess.text.session_text import join_units

# How many of the last queries a method looks at, at most; None: all of the session so far.
METHODS: Dict[str, Optional[int]] = {"echo": 0, "last": 1, "session": None}
NOT_COUNTED = -math.inf  # the score of the echo: the logarithm of a frequency of 0
PROGRESS_EVERY = 1_000_000  # pairs

Ranked = List[Tuple[str, float]]  # suggestions with their scores, best first


def contexts(queries: Sequence[str], longest: Optional[int]) -> Iterator[str]:
    """The last query, the last two, … as one text each: `c`, `b <q> c`, `a <q> b <q> c`."""
    most = len(queries) if longest is None else min(longest, len(queries))
    for count in range(1, most + 1):
        yield join_units(queries[-count:], level=1)


def rank_followers(
    training: Iterable[Pair], wanted: Set[str], longest: Optional[int], nbest: int
) -> Dict[str, Ranked]:
    """What followed each wanted context, with the logarithm of its relative frequency.

    Every issued query but a session's first is the next query of one pair only, and that pair has
    all that came before it. So each pair counts once for each of its contexts that *end* its
    prefix; transitions within the prefix are the next queries of pairs of their own, and counting
    them here again would count early ones as often as the session is long.

    Only what will be asked for is kept. With a context, `wanted` has all shorter ones.
    """
    followers: Dict[str, Counter] = defaultdict(Counter)
    for pair in training:
        for context in contexts(pair.queries(), longest):
            if context not in wanted:
                break  # nor is any longer one
            # One text in memory for each query, however many contexts it follows.
            followers[context][sys.intern(pair.next_query)] += 1
    return {context: _rank(counts, nbest) for context, counts in followers.items()}


def _rank(counts: Counter, nbest: int) -> Ranked:
    total = sum(counts.values())
    best = heapq.nsmallest(nbest, counts.items(), key=lambda item: (-item[1], item[0]))
    return [(query, math.log(count / total)) for query, count in best]


def suggest(
    queries: Sequence[str], followers: Dict[str, Ranked], longest: Optional[int], nbest: int
) -> Tuple[Ranked, int]:
    """The n-best list, and how many queries its first one was looked up by (0: it is the echo).

    A score is that of the longest context a suggestion followed, so a shorter context may go on
    with higher ones: the order counts.
    """
    ranked: Dict[str, float] = {}
    looked_up_by = 0
    every = list(contexts(queries, longest))
    for count in range(len(every), 0, -1):
        found = followers.get(every[count - 1], [])
        looked_up_by = looked_up_by or (count if found else 0)
        for query, score in found:
            ranked.setdefault(query, score)
    ranked.setdefault(queries[-1], NOT_COUNTED)
    return list(ranked.items())[:nbest], looked_up_by


def write_suggestions(number: int, pair: Pair, ranked: Ranked, out: TextIO) -> None:
    """As `fairseq-generate` prints them, but for the P line: a query is scored as a whole."""
    out.write(f"S-{number}\t{pair.source}\nT-{number}\t{pair.next_query}\n")
    for query, score in ranked:
        out.write(f"H-{number}\t{score:.6f}\t{query}\nD-{number}\t{score:.6f}\t{query}\n")
        out.write(f"P-{number}\t{score:.4f}\n")


def run(method: str, train: Optional[str], test: str, nbest: int, out: TextIO) -> None:
    """Read the test pairs, count what they ask for in the training pairs, write."""
    longest = METHODS[method]
    pairs = list(read_pairs(test))
    followers: Dict[str, Ranked] = {}
    if longest != 0:
        wanted = set(chain.from_iterable(contexts(pair.queries(), longest) for pair in pairs))
        training = _with_progress(read_pairs(str(train)), f"of {train}")
        followers = rank_followers(training, wanted, longest, nbest)
    origins: Counter = Counter()
    for number, pair in enumerate(pairs):
        ranked, looked_up_by = suggest(pair.queries(), followers, longest, nbest)
        origins[looked_up_by] += 1
        write_suggestions(number, pair, ranked, out)
    # The last line, as `fairseq-generate` has one: nothing was cut off, and how long lists may be.
    out.write(f"Yardstick {method} with nbest={nbest}: {len(pairs)} pairs\n")
    parts = [
        f"{origins[count]:,} by " + (f"the last {count}" if count else "echo")
        for count in sorted(origins, reverse=True)
    ]
    _say(f"{len(pairs):,} pairs of {test}; first suggestions: {', '.join(parts)}")


def _with_progress(pairs: Iterable[Pair], what: str) -> Iterator[Pair]:
    number = 0
    for number, pair in enumerate(pairs, 1):
        yield pair
        if number % PROGRESS_EVERY == 0:
            _say(f"{number:,} pairs {what} so far")
    _say(f"{number:,} pairs {what}")


def _say(note: str) -> None:
    print(f"mtn-yardstick: {note}", file=sys.stderr)


def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = argparse.ArgumentParser(
        prog="mtn-yardstick",
        description="Suggest next queries without a model, in the format of fairseq-generate.",
        epilog="Example: mtn-yardstick session --train text/train --test text/test > generate.log",
    )
    parser.add_argument(
        "method",
        choices=METHODS,
        help="echo: the last query again; last: what followed the last query most often; session: "
        "what followed the whole session so far, then as many of its last queries as were seen",
    )
    parser.add_argument("--train", metavar="PREFIX", help="PREFIX.session, PREFIX.next to count")
    parser.add_argument("--test", metavar="PREFIX", required=True, help="the pairs to answer")
    parser.add_argument(
        "--nbest", type=at_least_1, default=5, metavar="N", help="at most (default: %(default)s)"
    )
    args = parser.parse_args(argv)
    if args.train is None and METHODS[args.method] != 0:
        parser.error(f"{args.method} counts in training text: give --train PREFIX")
    with standard_output() as out:
        run(args.method, args.train, args.test, args.nbest, out)


if __name__ == "__main__":
    main()
