"""The log itself: format, times, determinism, and user behaviour."""

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from itertools import groupby

import pytest
from processes import PYTHONPATH
from sample_log_helpers import pairs_of, sessions_of

from mtn_sample_log import LogWriter
from mtn_sample_log.query import ASPECT, ENTITY, HEAD, SITE, TYPO
from mtn_sample_log.writer import HEADER

pytestmark = pytest.mark.unit
SMALL_LOG = (
    "0d15fbd7f581d946cc7d3b9bc6af10c78a7b7fc99311f2a0465f69ebb43661a7"  # sha256 of 20 users, seed 3
)


@pytest.fixture(scope="module")
def rows():
    return list(LogWriter(seed=5).rows(1500))


@pytest.fixture(scope="module")
def world():
    return LogWriter(seed=5).process.world


def small_log():
    lines = [HEADER + "\n", *(row.line() for row in LogWriter(seed=3).rows(20))]
    return "".join(lines).encode("ascii")


def test_golden():
    assert hashlib.sha256(small_log()).hexdigest() == SMALL_LOG


@pytest.mark.parametrize("hash_seed", ["0", "12345"])
def test_needs_only_python(tmp_path, hash_seed):
    """Without site-packages, the bytes are the same for any hash seed."""
    command = [sys.executable, "-S", "-m", "mtn_sample_log.cli", "--users", "20", "--seed", "3"]
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH, "PYTHONHASHSEED": hash_seed}
    run = subprocess.run(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, check=True)
    assert run.stdout == small_log()


def test_users_do_not_depend_on_each_other():
    short, long = (list(LogWriter(seed=9).rows(users)) for users in (3, 6))
    assert long[: len(short)] == short
    assert list(LogWriter(seed=10).rows(3)) != short


def test_columns(rows):
    for row in rows:
        user, query, time, rank, url = row.line().rstrip("\n").split("\t")
        assert re.fullmatch(r"[1-9][0-9]*", user)
        assert re.fullmatch(r"-|[a-z0-9 ]*", query)
        assert len(query.split()) <= 5
        assert datetime.strptime(time, "%Y-%m-%d %H:%M:%S") == row.time
        assert datetime(2006, 3, 1) <= row.time < datetime(2006, 6, 1)
        assert re.fullmatch(r"|[1-9][0-9]*", rank)
        assert re.fullmatch(r"|http://[a-z0-9]+\.example\.(com|org|net)", url)
        assert bool(rank) == bool(url)


def test_order_and_gaps(rows):
    keys = [(row.user, row.time) for row in rows]
    assert keys == sorted(keys)
    minutes = [
        (b.time - a.time) / timedelta(minutes=1) for a, b in zip(rows, rows[1:]) if a.user == b.user
    ]
    assert not [gap for gap in minutes if 15 < gap < 31], "sessions are far from ambiguous"


def test_all_kinds_of_rows_occur(rows):
    """Clicks, several clicks, next pages and blanks, each with a plausible share."""
    pages = [list(page) for _, page in groupby(rows, key=lambda row: row[:3])]
    clicks = Counter(sum(bool(row.url) for row in page) for page in pages)
    assert set(clicks) == {0, 1, 2, 3}
    assert 0.3 < clicks[0] / len(pages) < 0.6
    blank = sum(row.query in ("", "-") for row in rows) / len(rows)
    assert 0.005 < blank < 0.03
    repeats = sum(
        a[0].query == b[0].query and a[0].user == b[0].user for a, b in zip(pages, pages[1:])
    )
    assert 0.03 < repeats / len(pages) < 0.12
    for page in pages:
        ranks = [int(row.rank) for row in page if row.rank]
        assert ranks == sorted(set(ranks))


def test_most_sessions_are_kept(rows):
    lengths = Counter(len(session.queries) for session in sessions_of(rows))
    total = sum(lengths.values())
    kept = sum(lengths[length] for length in (3, 4, 5)) / total
    assert 0.7 < kept < 0.9
    assert all(lengths[length] for length in range(1, 9))


def test_frequent_words_cover_nearly_everything():
    sessions = [s for s in sessions_of(LogWriter(seed=1).rows(2000)) if 3 <= len(s.queries) <= 5]
    assert 10_000 <= len(sessions) <= 12_000
    words = Counter(w for s in sessions for query in s.queries for w in query.split())
    assert 500 <= len(words) <= 900
    frequent = sum(count for count in words.values() if count >= 8)
    assert frequent / sum(words.values()) > 0.99


def kind_of_move(queries):
    """The kind of a session's last step, one of five, if any."""
    *earlier, last, following = queries
    before = [query.first for query in earlier if query.kind in (ENTITY, TYPO, ASPECT)]
    if following.kind == SITE or last.kind == SITE:
        return "detour"
    if last.kind == TYPO:
        return "correct" if following.first == last.first else None
    if following.kind == HEAD or (following.kind == ENTITY and following.first == last.first):
        return "generalise"
    if last.kind == HEAD or following.first == last.first:
        return "specify"
    return "come back" if following.first in before else "switch"


def test_all_kinds_of_moves_occur(rows, world):
    pairs = pairs_of(sessions_of(rows))
    moves = Counter(kind_of_move(world.read([*prefix, text]).queries) for prefix, text in pairs)
    for kind in ("specify", "generalise", "correct", "switch", "come back"):
        assert moves[kind] / len(pairs) > 0.03, (kind, moves)


def test_users_keep_their_interests(rows, world):
    """Sessions of the same user are far more similar than those of different users."""
    subjects = defaultdict(list)
    for session in sessions_of(rows):
        family, queries = world.read(session.queries)
        subjects[session.user].append((family, queries[0].first))
    users = list(subjects.values())
    own = [(a, b) for own in users for a, b in zip(own, own[1:])]
    strange = [(a[-1], b[0]) for a, b in zip(users, users[1:])]

    def share(pairs, part):
        return sum(a[:part] == b[:part] for a, b in pairs) / len(pairs)

    assert share(own, 1) > 0.25  # the same family: a third to a half
    assert share(strange, 1) < 0.06  # one in forty
    assert share(own, 2) > 0.15  # the same city, car, pet …
    assert share(strange, 2) < 0.03
