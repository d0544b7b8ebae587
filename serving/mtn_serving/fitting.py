"""Fit a ranker on validation data, and tell by cross-validation how good it is.

A session is wholly in one fold. What is reported of a pair, and what the weights are chosen by, was
predicted by learners that have not seen its session. Nothing depends on threads or the clock: equal
data give an equal ranker.
"""

from itertools import product
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

import numpy as np

from mtn_evaluation.suggestion_scores import ngram_counts, score_lists

from .candidates import FIELD_OF, Candidate
from .conditions import Conditions
from .features import NAMES
from .ranker import EXACT, LEARNERS, MATCHES, Ranker, Weights, import_lightgbm, order
from .suggester import Described

FOLDS = 5
SEED = 1
AT = 10  # MRR@10, hit@10
ROUNDS = 150

_COMMON = {
    "learning_rate": 0.05,
    "feature_fraction": 0.7,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 1.0,
    "verbosity": -1,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
}
_OF_EXACT = {"objective": "binary", "num_leaves": 15, "min_data_in_leaf": 50}
# Much of what matches is chance, so it is learned more coarsely.
_OF_MATCHES = {"objective": "regression", "num_leaves": 7, "min_data_in_leaf": 300}
_EXACT_WEIGHTS = (0.5, 1.0, 2.0, 4.0, 8.0)
_WORD_WEIGHTS = (0.0, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4)
BLEU_COUNTS = 4  # times: the head alone decides it, exact match and MRR have the whole order

Lists = List[List[str]]
Progress = Callable[[str, int, int], None]  # what, how many are done, of how many


class Examples(NamedTuple):
    """All candidates of all pairs, one behind the other."""

    pairs: List[Sequence[Candidate]]
    bounds: np.ndarray  # (pairs + 1,)
    features: np.ndarray  # (candidates, NAMES)
    targets: Dict[str, np.ndarray]  # (candidates,) for each of LEARNERS
    ngram_gains: Tuple[float, ...]
    ngram_costs: Tuple[float, ...]
    next_queries: Sequence[str]

    def rows(self, pair: int) -> slice:
        return slice(self.bounds[pair], self.bounds[pair + 1])


class Fitted(NamedTuple):
    ranker: Ranker
    examples: Examples
    predicted: Dict[str, np.ndarray]  # (candidates,) by learners that have not seen the session


def fit_ranker(
    described: Sequence[Described],
    next_queries: Sequence[str],
    last_queries: Sequence[str],
    session_of: Sequence[int],
    conditions: Conditions,
    folds: int = FOLDS,
    seed: int = SEED,
    progress: Progress = lambda what, done, total: None,
) -> Fitted:
    """Args:
    described: the candidates of each pair
    next_queries: what was asked
    last_queries: the last query of each pair, by which n-grams are weighed
    session_of: which session each pair is of
    conditions: how the candidates were made
    progress: is told after each step
    """
    examples = _examples(described, next_queries, last_queries)
    fold_of_session = np.random.RandomState(seed).permutation(max(session_of) + 1) % folds
    fold = np.repeat(fold_of_session[np.asarray(session_of)], np.diff(examples.bounds))
    predicted = {name: np.zeros(len(fold)) for name in LEARNERS}
    learners: Dict[str, Any] = {}
    # In the last round no fold is held out: these learners are the ranker's.
    steps = [(held_out, name) for held_out in range(folds + 1) for name in LEARNERS]
    for done, (held_out, name) in enumerate(steps, 1):
        learners[name] = _fit(name, examples, fold != held_out, seed)
        here = fold == held_out
        if here.any():
            predicted[name][here] = learners[name].predict(examples.features[here])
        progress("learners fitted", done, len(steps))
    weights = _choose_weights(examples, predicted, progress)
    facts = {"pairs": len(described), "seed": seed}
    return Fitted(Ranker(learners, weights, conditions, facts), examples, predicted)


