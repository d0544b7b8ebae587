"""The best possible accuracy of next-query prediction on the sample log.

The population: the (prefix, next) pairs of all sessions that preparation keeps, i.e. sessions of
`shortest` to `longest` queries (3 to 5) after successive repeats are dropped; every proper prefix
of each session, all users, all families, with equal weight per pair. Session length does not
depend on content, so the prefix q1 … qt has weight P(q1 … qt) * P(length > t, length is kept).

Three ideal predictors return the likeliest next query: from the whole prefix; from its last query
alone, without knowing t; and from the last query and its place t, which a model can count even if
it learns nothing else from the earlier queries. All laws are exact: the first is the process
itself, the others are sums over every possible prefix.
"""

from functools import lru_cache
from typing import Dict, Iterable, NamedTuple, Optional, Sequence, Tuple

from .behaviour import Behaviour, Law, Prefix
from .process import SESSION_LENGTHS, Process
from .query import Query, Shape

Pair = Tuple[Sequence[str], str]


class Best(NamedTuple):
    """The likeliest next query and how likely it is: the best possible exact-match rate."""

    query: str
    probability: float


class ImpossiblePair(ValueError):
    """A pair that the sample log cannot contain; `number` counts from 1."""

    def __init__(self, number: int, reason: object) -> None:
        super().__init__(f"pair {number}: {reason}")
        self.number, self.reason = number, reason


class Rates(NamedTuple):
    """Exact-match rates of the ideal predictors on given pairs.

    `expected_*` are the mean probabilities of being right, `actual_*` the measured rates. `skipped`
    pairs cannot occur under the process and count in neither.
    """

    pairs: int
    skipped: int
    expected_whole_session: float
    expected_last_query: float
    expected_last_and_place: float
    actual_whole_session: float
    actual_last_query: float
    actual_last_and_place: float


class _Census(NamedTuple):
    """All pairs within one family: the frequency of each next query after each last query."""

    joint: Dict[Tuple[int, Query], Law]  # by place and last query
    whole_session: float  # expected rate of the predictor that sees the whole prefix


@lru_cache(maxsize=None)
def _census(shape: Shape, weights: Tuple[float, ...]) -> _Census:
    """Enumerate every prefix; `weights[t - 1]` is the share of pairs whose prefix has t queries."""
    behaviour = Behaviour(shape, cache_size=0)  # every prefix occurs once
    joint: Dict[Tuple[int, Query], Law] = {}
    whole_session = 0.0
    prefixes: Dict[Prefix, float] = {(query,): p for query, p in behaviour.first_queries.items()}
    for t, weight in enumerate(weights, start=1):
        longer: Dict[Prefix, float] = {}
        for prefix, p in prefixes.items():
            law = behaviour.next_queries(prefix)
            whole_session += weight * p * max(law.values())
            after = joint.setdefault((t, prefix[-1]), {})
            for query, chance in law.items():
                after[query] = after.get(query, 0.0) + weight * p * chance
                if t < len(weights):
                    longer[(*prefix, query)] = p * chance
        prefixes = longer
    return _Census(joint, whole_session)


def _best(law: Dict[str, float], total: float = 1.0) -> Best:
    """The likeliest query; ties, up to rounding, go to the alphabetically first."""
    query = min(law, key=lambda text: (-round(law[text] / total, 12), text))
    return Best(query, law[query] / total)


class BestPossible:
    """The best possible exact-match rates: per prefix, for given pairs, and overall."""

    def __init__(
        self, process: Optional[Process] = None, shortest: int = 3, longest: int = 5
    ) -> None:
        self.process = process or Process()
        kept = [
            sum(p for k, p in SESSION_LENGTHS.items() if max(shortest, t + 1) <= k <= longest)
            for t in range(1, longest)
        ]
        self._weights = tuple(weight / sum(kept) for weight in kept)
        self._last: Dict[Tuple[str, Optional[int]], Best] = {}

    def _census(self, family: int) -> _Census:
        return _census(self.process.world.families[family].shape, self._weights)

    def whole_session(self, prefix: Sequence[str]) -> Best:
        """The best prediction given q1 … qt.

        Raises:
            ValueError: the prefix cannot occur.
        """
        return _best(self.process.next_queries(prefix))

    def last_query_law(self, text: str, place: Optional[int] = None) -> Dict[str, float]:
        """P(next | last query) times P(last query), over all pairs or those at one place.

        Empty if the query cannot occur there.
        """
        law: Dict[str, float] = {}
        world = self.process.world
        places = range(1, len(self._weights) + 1) if place is None else (place,)
        for family in world.homes(text):
            query_read = world.families[family].queries[text]
            for t in places:
                after = self._census(family).joint.get((t, query_read), {})
                for query, p in self.process.wording(family, after).items():
                    law[query] = law.get(query, 0.0) + p / len(world.families)
        return law

    def last_query(self, prefix: Sequence[str], know_place: bool = False) -> Best:
        """The best prediction given qt alone, or qt and t.

        Raises:
            ValueError: the last query cannot occur at this place.
        """
        key = prefix[-1] if prefix else "", len(prefix) if know_place else None
        if key not in self._last:
            law = self.last_query_law(*key)
            if not law:
                raise ValueError(f"cannot be followed in the sample log: {list(prefix)!r}")
            self._last[key] = _best(law, sum(law.values()))
        return self._last[key]

    def expected_rates(self) -> Tuple[float, float]:
        """Expected exact match over the whole population: (whole session, last query alone)."""
        families = self.process.world.families
        whole = sum(self._census(f).whole_session for f in range(len(families))) / len(families)
        texts = dict.fromkeys(text for phrases in families for text in phrases.queries)
        laws = (self.last_query_law(text) for text in texts)
        return whole, sum(max(law.values()) for law in laws if law)

    def measure(self, pairs: Iterable[Pair], skip_impossible: bool = False) -> Rates:
        """Apply the ideal predictors to given pairs.

        Raises:
            ImpossiblePair: a pair cannot occur, and `skip_impossible` is not set.
            ValueError: there are no pairs.
        """
        sums, count, skipped = [0.0] * 6, 0, 0
        for number, (prefix, following) in enumerate(pairs, start=1):
            try:
                self.process.read([*prefix, following])
                whole, last = self.whole_session(prefix), self.last_query(prefix)
                placed = self.last_query(prefix, know_place=True)
            except ValueError as error:
                if not skip_impossible:
                    raise ImpossiblePair(number, error) from None
                skipped += 1
                continue
            count += 1
            chances = [best.probability for best in (whole, last, placed)]
            hits = [best.query == following for best in (whole, last, placed)]
            sums = [total + gain for total, gain in zip(sums, [*chances, *hits])]
        if not count:
            raise ValueError(f"no pairs to measure ({skipped} skipped)")
        return Rates(count, skipped, *(total / count for total in sums))
