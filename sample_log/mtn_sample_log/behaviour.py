"""The probability law of the next query, given all queries so far.

A searcher usually follows a *thread*, and the query that continues the thread depends on the whole
session: after "london hotels", "paris" the thread is "paris hotels"; after "paris flights", "paris"
it is the most popular aspect of paris not yet asked. Otherwise the searcher makes one of a few
habitual moves. Both depend on the visible queries alone, so the best possible prediction is known
exactly (see `best_possible`).
"""

from functools import lru_cache
from itertools import accumulate
from math import fsum
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from .query import ASPECT, COMPARE, ENTITY, HEAD, SITE, TYPO, Query, Shape

Prefix = Tuple[Query, ...]
Law = Dict[Query, float]
Ladder = Tuple[List[Query], List[float]]

FOLLOW_FIRST = 0.48  # probability to follow the thread after one query …
FOLLOW = 0.68  # … and after more
MISSPELL = 0.20  # probability that a member typed alone for the first time is misspelt

OPENING = {HEAD: 0.08, ENTITY: 0.42, ASPECT: 0.50}
MEMBER_POPULARITY = 0.90  # popularity of each member relative to the one before it …
ASPECT_POPULARITY = 0.80  # … and the same for aspects


class View(NamedTuple):
    """The features of a prefix that the moves depend on.

    Visiting a web site is an interruption that leaves no trace afterwards.
    """

    shape: Shape
    last: Query
    anchor: Query  # the last query that is not a site
    before: Optional[Query]  # the query before the anchor
    focus: int  # the current member, -1 for none
    visited: Tuple[int, ...]  # members in order of first mention
    asked: Tuple[Tuple[int, int], ...]  # (member, aspect) pairs so far
    recent: int  # the latest aspect, -1 for none
    seen: Prefix

    @classmethod
    def of(cls, shape: Shape, prefix: Prefix) -> "View":
        """The view of a non-empty prefix whose first query is not a site."""
        steps: List[Query] = []
        for query in prefix:
            if query.kind != SITE and (not steps or steps[-1] != query):
                steps.append(query)
        mentioned = [query.first for query in steps if query.kind != HEAD]
        asked = tuple((query.first, query.second) for query in steps if query.kind == ASPECT)
        return cls(
            shape=shape,
            last=prefix[-1],
            anchor=steps[-1],
            before=steps[-2] if len(steps) > 1 else None,
            focus=mentioned[-1] if mentioned else -1,
            visited=tuple(dict.fromkeys(mentioned)),
            asked=asked,
            recent=asked[-1][1] if asked else -1,
            seen=prefix,
        )

    def unasked(self, member: int) -> List[int]:
        """Aspects of a member that were not yet asked, most popular first."""
        return [a for a in range(self.shape.aspects) if (member, a) not in self.asked]

    def others(self) -> List[int]:
        """Members mentioned other than the focus, in order of first mention."""
        return [member for member in self.visited if member != self.focus]


# --- moves: from a view to possible next queries; empty if the move is not possible


def _popular(count: int, ratio: float) -> List[float]:
    weights = [ratio**rank for rank in range(count)]
    total = fsum(weights)
    return [weight / total for weight in weights]


def _typed(member: int) -> Law:
    """A member typed alone for the first time, sometimes misspelt."""
    return {Query(ENTITY, member): 1 - MISSPELL, Query(TYPO, member): MISSPELL}


def _next_member(view: View) -> int:
    """The next member after the focus, in a ring, that was not visited; -1 if all were."""
    members = view.shape.members
    ring = ((view.focus + step) % members for step in range(1, members + 1))
    return next((member for member in ring if member not in view.visited), -1)


def specify(view: View) -> Law:
    """Ask the most popular aspect not yet asked of the focus."""
    free = view.unasked(view.focus) if view.focus >= 0 else []
    return {Query(ASPECT, view.focus, free[0]): 1.0} if free else {}


def specify_any(view: View) -> Law:
    """Ask any aspect not yet asked of the focus."""
    free = view.unasked(view.focus) if view.focus >= 0 else []
    shares = _popular(len(free), ASPECT_POPULARITY)
    return {Query(ASPECT, view.focus, aspect): p for aspect, p in zip(free, shares)}


def carry(view: View) -> Law:
    """Ask the focus's version of the latest aspect, last asked of another member."""
    if view.recent < 0 or view.focus < 0 or (view.focus, view.recent) in view.asked:
        return {}
    return {Query(ASPECT, view.focus, view.recent): 1.0}


def correct(view: View) -> Law:
    """Correct the spelling of a misspelt member."""
    return {Query(ENTITY, view.anchor.first): 1.0} if view.anchor.kind == TYPO else {}


def drop_aspect(view: View) -> Law:
    """Generalise to the member alone."""
    return {Query(ENTITY, view.focus): 1.0} if view.anchor.kind == ASPECT else {}


def generalise(view: View) -> Law:
    """Generalise to the family."""
    return {} if Query(HEAD) in view.seen else {Query(HEAD): 1.0}


def switch(view: View) -> Law:
    """Switch to the next member."""
    member = _next_member(view)
    return _typed(member) if member >= 0 else {}


def switch_keeping_aspect(view: View) -> Law:
    """Switch to the next member with the latest aspect."""
    member = _next_member(view)
    if member < 0 or view.recent < 0:
        return {}
    return {Query(ASPECT, member, view.recent): 1.0}


