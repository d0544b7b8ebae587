"""Fit a ranker on validation text: it learns to put the next query first.

Cross-validation splits people: the learner that predicts a pair has not seen its person, so the
reported scores hold for people unknown to the ranker. Fitting is deterministic: equal data give an
equal ranker.
"""

from typing import Any, Callable, List, NamedTuple, Sequence, Type

import numpy as np

from mtn_preprocess.errors import InputError

from .candidates import FIELD_OF, Candidate
from .conditions import Conditions
from .ranker import Calibration, Ranker, import_lightgbm, order
from .suggester import Described

FOLDS = 5
SEED = 1
AT = 10  # for MRR@10 and hit@10
ROUNDS = 150
_NEWTON_STEPS = 25

_OPTIONS = {
    "objective": "lambdarank",
    "lambdarank_truncation_level": AT,
    "num_leaves": 7,
    "min_data_in_leaf": 200,
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

Lists = List[List[str]]
Progress = Callable[[str, int, int], None]  # (what, number done, total)


class Examples(NamedTuple):
    """All candidates of all pairs, concatenated."""

    pairs: List[Sequence[Candidate]]
    bounds: np.ndarray  # (pairs + 1,)
    features: np.ndarray  # (candidates, names of the ranker's features)
    is_next: np.ndarray  # (candidates,) 1 for the next query, else 0

    def rows(self, pair: int) -> slice:
        return slice(self.bounds[pair], self.bounds[pair + 1])


class Fitted(NamedTuple):
    ranker: Ranker
    examples: Examples
    predicted: np.ndarray  # (candidates,) probabilities by learners that have not seen the person


def fit_ranker(
    described: Sequence[Described],
    next_queries: Sequence[str],
    person_of: Sequence[int],
    conditions: Conditions,
    folds: int = FOLDS,
    seed: int = SEED,
    progress: Progress = lambda what, done, total: None,
    kind: Type[Ranker] = Ranker,
) -> Fitted:
    """Args:
    described: the candidates of each pair
    next_queries: the next query of each pair
    person_of: the person of each pair, or its session if people are not known
    conditions: how the candidates were made
    progress: called after each step
    kind: the class of the ranker
    """
    examples = _examples(described, next_queries)
    _check_people(examples, person_of, folds)
    people = np.unique(person_of, return_inverse=True)[1]
    fold_of_person = np.random.RandomState(seed).permutation(people.max() + 1) % folds
    fold_of_pair = fold_of_person[people]
    fold = np.repeat(fold_of_pair, np.diff(examples.bounds))
    scores = np.zeros(len(fold))
    # In the last round nobody is held out: its learner becomes the ranker.
    for held_out in range(folds + 1):
        here = fold == held_out
        learner = _fit(examples, fold_of_pair != held_out, seed, kind.names)
        if here.any():
            scores[here] = learner.predict(examples.features[here])
        progress("learners fitted", held_out + 1, folds + 1)
    calibration = _calibrate(scores, examples.is_next)
    facts = {"examples": len(described), "seed": seed}
    ranker = kind(learner, calibration, conditions, facts)
    return Fitted(ranker, examples, calibration.probabilities(scores))


def _check_people(examples: Examples, person_of: Sequence[int], folds: int) -> None:
    """Refuse too few people: each learner needs examples."""
    with_candidates = np.asarray(person_of)[np.diff(examples.bounds) > 0]
    if len(np.unique(with_candidates)) < folds:
        raise InputError(
            f"fewer than {folds} people have a candidate",
            "add a model, counts of more text, or more validation text",
        )


def cross_validated_lists(
    fitted: Fitted, pairs: Sequence[int], without: Sequence[str] = ()
) -> Lists:
    """The list of each pair, ranked by a learner that has not seen its person.

    Args:
        without: leave out the candidates that only these sources have
    """
    examples = fitted.examples
    kept = [FIELD_OF[each] for each in fitted.ranker.conditions.sources if each not in without]
    lists = []
    for pair in pairs:
        candidates, rows = examples.pairs[pair], examples.rows(pair)
        keep = [any(getattr(each, field) is not None for field in kept) for each in candidates]
        chosen = np.flatnonzero(keep)
        ranked = order(examples.features[rows][chosen], fitted.predicted[rows][chosen])
        # An empty list is an answer, too.
        lists.append([candidates[chosen[each.row]].text for each in ranked[:AT]] or [""])
    return lists


def lists_in_order_of_sources(fitted: Fitted, pairs: Sequence[int]) -> Lists:
    """Lists without a ranker."""
    return [[each.text for each in fitted.examples.pairs[pair][:AT]] or [""] for pair in pairs]


def _examples(described: Sequence[Described], next_queries: Sequence[str]) -> Examples:
    return Examples(
        [each.candidates for each in described],
        np.cumsum([0, *(len(each.candidates) for each in described)]),
        np.concatenate([each.features for each in described]),
        np.array(
            [
                candidate.text == next_query
                for each, next_query in zip(described, next_queries)
                for candidate in each.candidates
            ],
            dtype=np.float64,
        ),
    )


def _fit(examples: Examples, chosen: np.ndarray, seed: int, names: Sequence[str]) -> Any:
    """Args:
    chosen: (pairs,) whether to learn from each pair
    """
    lightgbm = import_lightgbm()
    candidates = np.diff(examples.bounds)
    rows = np.repeat(chosen, candidates)
    data = lightgbm.Dataset(
        examples.features[rows],
        examples.is_next[rows],
        group=candidates[chosen & (candidates > 0)],
        feature_name=list(names),
    )
    return lightgbm.train({**_OPTIONS, "seed": seed}, data, ROUNDS)


def _calibrate(scores: np.ndarray, is_next: np.ndarray) -> Calibration:
    """Logistic regression on one variable by Newton's method (Platt scaling).

    Platt's targets, slightly inside 0 and 1, keep the result finite for perfect scores. A negative
    slope means that the scores mislead, which too little data may cause: they are then ignored.
    """
    right = is_next.sum()
    targets = np.where(is_next == 1, (right + 1) / (right + 2), 1 / (len(is_next) - right + 2))
    inputs = np.stack([scores, np.ones(len(scores))], axis=1)
    weights = np.zeros(2)
    for _ in range(_NEWTON_STEPS):
        found = Calibration(*weights).probabilities(scores)
        gradient = inputs.T @ (targets - found)
        hessian = (inputs * (found * (1 - found))[:, None]).T @ inputs + 1e-9 * np.eye(2)
        weights += np.linalg.solve(hessian, gradient)
    if weights[0] < 0:
        return _calibrate(np.zeros(len(scores)), is_next)
    return Calibration(*weights.tolist())
