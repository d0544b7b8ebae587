"""A rival: PECOS (XR-Linear) ranks the next queries of training by the last query.

It needs its own environment, without torch, although libpecos requires it: hence --no-deps.

    python3.11 -m venv pecos
    pecos/bin/pip install --no-deps libpecos==1.2.8
    pecos/bin/pip install "numpy<2" "scipy<1.14" scikit-learn
    pecos/bin/python rival_pecos.py --train text/train --test text/test > pecos.log
    mtn-evaluate pecos=pecos.log --test text/test --dict data-bin/dict.next.txt

The method is PECOS's `examples/qp2q` (Yadav et al., KDD 2021) without the typed prefix: TF-IDF of
the last query; every distinct next query of training is a label; labels are clustered by their
text, or by PIFA, the mean of the queries that they followed; a linear classifier per node of the
tree; a beam search from its root. It can suggest only next queries of training. The last query
itself is excluded: no next query repeats it.

The defaults were chosen on validation data. Close to qp2q's own configuration 0, but worse here:

    --rows queries --features words --label-features pifa --beam 10

The output has the format of `mtn-yardstick`. Standard error reports the time of training and of a
request: one query in, a ranked list out, one thread.
"""

import argparse
import math
import re
import statistics
import sys
import tempfile
import time
from typing import Dict, Iterator, List, TextIO, Tuple

import numpy as np
from pecos.utils.featurization.text.vectorizers import Tfidf
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from scipy.sparse import csc_matrix, csr_matrix

FEATURES = {
    "words": [{"analyzer": "word", "ngram_range": (1, 1)}],
    "bigrams": [{"analyzer": "word", "ngram_range": (1, 2)}],
    "characters": [
        {"analyzer": "word", "ngram_range": (1, 2)},
        {"analyzer": "char_wb", "ngram_range": (3, 3)},
    ],
}
ABOVE_QUERIES = re.compile(r"(?:^|.* )(?:<session>|<unit\d+>) ")  # greedy: up to the last one

Ranked = List[Tuple[str, float]]


def read_pairs(prefix: str) -> Iterator[Tuple[str, str]]:
    """Yield session so far and next query. This environment has no mtn_fairseq to read them."""
    with open(f"{prefix}.session", encoding="utf-8", newline="\n") as sessions, open(
        f"{prefix}.next", encoding="utf-8", newline="\n"
    ) as following:
        for number, session in enumerate(sessions, 1):
            next_query = " ".join(following.readline().split())
            if not next_query:
                sys.exit(f"{prefix}.next:{number}: no next query; prepare both files again")
            yield " ".join(session.split()), next_query
        if following.readline():
            sys.exit(f"{prefix}.next has more lines than {prefix}.session; prepare both again")


def last_query(session: str) -> str:
    return ABOVE_QUERIES.sub("", session, count=1).split(" <q> ")[-1]


class Pecos:
    """The trained ranker in libpecos's predict-only form, as it would serve requests."""

    def __init__(self, vectorizer: Tfidf, model: XLinearModel, labels: List[str], args) -> None:
        self.vectorizer, self.labels = vectorizer, labels
        self.beam, self.nbest = args.beam, args.nbest
        with tempfile.TemporaryDirectory() as folder:
            model.save(folder)
            self.model = XLinearModel.load(folder, is_predict_only=True)

    def suggest(self, query: str) -> Ranked:
        """The best labels that differ from the query, with log scores."""
        found = self.model.predict(
            self.vectorizer.predict([query], threads=1),
            beam_size=self.beam,
            only_topk=self.nbest + 1,  # one may be the query itself
            threads=1,
        )
        ranked = sorted(zip(-found.data, found.indices))  # ties in alphabetical order
        kept = [(self.labels[label], -score) for score, label in ranked]
        return [
            (text, math.log(score) if score > 0 else -math.inf)
            for text, score in kept
            if text != query
        ][: self.nbest]


