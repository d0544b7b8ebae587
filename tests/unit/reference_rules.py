"""The rules that turn one user's queries into sessions and pairs, each by itself and without files.

In their order, with the paper's values as defaults (Section 5.1):

1. normalise (`normalise`); a query that was blank or `-`, or of which nothing is left, is no query;
2. rows with the same user, time and query are one query with several clicks;
3. a gap of 30 minutes or more between two queries starts a new session;
4. queries of more than 10 tokens are taken out. The paper "considered queries with length at most
   10", a rule about queries: the session stays, and its bounds are those of all that was issued;
5. successive duplicates count once, also those that rule 4 made neighbours;
6. sessions of fewer than 3 or more than 5 queries are dropped.

Queries of the same second have no order in a log whose rows may come in any: they are taken in
alphabetic order.
"""

import hashlib
import unicodedata
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Iterable, Iterator, List, NamedTuple, Sequence, Tuple

from aol_log import time_text

from mtn_fairseq.data.session_text import encode_query, join_units

SPLITS = ("train", "valid", "test")
BLANK, NOTHING_LEFT, CLICK = "blank query", "no letter or digit", "further click on a query"
LONG_QUERY, DUPLICATE = "too many tokens", "successive duplicate"
SHORT_SESSION, LONG_SESSION = "in a session of too few queries", "in a session of too many queries"
RULES = (BLANK, NOTHING_LEFT, CLICK, LONG_QUERY, DUPLICATE, SHORT_SESSION, LONG_SESSION)

_HASH_DIGITS = 13  # 52 bits: a number that every engine can hold, and a prefix that SQL can compare

Issued = Tuple[int, str]  # seconds, and a query as its line of the session text format


@dataclass(frozen=True)
class Rules:
    """The values of the rules; the paper's by default."""

    gap_minutes: float = 30
    min_queries: int = 3
    max_queries: int = 5
    max_query_tokens: int = 10
    split: Tuple[Decimal, ...] = (Decimal(95), Decimal("2.5"), Decimal("2.5"))
    split_by: str = "session"
    seed: int = 1
    history: int = 0


class Session(NamedTuple):
    """A kept session; its queries are lines of the session text format."""

    user: str
    start: int
    queries: Tuple[str, ...]


class _Characters(dict):
    """For `str.translate`: what is no part of a word becomes a space."""

    def __missing__(self, code: int) -> int:
        self[code] = code if unicodedata.category(chr(code))[0] in "LMN" else ord(" ")
        return self[code]


_CHARACTERS = _Characters()


def normalise(query: str) -> str:
    """Lower case, Unicode NFC, words separated by one space.

    The character rule: letters, digits and the marks that belong to letters stay (Unicode
    categories L, N and M; without the marks, words of many scripts would break). Every other
    character becomes a space: `www.e-bay.com` is `www e bay com`, `bob's` is `bob s`.
    """
    return " ".join(unicodedata.normalize("NFC", query.lower()).translate(_CHARACTERS).split())


def read_query(typed: str) -> Tuple[str, str]:
    """A typed query as its line of the session text format, or "" and the rule that removes it."""
    if typed.strip() in ("", "-"):
        return "", BLANK
    query = encode_query(normalise(typed))
    return query, "" if query else NOTHING_LEFT


def find_sessions(
    user: str, issued: Iterable[Issued], rules: Rules, counts: Counter
) -> List[Session]:
    """A user's sessions by rules 3 to 6, oldest first.

    Args:
        issued: all that the user asked, in any order, nothing twice
        counts: gets the queries removed by each of `RULES`, and the `sessions` before rule 6
    """
    kept = []
    for session in _split_at_gaps(sorted(issued), rules.gap_minutes * 60):
        short = [q for _, q in session if len(q.split()) <= rules.max_query_tokens]
        queries = tuple(query for query, _ in groupby(short))
        counts["sessions"] += 1
        counts[LONG_QUERY] += len(session) - len(short)
        counts[DUPLICATE] += len(short) - len(queries)
        if len(queries) < rules.min_queries:
            counts[SHORT_SESSION] += len(queries)
            counts["short sessions"] += 1
        elif len(queries) > rules.max_queries:
            counts[LONG_SESSION] += len(queries)
            counts["long sessions"] += 1
        else:
            kept.append(Session(user, session[0][0], queries))
    return kept


def _split_at_gaps(issued: Sequence[Issued], gap: float) -> Iterator[Sequence[Issued]]:
    start = 0
    for i in range(1, len(issued)):
        if issued[i][0] - issued[i - 1][0] >= gap:
            yield issued[start:i]
            start = i
    yield issued[start:]


def split_of(session: Session, rules: Rules) -> str:
    """Where a session belongs: by a hash of what it is, so not by order, engine or machine.

    The first 13 hexadecimal digits of SHA-256 of seed, user, start and queries (of seed and user
    with `split_by` user), tab separated, as a number between 0 and 1.
    """
    identity = [str(rules.seed), session.user]
    if rules.split_by == "session":
        identity += [time_text(session.start), join_units(session.queries, 1)]
    digest = hashlib.sha256("\t".join(identity).encode("utf-8")).hexdigest()
    place = Decimal(int(digest[:_HASH_DIGITS], 16)) * 100 / 16**_HASH_DIGITS
    for name, share in zip(SPLITS, rules.split):
        if place < share:
            return name
        place -= share
    raise AssertionError("shares add up to 100")


def unroll(session: Session, earlier: Sequence[Session]) -> Iterator[Tuple[str, str]]:
    """Pairs of the queries so far and the next one, shortest first, with `earlier` in front."""
    history = [join_units(old.queries, 1) for old in earlier]
    for k in range(1, len(session.queries)):
        yield join_units([*history, join_units(session.queries[:k], 1)], 2), session.queries[k]
