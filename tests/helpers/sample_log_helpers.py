"""For tests of the sample log: rows to sessions, as in the preparation."""

from datetime import timedelta
from typing import Iterable, List, NamedTuple, Tuple

from mtn_sample_log.writer import Row


class Session(NamedTuple):
    user: int
    queries: List[str]


def sessions_of(rows: Iterable[Row]) -> List[Session]:
    """Split at half an hour without a query; drop blank rows and successive repeats."""
    sessions: List[Session] = []
    previous = None
    for row in rows:
        far = previous and row.time - previous.time >= timedelta(minutes=30)
        if previous is None or far or row.user != previous.user:
            sessions.append(Session(row.user, []))
        previous = row
        queries = sessions[-1].queries
        if row.query not in ("", "-") and queries[-1:] != [row.query]:
            queries.append(row.query)
    return sessions


def pairs_of(sessions: Iterable[Session]) -> List[Tuple[List[str], str]]:
    """Every (prefix, next query) of the sessions of 3 to 5 queries."""
    kept = [s.queries for s in sessions if 3 <= len(s.queries) <= 5]
    return [(queries[:t], queries[t]) for queries in kept for t in range(1, len(queries))]
