"""The split of a session depends only on the documented hash, or on the time."""

import hashlib
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_logs import shares

from mtn_preprocess.pairs import whole_sessions
from mtn_preprocess.rules import Rules
from mtn_preprocess.sessions import SCHEMA
from mtn_preprocess.splits import count_starts, split_by_hash, split_by_time, time_bounds


def batch_of(*sessions):
    """A batch of sessions (user, start, queries)."""
    columns = zip(*((*session, [""] * len(session[2])) for session in sessions))
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA)], schema=SCHEMA
    )


def by_hash(sessions, rules):
    batch = batch_of(*sessions)
    return split_by_hash(batch, whole_sessions(batch), rules).tolist()


# --- by hash --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "split_by", "expected"),
    [
        (1, "session", 2),  # 5a3c… is .352
        (2, "session", 1),  # 32df… is .1987
        (1, "user", 0),  # 31fa… is .1952
    ],
)
def test_split_is_the_documented_hash(seed, split_by, expected):
    """From `printf '1\\t217\\t2006-03-01 10:00:00\\ta <q> b <q> c' | sha256sum` and the like."""
    rules = Rules(split=shares("19.7,5,75.3"), seed=seed, split_by=split_by)
    assert by_hash([("217", 1141207200, ["a", "b", "c"])], rules) == [expected]


some_shares = st.tuples(st.integers(0, 1000), st.integers(0, 1000)).map(
    lambda cuts: (
        Decimal(min(cuts)) / 10,
        Decimal(max(cuts) - min(cuts)) / 10,
        100 - Decimal(max(cuts)) / 10,
    )
)


@given(
    user=st.text(st.characters(blacklist_categories=["Cs"]), min_size=1),
    first=st.text("xyzé", min_size=1),
    split=some_shares,
    seed=st.integers(),
)
def test_a_hash_worked_out_by_hand(user, first, split, seed):
    """At the start of 1970, and one second earlier."""
    sessions = [(user, 0, [first, "b"]), (user, -1, [first, "b"])]
    for split_by in ("session", "user"):
        expected = []
        for time in ("1970-01-01 00:00:00", "1969-12-31 23:59:59"):
            text = f"{seed}\t{user}"
            if split_by == "session":
                text += f"\t{time}\t{first} <q> b"
            place = Fraction(int(hashlib.sha256(text.encode()).hexdigest()[:13], 16), 1 << 52)
            in_train, in_valid = Fraction(split[0]) / 100, Fraction(split[0] + split[1]) / 100
            expected.append(0 if place < in_train else 1 if place < in_valid else 2)
        assert by_hash(sessions, Rules(split=split, split_by=split_by, seed=seed)) == expected


def test_a_hash_at_the_bound_is_in_the_split_above_it():
    """Tested with the smallest possible change of a share: rounding never decides."""
    place = int(hashlib.sha256(b"1\tu").hexdigest()[:13], 16)
    least = Decimal("1e-20")
    at_most = (Decimal(100 * place) / (1 << 52)).quantize(least, "ROUND_FLOOR")
    for share, expected in [(at_most, 1), (at_most + least, 0)]:
        rules = Rules(split=(share, 100 - share, Decimal(0)), split_by="user")
        assert by_hash([("u", 0, ["a", "b"])], rules) == [expected]


def test_shares_are_about_those_asked_for():
    sessions = [(str(user), day, ["a", "b"]) for user in range(500) for day in range(20)]
    found = Counter(by_hash(sessions, Rules(split=shares("80,15,5"))))
    for number, share in zip(range(3), (8000, 1500, 500)):
        assert abs(found[number] - share) < 5 * (share * (1 - share / 10000)) ** 0.5
    for whole in ("100,0,0", "0,100,0", "0,0,100"):
        assert len(set(by_hash(sessions, Rules(split=shares(whole))))) == 1


def test_by_user_all_sessions_of_a_user_are_in_one_split():
    sessions = [(str(user), day, [f"{day}", "b"]) for user in range(60) for day in range(5)]
    splits = by_hash(sessions, Rules(split=shares("60,20,20"), split_by="user"))
    sides = {(who, split) for (who, *_), split in zip(sessions, splits)}
    assert len(sides) == 60
    assert {split for _, split in sides} == {0, 1, 2}


# --- by time --------------------------------------------------------------------------------------

some_starts = st.lists(st.integers(-3, 12), min_size=1, max_size=60)


def by_time(starts, rules):
    batch = batch_of(*(("u", start, ["a", "b", "c"]) for start in starts))
    halves = [batch.slice(0, len(starts) // 2), batch.slice(len(starts) // 2)]
    counted = count_starts(halves, rules.test_bounds)
    return split_by_time(batch, time_bounds(counted, rules)).tolist()


@given(starts=some_starts, split=some_shares)
def test_later_sessions_are_never_in_an_earlier_split(starts, split):
    splits = by_time(starts, Rules(split=split, split_by="time"))
    in_order = sorted(zip(starts, splits))
    assert [number for _, number in in_order] == sorted(splits)
    assert len(set(in_order)) == len(set(starts)), "a second is in two splits"


@given(starts=some_starts, split=some_shares)
def test_a_split_gets_its_share_or_slightly_more(starts, split):
    """For consecutive splits together: at least their share, but less without the last second."""
    splits = by_time(starts, Rules(split=split, split_by="time"))
    for number, share in enumerate([split[0], split[0] + split[1]]):
        mine = [start for start, found in zip(starts, splits) if found <= number]
        assert len(mine) * 100 >= share * len(starts)
        assert not mine or sum(start < max(mine) for start in mine) * 100 < share * len(starts)


def test_by_time_without_ties_the_shares_are_exact():
    splits = by_time(range(200), Rules(split=shares("95,2.5,2.5"), split_by="time"))
    assert Counter(splits) == {0: 190, 1: 5, 2: 5}


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("50,25,25", [0, 0, 0, 0, 1, 1, 2, 2]),  # uncounted sessions go to the split before
        ("100,0,0", [0] * 8),  # also before and after the counted ones
        ("0,50,50", [1, 1, 1, 1, 2, 2, 2, 2]),
        ("0,0,100", [2] * 8),
    ],
)
def test_by_time_only_sessions_for_the_test_count(split, expected):
    """Starts 0 to 7; those at 1, 3, 4 and 6 have a length that the test allows."""
    lengths = [2, 3, 2, 5, 3, 6, 4, 2]
    batch = batch_of(*(("u", start, ["a"] * length) for start, length in enumerate(lengths)))
    rules = Rules(split=shares(split), split_by="time", train_queries=(2, 10))
    starts = count_starts([batch], rules.test_bounds)
    assert starts == {1: 1, 3: 1, 4: 1, 6: 1}
    assert split_by_time(batch, time_bounds(starts, rules)).tolist() == expected
