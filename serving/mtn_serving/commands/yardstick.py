"""`mtn-yardstick`: suggestions by copying and counting, which any model should beat.

What follows a query in the training sessions is suggested for it, most frequent first; of equally
frequent ones the first in the order of code points, so that the order of the training sessions does
not matter. When there are too few, shorter contexts go on (`session` only), and the last query
itself comes last. The output is that of `fairseq-generate`, and is scored in the same way.
"""

import argparse
import math
from collections import Counter
from typing import Dict, List, Optional, Sequence, TextIO, Tuple

from mtn_evaluation.generate_log import write_suggestions
from mtn_preprocess.commands.flag_types import at_least_1
from mtn_preprocess.commands.notes import counted, notes_of
from mtn_preprocess.files.standard_streams import standard_output
from mtn_preprocess.text.session_pairs import read_pairs

from ..counting import count_followers
from ..next_queries import Followers

# How many of the last queries a method looks at, at most; None: all of the session so far.
METHODS: Dict[str, Optional[int]] = {"echo": 0, "last": 1, "session": None}
NOT_COUNTED = -math.inf  # the score of the echo: the logarithm of a frequency of 0

_say = notes_of("mtn-yardstick")


def suggest(
    queries: Sequence[str], followers: Optional[Followers], longest: Optional[int], nbest: int
) -> Tuple[List[Tuple[str, float]], int]:
    """The n-best list, and how many queries its first one was looked up by (0: it is the echo)."""
    found: Dict[str, float] = {}
    looked_up_by = 0
    if followers is not None:
        known = queries if longest is None else queries[-longest:]
        looked_up_by = len(followers.contexts(known))
        found = {query: math.log(share) for query, share in followers.suggest(known, nbest)}
    found.setdefault(queries[-1], NOT_COUNTED)
    return list(found.items())[:nbest], looked_up_by


def run(method: str, train: Optional[str], test: str, nbest: int, out: TextIO) -> None:
    """Read the test pairs, count in the training pairs what may follow them, write."""
    longest = METHODS[method]
    pairs = list(read_pairs(test))
    followers = None
    if longest != 0:
        # Every context ends in the last query: what follows others will not be asked for.
        asked = {pair.queries()[-1] for pair in pairs}
        training = counted(read_pairs(str(train)), f"pairs of {train}", _say)
        wanted = (pair for pair in training if pair.queries()[-1] in asked)
        most = max((len(pair.queries()) for pair in pairs), default=1)
        followers = count_followers(wanted, longest or most)
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
