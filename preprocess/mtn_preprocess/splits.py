"""Assign sessions to splits by content, independent of row order, thread count and engine."""

import hashlib
from collections import Counter
from itertools import accumulate
from typing import Iterable, List, Tuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mtn_preprocess.rules import Rules
from mtn_preprocess.sessions import query_counts

_HASH_BITS = 52  # 13 hexadecimal digits: a number that every language can hold
_BEFORE_ALL, _AFTER_ALL = np.iinfo(np.int64).min, np.iinfo(np.int64).max  # times


def have_length(sessions: pa.RecordBatch, bounds: Tuple[int, int]) -> np.ndarray:
    """Whether each session's number of queries is within the bounds."""
    lengths = query_counts(sessions)
    return (bounds[0] <= lengths) & (lengths <= bounds[1])


def split_by_hash(sessions: pa.RecordBatch, wholes: pa.Array, rules: Rules) -> np.ndarray:
    """The split number of each session.

    A session's position between 0 and 1 is given by the first 13 hexadecimal digits of the SHA-256
    of seed, user, start and queries, tab-separated (only seed and user with `split_by` user).

    Args:
        wholes: the text of each session
    """
    parts = [pa.scalar(str(rules.seed)), sessions["who"]]
    if rules.split_by == "session":
        parts += [_time_text(sessions["start"]), wholes]
    identities = pc.binary_join_element_wise(*parts, "\t").cast(pa.binary()).to_pylist()
    sha256 = hashlib.sha256
    digests = b"".join(sha256(identity).digest()[:8] for identity in identities)
    places = np.frombuffer(digests, ">u8") >> np.uint64(64 - _HASH_BITS)
    return np.searchsorted(_hash_bounds(rules), places.astype(np.int64), "right")


def _hash_bounds(rules: Rules) -> np.ndarray:
    """The first hash of the second split and of the third."""
    shares = accumulate(rules.split[:-1])  # decimals, so exact
    exact = [share * 2**_HASH_BITS / 100 for share in shares]
    return np.array([int(bound.to_integral_value("ROUND_CEILING")) for bound in exact])


def split_by_time(sessions: pa.RecordBatch, bounds: List[int]) -> np.ndarray:
    return np.searchsorted(np.array(bounds), sessions["start"].to_numpy(), "right")


def time_bounds(starts: Counter, rules: Rules) -> List[int]:
    """The first second of the second split and of the third.

    Sessions that start in the same second stay together: a split gets its share or slightly more.
    A split without a share lies before or after all times, also those of sessions not counted here.

    Args:
        starts: the number of sessions per start second, of lengths that the test allows
    """
    total, before = sum(starts.values()), 0
    shares = list(accumulate(rules.split[:-1]))
    bounds = [int(_BEFORE_ALL) for share in shares if not share]
    for second in sorted(starts):
        while len(bounds) < len(shares) and before * 100 >= shares[len(bounds)] * total:
            bounds.append(second)
        before += starts[second]
    return bounds + [int(_AFTER_ALL)] * (len(shares) - len(bounds))


def count_starts(batches: Iterable[pa.RecordBatch], bounds: Tuple[int, int]) -> Counter:
    """The number of sessions per start second, of lengths within the bounds."""
    starts: Counter = Counter()
    for sessions in batches:
        counted = sessions["start"].to_numpy()[have_length(sessions, bounds)]
        found, numbers = np.unique(counted, return_counts=True)
        starts.update(dict(zip(found.tolist(), numbers.tolist())))
    return starts


def _time_text(seconds: pa.Array) -> pa.Array:
    """As in the log: `2006-03-01 10:00:00`."""
    return seconds.cast(pa.timestamp("s")).cast(pa.string())