def cross_validated_lists(fitted: Fitted, without: Sequence[str] = ()) -> Lists:
    """What would be suggested for each pair, by learners that have not seen its session.

    Args:
        without: sources to leave out: what only these have
    """
    examples = fitted.examples
    sources = [each for each in fitted.ranker.conditions.sources if each not in without]
    kept = [FIELD_OF[source] for source in sources]
    lists = []
    for pair, candidates in enumerate(examples.pairs):
        rows = np.array(
            [any(getattr(each, field) is not None for field in kept) for each in candidates],
            dtype=bool,
        )
        lists.append(_ordered(examples, pair, fitted.predicted, fitted.ranker.weights, rows))
    return lists


def lists_in_order_of_sources(fitted: Fitted) -> Lists:
    """Without a ranker."""
    return [[each.text for each in pair[:AT]] or [""] for pair in fitted.examples.pairs]


def _ordered(
    examples: Examples,
    pair: int,
    predicted: Dict[str, np.ndarray],
    weights: Weights,
    kept: np.ndarray,
) -> List[str]:
    rows = examples.rows(pair)
    texts = [each.text for each, keep in zip(examples.pairs[pair], kept) if keep]
    if not texts:
        return [""]  # nothing to suggest is an answer too
    here = {name: scores[rows][kept] for name, scores in predicted.items()}
    ranked = order(examples.features[rows][kept], here, weights)
    return [texts[row] for row in ranked.rows()[:AT]]


def _examples(
    described: Sequence[Described], next_queries: Sequence[str], last_queries: Sequence[str]
) -> Examples:
    """N-grams are weighed by what they add to BLEU, where the n-grams of all pairs' last queries
    are the measure: one that matches adds more, the fewer of its length match, and each costs a
    little, since precision is a share of all.
    """
    echoed = np.sum([ngram_counts(*pair) for pair in zip(last_queries, next_queries)], axis=0)
    matches, ngrams = np.maximum(echoed[2:6], 1), np.maximum(echoed[6:10], 1)
    share = len(next_queries) / len(MATCHES)
    texts = [
        (candidate.text, next_query)
        for each, next_query in zip(described, next_queries)
        for candidate in each.candidates
    ]
    found = np.array([_matches(*each) for each in texts], dtype=np.float64)
    exact = np.array([text == asked for text, asked in texts], dtype=np.float64)
    return Examples(
        [each.candidates for each in described],
        np.cumsum([0, *(len(each.candidates) for each in described)]),
        np.concatenate([each.features for each in described]),
        {EXACT: exact, **dict(zip(MATCHES, found.T))},
        tuple((share / matches).tolist()),
        tuple((share / ngrams).tolist()),
        next_queries,
    )


def _matches(text: str, next_query: str) -> Sequence[int]:
    """Of n = 1, 2, 3, 4 words each; most candidates have none, and are not looked at further."""
    if not set(text.split()) & set(next_query.split()):
        return 0, 0, 0, 0
    return ngram_counts(text, next_query)[2:6]


def _fit(name: str, examples: Examples, chosen: np.ndarray, seed: int) -> Any:
    lightgbm = import_lightgbm()
    data = lightgbm.Dataset(
        examples.features[chosen], examples.targets[name][chosen], feature_name=list(NAMES)
    )
    options = _OF_EXACT if name == EXACT else _OF_MATCHES
    return lightgbm.train({**_COMMON, **options, "seed": seed}, data, ROUNDS)


def merit(figures: Dict[str, float]) -> float:
    """What the weights are chosen by: a sum of BLEU, which counts more, exact match and MRR."""
    return BLEU_COUNTS * figures["bleu"] + figures["exact"] + figures[f"mrr@{AT}"]


def _choose_weights(
    examples: Examples, predicted: Dict[str, np.ndarray], progress: Progress
) -> Weights:
    """The ones of most merit."""
    best, chosen = -1.0, None
    pairs = list(product(_EXACT_WEIGHTS, _WORD_WEIGHTS))
    for done, (exact, word) in enumerate(pairs, 1):
        weights = Weights(exact, word, examples.ngram_gains, examples.ngram_costs)
        lists = [
            _ordered(examples, pair, predicted, weights, np.ones(len(candidates), dtype=bool))
            for pair, candidates in enumerate(examples.pairs)
        ]
        found = merit(score_lists(lists, examples.next_queries, [AT]))
        if found > best:
            best, chosen = found, weights
        progress("weights tried", done, len(pairs))
    assert chosen is not None
    return chosen