def train(pairs: List[Tuple[str, str]], args) -> Pecos:
    followed = [(last_query(session), next_query) for session, next_query in pairs]
    if args.rows == "queries":  # as in qp2q: without frequencies
        followed = sorted(set(followed))
        rows = {query: row for row, query in enumerate(sorted({query for query, _ in followed}))}
        queries, row_of = list(rows), [rows[query] for query, _ in followed]
    else:
        queries, row_of = [query for query, _ in followed], list(range(len(followed)))
    labels = sorted({next_query for _, next_query in followed})
    number: Dict[str, int] = {label: index for index, label in enumerate(labels)}
    column_of = [number[next_query] for _, next_query in followed]

    config = {"base_vect_configs": [dict(part, threads=1) for part in FEATURES[args.features]]}
    vectorizer = Tfidf.train(sorted(set(queries)), dict(config, threads=1))
    x = csr_matrix(vectorizer.predict(queries, threads=1), dtype=np.float32)
    ones = np.ones(len(followed), dtype=np.float32)
    y = csc_matrix((ones, (row_of, column_of)), shape=(len(queries), len(labels)))

    if args.label_features == "pifa":
        embedding = LabelEmbeddingFactory.create(y, x, method="pifa", threads=1)
    else:
        embedding = csr_matrix(vectorizer.predict(labels, threads=1), dtype=np.float32)
    tree = Indexer.gen(
        embedding,
        indexer_type="hierarchicalkmeans",
        nr_splits=2,
        max_leaf_size=100,
        seed=args.seed,
        threads=1,
    )
    model = XLinearModel.train(x, y, tree, threads=1, Cp=1.0, Cn=1.0, threshold=0.1)
    say(f"{x.shape[0]:,} rows of {x.shape[1]:,} features, {len(labels):,} labels")
    return Pecos(vectorizer, model, labels, args)


def write_suggestions(number: int, pair: Tuple[str, str], ranked: Ranked, out: TextIO) -> None:
    """Write in the format of `mtn-yardstick`."""
    out.write(f"S-{number}\t{pair[0]}\nT-{number}\t{pair[1]}\n")
    for query, score in ranked:
        out.write(f"H-{number}\t{score:.6f}\t{query}\nD-{number}\t{score:.6f}\t{query}\n")
        out.write(f"P-{number}\t{score:.4f}\n")


def say(note: str) -> None:
    print(f"rival_pecos: {note}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", metavar="PREFIX", required=True, help="PREFIX.session, .next")
    parser.add_argument("--test", metavar="PREFIX", required=True, help="the pairs to answer")
    parser.add_argument(
        "--nbest", type=int, default=10, metavar="N", help="list length (%(default)s)"
    )
    parser.add_argument(
        "--rows",
        choices=["pairs", "queries"],
        default="pairs",
        help="pairs: repeated pairs count repeatedly; queries: once (%(default)s)",
    )
    parser.add_argument(
        "--features", choices=FEATURES, default="bigrams", help="of the last query (%(default)s)"
    )
    parser.add_argument(
        "--label-features",
        choices=["text", "pifa"],
        default="text",
        help="features for clustering the next queries (%(default)s)",
    )
    parser.add_argument("--beam", type=int, default=50, help="beam of the search (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the clustering (%(default)s)")
    args = parser.parse_args()
    if args.nbest < 1:
        parser.error("--nbest must be at least 1")

    pairs, start = list(read_pairs(args.train)), time.perf_counter()
    ranker = train(pairs, args)
    say(f"trained on {len(pairs):,} pairs of {args.train} in {time.perf_counter() - start:.1f} s")

    spent = []
    for number, pair in enumerate(read_pairs(args.test)):
        start = time.perf_counter()
        ranked = ranker.suggest(last_query(pair[0]))
        spent.append(time.perf_counter() - start)
        if not ranked:
            sys.exit(f"rival_pecos: no suggestion for pair {number} of {args.test}")
        write_suggestions(number, pair, ranked, sys.stdout)
    if not spent:
        sys.exit(f"rival_pecos: no pairs in {args.test}.session")
    print(f"Yardstick pecos with nbest={args.nbest}: {len(spent)} pairs")
    milliseconds = [1000 * seconds for seconds in spent]
    say(
        f"{len(spent):,} pairs of {args.test}; ms a request: median "
        f"{statistics.median(milliseconds):.2f}, mean {statistics.mean(milliseconds):.2f}"
    )


if __name__ == "__main__":
    main()
