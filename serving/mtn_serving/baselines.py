"""Suggestions by copying and counting, which any model should beat.

A method is a sequence of sources. Each source ranks queries; later sources fill the list if earlier
ones have too few. Methods without `echo` never suggest the last query, which nobody asks next.
"""

import math
from collections import Counter
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .next_queries import Followers

NOT_COUNTED = -math.inf  # the score of a copied query: log(0), for a frequency of 0
NOTHING = "nothing, an empty list"

Scored = Tuple[str, float]  # (query, log of its relative frequency)


class Asked(NamedTuple):
    """The input of a method for one pair."""

    queries: Sequence[str]  # of the session so far
    followers: Optional[Followers] = None  # next queries in the training text
    history: Sequence[Sequence[str]] = ()  # this person's earlier sessions, oldest first


# -> (how suggestions were found, the best suggestions: all, or at least the requested number).
Source = Callable[[Asked, int], Tuple[str, List[Scored]]]


def echo(asked: Asked, most: int) -> Tuple[str, List[Scored]]:
    """The last query itself."""
    return "echo", [(asked.queries[-1], NOT_COUNTED)]


def after_last(asked: Asked, most: int) -> Tuple[str, List[Scored]]:
    """Queries that followed the last query in training."""
    return after_session(asked._replace(queries=asked.queries[-1:]), most)


def after_session(asked: Asked, most: int) -> Tuple[str, List[Scored]]:
    """Queries that followed the longest end of the session seen in training, then shorter ends.

    Most frequent first; ties go to the first in code point order, so that the order of the training
    sessions does not matter.
    """
    assert asked.followers is not None
    found = asked.followers.suggest(asked.queries, most)
    context = f"the last {len(asked.followers.contexts(asked.queries))}"
    return context, [(query, math.log(share)) for query, share in found]


def earlier_queries(asked: Asked, most: int) -> Tuple[str, List[Scored]]:
    """Earlier queries of this session, newest first."""
    newest_first = dict.fromkeys(reversed(asked.queries[:-1]))
    return "an earlier query of the session", [(query, NOT_COUNTED) for query in newest_first]


def own_next(asked: Asked, most: int) -> Tuple[str, List[Scored]]:
    """Queries of this person after the last query in earlier sessions, most frequent first."""
    last = asked.queries[-1]
    following = [
        query
        for session in asked.history
        for before, query in zip(session, session[1:])
        if before == last
    ]
    return "what the person asked next before", _most_often(following)


def own_frequent(asked: Asked, most: int) -> Tuple[str, List[Scored]]:
    """This person's most frequent queries in earlier sessions."""
    every = [query for session in asked.history for query in session]
    return "what the person asks most", _most_often(every)


METHODS: Dict[str, Tuple[Source, ...]] = {
    "echo": (echo,),
    "last": (after_last, echo),
    "session": (after_session, echo),
    "back": (after_session, earlier_queries),
    "back-first": (earlier_queries, after_session),
    "personal": (own_next, own_frequent, after_session),
}


def suggest(sources: Sequence[Source], asked: Asked, nbest: int) -> Tuple[List[Scored], str]:
    """-> (n-best list, how its first query was found)"""
    last = asked.queries[-1]
    found: Dict[str, float] = {}
    origin = NOTHING
    for source in sources:
        how, ranked = source(asked, nbest + 1)  # one more: the last query may be among them
        for query, score in ranked:
            if query == last and echo not in sources:
                continue
            if not found:
                origin = how
            found.setdefault(query, score)
    return list(found.items())[:nbest], origin


def _most_often(queries: Sequence[str]) -> List[Scored]:
    """Queries, oldest first -> most frequent first; ties go to the most recent."""
    counts = Counter(reversed(queries))  # in the order of their last occurrences
    return [(query, math.log(count / len(queries))) for query, count in counts.most_common()]
