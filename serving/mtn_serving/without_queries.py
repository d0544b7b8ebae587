"""Which query of a session matters for a suggestion.

Lists with each query left out show it for one suggestion. The attention of the model's session
level shows what the model reads, whatever it suggests.
"""

from typing import List, NamedTuple, Optional, Sequence, Tuple

from .pipeline import IN_TURN, Described, Pipeline
from .request import Request

MAX_QUERIES = 10  # only the last queries are left out in turn: each costs as much as a list


class Place(NamedTuple):
    """A position in a list."""

    place: int  # from 1
    score: float
    rule: str

    @property
    def worth(self) -> float:
        """The probability; without a ranker, the reciprocal of the place."""
        return 1 / self.place if self.rule == IN_TURN else self.score


class WithoutQuery(NamedTuple):
    """The suggestion in the list for the session without one of its queries."""

    query: str
    place: Optional[int]  # of the suggestion in that list, from 1; None if it is missing
    score: Optional[float]
    log_probability: Optional[float]  # by the model
    share: float  # of the effect of all queries, from 0 to 1; see `_shares`
    attention: Optional[float]  # of the last query to this one; None without a session level


def shortened(request: Request) -> List[Request]:
    """The request without each of its last MAX_QUERIES queries; empty for a single query."""
    queries = request.session
    if len(queries) == 1:
        return []
    places = range(max(len(queries) - MAX_QUERIES, 0), len(queries))
    return [request._replace(session=queries[:i] + queries[i + 1 :]) for i in places]


def place_in_list(pipeline: Pipeline, described: Described, query: str) -> Optional[Place]:
    candidates = described.candidates
    if pipeline.ranker is None:
        listed = [(row, float(-row), IN_TURN) for row in range(len(candidates))]
    elif candidates:
        ranked = pipeline.ranker.order(described.features, pipeline.unrelated)
        listed = [(each.row, each.probability, each.rule) for each in ranked]
    else:
        listed = []
    for place, (row, score, rule) in enumerate(listed, 1):
        if candidates[row].text == query:
            return Place(place, score, rule)
    return None


def log_probabilities(
    pipeline: Pipeline, requests: Sequence[Request], query: str
) -> List[Optional[float]]:
    """Log-probabilities of a query by the model, even if no source has the query."""
    if pipeline.trained is None:
        return [None] * len(requests)
    lines = [request.fitted(pipeline.model_reads).line for request in requests]
    scores = pipeline.trained.scores(pipeline.trained.sources(lines), [[query]] * len(lines))
    return [float(each.log_probability[0]) for each in scores]


def attention(pipeline: Pipeline, request: Request) -> List[Optional[float]]:
    """The weight of each of the last MAX_QUERIES queries; 0 for what the model does not read."""
    queries = request.session[-MAX_QUERIES:]
    if pipeline.trained is None:
        return [None] * len(queries)
    sources = pipeline.trained.sources([request.fitted(pipeline.model_reads).line])
    found = pipeline.trained.attention(sources)
    if found is None:
        return [None] * len(queries)
    weights = [0.0] * len(queries) + found[0].tolist()
    return weights[-len(queries) :]


def without_queries(
    request: Request,
    places: Sequence[Optional[Place]],
    likely: Sequence[Optional[float]],
    weights: Sequence[Optional[float]],
) -> Tuple[WithoutQuery, ...]:
    """Args:
    places, likely: of one text, first for the whole session, then without each query
    weights: of the last queries, from `attention`
    """
    queries = request.session[-MAX_QUERIES:]
    return tuple(
        WithoutQuery(
            query, place and place.place, place and place.score, probability, share, weight
        )
        for query, place, probability, share, weight in zip(
            queries, places[1:], likely[1:], _shares(places, likely), weights
        )
    )


def _shares(places: Sequence[Optional[Place]], likely: Sequence[Optional[float]]) -> List[float]:
    """How much the text drops without each query, as a share of all drops.

    A text outside the list has no place to drop from: its probability by the model is used instead.
    """
    worth = [place.worth if place else 0.0 for place in places]
    if places[0] is None:
        worth = [each or 0.0 for each in likely]
    falls = [max(worth[0] - each, 0.0) for each in worth[1:]]
    return [fall / sum(falls) if fall else 0.0 for fall in falls]
