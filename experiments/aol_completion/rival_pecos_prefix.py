"""A rival: PECOS (XR-Linear) completes by the last query and the typed prefix, as its qp2q does.

It needs an environment of its own, that of ../aol_small/rival_pecos.py:

    python3.11 -m venv pecos
    pecos/bin/pip install --no-deps libpecos==1.2.8
    pecos/bin/pip install "numpy<2" "scipy<1.14" scikit-learn
    pecos/bin/python rival_pecos_prefix.py --train text/train --test text/test > pecos.jsonl
    mtn-evaluate --completion pecos=pecos.jsonl --test text/test

The method is that of PECOS's `examples/qp2q` (Yadav et al., KDD 2021): TF-IDF of the words of the
last query beside TF-IDF of the prefix's one to three letters, where a letter counts 1 / its place;
every distinct next query of training is a label; the tree of labels is the trie of their first
letters; a linear classifier for each of its nodes; a beam search from its root; what does not start
with the prefix is left out. Training has prefixes of random length of each pair. Its own index goes
on with 2-means where more than 100 labels start alike; here these are one leaf, which is exact.

The defaults were chosen on validation data; qp2q's beam of 10 finds less after one letter.

The last query and the typed text are left out, as in all other lists. The output is that of
`mtn-complete`. Standard error tells the CPU time of training and of a request.
"""

import argparse
import json
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

import numpy as np
from pecos.utils.cluster_util import ClusterChain
from pecos.xmc.xlinear.model import XLinearModel
from scipy.sparse import csc_matrix, csr_matrix, hstack
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "aol_small"))
from rival_pecos import last_query, read_pairs

LETTERS = (1, 2, 3)  # of the n-grams of a prefix
MAX_LABELS = 1000  # that a request ranks, as in qp2q


class Typed(NamedTuple):
    query: str  # the last one
    prefix: str


def placed_letters(prefix: str) -> Dict[str, float]:
    """`aba` -> a 1 + 1/3, b 1/2, ab 1, ba 1/2, aba 1"""
    found: Dict[str, float] = {}
    for length in LETTERS:
        for place in range(len(prefix) - length + 1):
            gram = prefix[place : place + length]
            found[gram] = found.get(gram, 0.0) + 1 / (place + 1)
    return found


class Features:
    """(requests, features) of words of the last query and letters of the prefix."""

    def __init__(self, requests: Sequence[Typed]) -> None:
        self.words = TfidfVectorizer(dtype=np.float32, token_pattern=r"\S+")
        self.words.fit(sorted({each.query for each in requests}))
        self.letters = make_pipeline(DictVectorizer(dtype=np.float32), TfidfTransformer())
        self.letters.fit([placed_letters(each.prefix) for each in requests])

    def of(self, requests: Sequence[Typed]) -> csr_matrix:
        words = self.words.transform([each.query for each in requests])
        letters = self.letters.transform([placed_letters(each.prefix) for each in requests])
        found = csr_matrix(normalize(hstack([words, letters])), dtype=np.float32)
        found.sort_indices()
        return found


def trie(labels: Sequence[str], depth: int) -> ClusterChain:
    """Which node each node or label is in, level by level from the root."""
    chain, above = [], [""] * len(labels)
    for length in range(1, depth + 1):
        nodes = [label[:length] for label in labels]
        chain.append(_inside(sorted(set(zip(nodes, above)))))
        above = nodes
    chain.append(_inside(list(zip(labels, above))))
    return ClusterChain(chain)


def _inside(pairs: Sequence[Tuple[str, str]]) -> csc_matrix:
    """(members, nodes) of sorted pairs of a member and its node."""
    number = {node: column for column, node in enumerate(sorted({node for _, node in pairs}))}
    columns = [number[node] for _, node in pairs]
    ones = np.ones(len(pairs), dtype=np.float32)
    return csc_matrix((ones, (range(len(pairs)), columns)), shape=(len(pairs), len(number)))


class Pecos:
    def __init__(self, pairs: Sequence[Tuple[str, str]], args: argparse.Namespace) -> None:
        self.beam, self.nbest = args.beam, args.nbest
        self.labels = sorted({next_query for _, next_query in pairs})
        number = {label: column for column, label in enumerate(self.labels)}
        chosen = random.Random(args.seed)
        rows: Dict[Typed, int] = {}
        row_of, column_of = [], []
        for session, next_query in pairs:
            for _ in range(args.prefixes):
                prefix = next_query[: chosen.randint(1, len(next_query))]
                row_of.append(rows.setdefault(Typed(last_query(session), prefix), len(rows)))
                column_of.append(number[next_query])
        self.features = Features(list(rows))
        ones = np.ones(len(row_of), dtype=np.float32)
        y = csr_matrix((ones, (row_of, column_of)), shape=(len(rows), len(self.labels)))
        y.data[:] = 1  # how often is not told, as in qp2q
        x = self.features.of(list(rows))
        index = trie(self.labels, args.depth)
        self.model = XLinearModel.train(
            x, csc_matrix(y), index, threads=1, Cp=1.0, Cn=1.0, threshold=0.1
        )
        say(f"{x.shape[0]:,} rows of {x.shape[1]:,} features, {len(self.labels):,} labels")

    def complete(self, typed: Typed) -> List[str]:
        found = self.model.predict(
            self.features.of([typed]), beam_size=self.beam, only_topk=MAX_LABELS, threads=1
        )
        ranked = sorted(zip(-found.data, found.indices))  # of equals, the first in the alphabet
        left_out = {typed.query, typed.prefix, typed.prefix.rstrip()}
        texts = (self.labels[label] for _, label in ranked)
        kept = [text for text in texts if text.startswith(typed.prefix) and text not in left_out]
        return kept[: self.nbest]


def prefixes_of(next_query: str, characters: int) -> Iterator[str]:
    """Those that leave something to type."""
    return (next_query[:typed] for typed in range(1, min(characters, len(next_query) - 1) + 1))


def say(note: str) -> None:
    print(f"rival_pecos_prefix: {note}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--train", metavar="PREFIX", required=True, help="PREFIX.session, PREFIX.next")
    add("--test", metavar="PREFIX", required=True, help="the pairs to answer")
    add("--characters", type=int, default=20, metavar="N", help="at most typed (%(default)s)")
    add("--nbest", type=int, default=10, metavar="N", help="at most (%(default)s)")
    add("--prefixes", type=int, default=1, metavar="N", help="of each training pair (%(default)s)")
    add("--depth", type=int, default=3, help="letters of the trie (%(default)s)")
    add("--beam", type=int, default=50, help="of the search (%(default)s)")
    add("--seed", type=int, default=1, help="of the lengths of prefixes (%(default)s)")
    args = parser.parse_args()

    pairs, start = list(read_pairs(args.train)), time.process_time()
    rival = Pecos(pairs, args)
    say(f"trained on {len(pairs):,} pairs in {time.process_time() - start:.1f} s of CPU time")
    spent, asked = [], list(read_pairs(args.test))
    for number, (session, next_query) in enumerate(asked):
        for prefix in prefixes_of(next_query, args.characters):
            start = time.process_time()
            texts = rival.complete(Typed(last_query(session), prefix))
            spent.append(1000 * (time.process_time() - start))
            print(json.dumps({"pair": number, "typed": len(prefix), "completions": texts}))
    end = {"pairs": len(asked), "characters": list(range(1, args.characters + 1))}
    print(json.dumps({**end, "nbest": args.nbest}))
    say(f"{len(spent):,} prefixes of {args.test}; ms of CPU time: {statistics.median(spent):.2f}")


if __name__ == "__main__":
    main()
