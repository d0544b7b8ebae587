"""Candidates from the earlier sessions of the same person.

    next      queries they asked right after this query, most frequent first
    often     queries they ask most often; older ones count less
    lately    queries they asked last

Ties go to the newer query. The history comes with the request and serves this request only: it is
in no table, and in nobody else's list.
"""

from collections import Counter
from typing import Dict, List, NamedTuple, Sequence

MAX_NEXT, MAX_OFTEN, MAX_LATELY = 10, 20, 5
HALF_LIFE = 20  # number of sessions after which a query counts half


class Past(NamedTuple):
    """Statistics of a person's earlier sessions, relative to the last query of this session."""

    last: str  # last query of the session in progress
    sessions: int  # 0 for a stranger
    asked: Dict[str, int]  # how often each query was asked
    asked_in: Dict[str, int]  # in how many sessions
    habit: Dict[str, float]  # how often, weighted by HALF_LIFE
    sessions_ago: Dict[str, int]  # when last asked: 1 for the previous session; newest first
    after_last: Dict[str, int]  # how often right after `last`


def past_of(history: Sequence[Sequence[str]], last: str) -> Past:
    """Args:
    history: earlier sessions, oldest first
    last: last query of the session in progress
    """
    asked: Counter = Counter()
    asked_in: Counter = Counter()
    after_last: Counter = Counter()
    habit: Dict[str, float] = {}
    sessions_ago: Dict[str, int] = {}
    for ago, session in enumerate(reversed(history), 1):
        asked.update(session)
        asked_in.update(set(session))
        after_last.update(after for query, after in zip(session, session[1:]) if query == last)
        weight = 0.5 ** (ago / HALF_LIFE)
        for query in reversed(session):
            habit[query] = habit.get(query, 0.0) + weight
            sessions_ago.setdefault(query, ago)
    return Past(last, len(history), asked, asked_in, habit, sessions_ago, after_last)


def own_queries(past: Past) -> List[str]:
    """Best first; never the last query itself."""
    lately = [query for query in past.sessions_ago if query != past.last]
    followers = [query for query in lately if query in past.after_last]
    after = sorted(followers, key=lambda query: -past.after_last[query])  # a stable sort
    often = sorted(lately, key=lambda query: -past.habit[query])
    return list(dict.fromkeys(after[:MAX_NEXT] + often[:MAX_OFTEN] + lately[:MAX_LATELY]))
