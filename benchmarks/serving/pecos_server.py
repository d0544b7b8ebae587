"""The rival of experiments/aol_small, asked line by line; runs in PECOS's own environment.

pecos_server.py TRAIN NBEST: a session per line in, a JSON list of its suggestions per line out.
"""

import json
import sys
from argparse import Namespace

from rival_pecos import last_query, read_pairs, train


def main() -> None:
    args = Namespace(
        rows="pairs", features="bigrams", label_features="text", beam=50, nbest=int(sys.argv[2])
    )
    args.seed = 1
    ranker = train(list(read_pairs(sys.argv[1])), args)
    print("ready", flush=True)
    for session in sys.stdin:
        found = ranker.suggest(last_query(session.rstrip("\n")))
        print(json.dumps([text for text, _ in found]), flush=True)


if __name__ == "__main__":
    main()
