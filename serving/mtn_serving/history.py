"""Candidates from what this person asked before.

    next      what they asked right after this query, most often first
    often     what they ask most often, where what is long ago counts less
    lately    what they asked last

Of equals, the newest comes first. The past comes with the request and is summed up for it alone: it
is in no table, and in nobody else's list.
"""

from collections import Counter
from typing import Dict, List, NamedTuple, Sequence

MAX_NEXT, MAX_OFTEN, MAX_LATELY = 10, 20, 5
HALF_LIFE = 20  # sessions after which a query counts half


class Past(NamedTuple):
    """What one person asked in earlier sessions, as seen from the last query of this one."""

    last: str  # of the session in progress
    sessions: int  # 0 for a stranger
    asked: Dict[str, int]  # times, of each query
    asked_in: Dict[str, int]  # sessions
    habit: Dict[str, float]  # times, each weighed by HALF_LIFE
    sessions_ago: Dict[str, int]  # when last asked: 1 for the session before this one; newest first
    after_last: Dict[str, int]  # times right after `last`


def past_of(history: Sequence[Sequence[str]], last: str) -> Past:
    """Args:
    history: earlier sessions, oldest first
    last: of the session in progress
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
    """Best first, and never the last query again."""
    lately = [query for query in past.sessions_ago if query != past.last]
    followers = [query for query in lately if query in past.after_last]
    after = sorted(followers, key=lambda query: -past.after_last[query])  # equals stay in order
    often = sorted(lately, key=lambda query: -past.habit[query])
    return list(dict.fromkeys(after[:MAX_NEXT] + often[:MAX_OFTEN] + lately[:MAX_LATELY]))
