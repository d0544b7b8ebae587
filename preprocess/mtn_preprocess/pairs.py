"""Turn sessions into lines of session text: pairs of the queries so far and the next query."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mtn_preprocess.sessions import query_counts
from mtn_preprocess.text.session_text import separator

_QUERIES, _SESSIONS = f" {separator(1)} ", f" {separator(2)} "


class Pairs(NamedTuple):
    """Lines of pairs, shortest source first within a session.

    Args:
        session: the index of each pair's session
    """

    session: np.ndarray
    source: pa.Array
    target: pa.Array


def whole_sessions(sessions: pa.RecordBatch) -> pa.Array:
    """Each session as one line."""
    return pc.binary_join(sessions["queries"], _QUERIES)


def unroll(sessions: pa.RecordBatch, wholes: pa.Array, history: int) -> Pairs:
    """The pairs of sessions of whole users, each after the user's last `history` sessions.

    The history is what was known at the time, whatever the split of its sessions: a test session
    may follow training sessions and the reverse, but only as context, never as a target. To avoid
    any overlap, split by user or by time.
    """
    offsets = sessions["queries"].offsets.to_numpy()
    queries = sessions["queries"].values
    lengths = query_counts(sessions)
    session = np.repeat(np.arange(len(lengths)), lengths - 1)
    known = _count_up(lengths - 1) + 1  # queries so far: 1, 2, … of each session
    first = offsets[:-1][session]
    source = pc.binary_join(_slices(queries, first, known), _QUERIES)
    target = queries.take(pa.array(first + known))
    if history:
        everyone = np.arange(len(lengths))
        earlier = earlier_sessions(sessions["who"], wholes, history, everyone)
        earlier = earlier.take(pa.array(session))
        joined = pc.binary_join_element_wise(earlier, source, _SESSIONS)
        source = pc.if_else(pc.equal(earlier, ""), source, joined)
    return Pairs(session, source, target)


def earlier_sessions(who: pa.Array, wholes: pa.Array, most: int, of: np.ndarray) -> pa.Array:
    """For each session, the last sessions of the same user as one line, oldest first; "" for none.

    A user's sessions are sorted by start and do not overlap, so all sessions before one had ended
    when it began.

    Args:
        who, wholes: user and text of all sessions, sorted by user and start
        most: maximum number of earlier sessions
        of: the indices of the sessions to return histories for
    """
    users = who.dictionary_encode().indices.to_numpy()
    first_of_user = np.flatnonzero(np.diff(users, prepend=-1) != 0)
    order = of - first_of_user[users[of]]  # users are numbered in order of appearance
    length = np.minimum(order, most)
    return pc.binary_join(_slices(wholes, of - length, length), _SESSIONS)


def _slices(values: pa.Array, first: np.ndarray, length: np.ndarray) -> pa.ListArray:
    """Lists of consecutive values."""
    offsets = np.concatenate([[0], np.cumsum(length)]).astype(np.int32)
    picked = np.repeat(first, length) + _count_up(length)
    return pa.ListArray.from_arrays(pa.array(offsets), values.take(pa.array(picked)))


def _count_up(lengths: np.ndarray) -> np.ndarray:
    """0, 1, … up to each length."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