def compare(view: View) -> Law:
    """Compare the focus with the first other member visited."""
    others = view.others()
    query = Query(COMPARE, others[0], view.focus) if others else None
    return {query: 1.0} if query and query not in view.seen else {}


def come_back(view: View) -> Law:
    """Return to the first other member, with the latest aspect if it is new there."""
    others = view.others()
    if not others:
        return {}
    free = view.unasked(others[0])
    if not free:
        return {Query(ENTITY, others[0]): 1.0}
    return {Query(ASPECT, others[0], view.recent if view.recent in free else free[0]): 1.0}


def interrupt(view: View) -> Law:
    """Visit a web site in between."""
    if view.last.kind == SITE:
        return {}
    return {Query(SITE, site): 1.0 / view.shape.sites for site in range(view.shape.sites)}


def resume(view: View) -> Law:
    """Repeat the query before the interruption."""
    return {view.anchor: 1.0} if view.last.kind == SITE else {}


Move = Callable[[View], Law]


def thread(view: View) -> Tuple[Move, ...]:
    """The moves that continue the session's thread; the first possible one is taken."""
    kind, before = view.anchor.kind, view.before
    if kind == HEAD:
        return switch_keeping_aspect, switch, come_back
    if kind == TYPO:
        return carry, correct
    if kind == COMPARE:
        return specify, come_back
    moved = before is not None and before.kind != HEAD and before.first != view.focus
    if view.seen == (Query(ENTITY, view.focus),):
        return (specify_any,)
    if kind == ENTITY:
        return (carry, compare, specify) if moved else (carry, specify, switch)
    if before is None:
        return switch, specify
    if moved and before.kind == ASPECT and before.second == view.anchor.second:
        return switch_keeping_aspect, come_back, specify
    if view.others():
        back = come_back(view)
        same = any(query.second == view.recent for query in back)
        return (come_back, specify) if same else (compare, come_back, specify)
    return specify, switch


HABITS: Dict[str, Dict[Move, float]] = {
    HEAD: {switch: 4, switch_keeping_aspect: 1, come_back: 1, interrupt: 1},
    ENTITY: {specify: 2, specify_any: 3, switch: 3, generalise: 1.5, compare: 1, interrupt: 2.5},
    TYPO: {correct: 5, specify: 2, interrupt: 1},
    ASPECT: {
        specify: 2,
        specify_any: 1,
        drop_aspect: 2.5,
        generalise: 1.5,
        switch: 2,
        switch_keeping_aspect: 2,
        come_back: 1,
        interrupt: 3,
    },
    COMPARE: {specify_any: 2, switch: 1, generalise: 1, come_back: 1, interrupt: 1},
    SITE: {resume: 5, specify: 3, switch: 2, generalise: 1},
}


def _blend(parts: List[Tuple[float, Law]]) -> Law:
    """Laws mixed in proportion to their weights; empty laws leave their share to the others."""
    possible = [(weight, law) for weight, law in parts if law]
    total = fsum(weight for weight, _ in possible)
    mixed: Law = {}
    for weight, law in possible:
        for query, p in law.items():
            mixed[query] = mixed.get(query, 0.0) + weight / total * p
    return mixed


def ladder(law: Law) -> Ladder:
    """A law's queries and their cumulative probabilities, for sampling."""
    return list(law), list(accumulate(law.values()))


class Behaviour:
    """The exact law of a session's queries within a family of one shape.

    `member_popularity`: the probability that a user thinks of each member; `openings`: the law of
    the first query given that member; `first_queries`: the same over all users;
    `next_queries(prefix)`: the law of the next query.
    """

    def __init__(self, shape: Shape, cache_size: int = 1 << 15) -> None:
        self.shape = shape
        # Bounded, so that a log of any length is written in constant memory.
        self.next_queries = lru_cache(cache_size)(self._next_queries)
        self.ladder = lru_cache(cache_size)(self._ladder)
        self.member_popularity = _popular(shape.members, MEMBER_POPULARITY)
        self.openings = [self._opening(member) for member in range(shape.members)]
        self.first_queries = _blend(list(zip(self.member_popularity, self.openings)))

    def _opening(self, member: int) -> Law:
        """The law of the first query of a session, given the member in mind."""
        aspects = _popular(self.shape.aspects, ASPECT_POPULARITY)
        asked = {Query(ASPECT, member, a): p for a, p in enumerate(aspects)}
        laws = {HEAD: {Query(HEAD): 1.0}, ENTITY: _typed(member), ASPECT: asked}
        return _blend([(OPENING[kind], law) for kind, law in laws.items()])

    def _next_queries(self, prefix: Prefix) -> Law:
        """P(next query | all queries so far), over all possible next queries."""
        view = View.of(self.shape, prefix)
        habits = HABITS[view.last.kind]
        usual = _blend([(weight, move(view)) for move, weight in habits.items()])
        threads = (move(view) for move in thread(view))
        followed = next((law for law in threads if law), usual)
        share = FOLLOW if len(prefix) > 1 else FOLLOW_FIRST
        return _blend([(share, followed), (1 - share, usual)])

    def _ladder(self, prefix: Prefix) -> Ladder:
        """The next queries and their cumulative probabilities, for sampling."""
        return ladder(self.next_queries(prefix))
