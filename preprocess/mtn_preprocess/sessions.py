"""Group sorted rows into sessions: rules 2 to 6 of `rules`, on whole arrays.

The engine returns all rows sorted by user, time and query. The row above is then the user's
previous query, and each rule compares neighbouring rows.
"""

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import Any, Callable, Iterable, Iterator, List, Tuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mtn_preprocess.log_lines import file_of
from mtn_preprocess.reasons import KEPT, Reason
from mtn_preprocess.rules import Rules
from mtn_preprocess.text.block_lists import block_list

SCHEMA = pa.schema(
    [
        ("who", pa.string()),
        ("start", pa.int64()),
        ("queries", pa.list_(pa.string())),
        ("forms", pa.list_(pa.string())),  # as typed; "" if equal to the query
    ]
)
# Counted besides the `Reason`s.
LINES, FOUND, SHORT, LONG = "lines", "sessions found", "short sessions", "long sessions"
BACKWARDS = "time going backwards"


@dataclass
class SessionBatch:
    """Sessions of whole users, and the counts of all rows read for them.

    Args:
        sessions: with `SCHEMA`, sorted by user and start; if histories of the past are requested,
            also non-empty sessions of too few or too many queries
        counts: rows per `Reason`, and the names above
        rows_of_file: number of valid rows per file number
        rejects: places of the malformed lines, in order
        reject_reasons: the reason for each
    """

    sessions: pa.RecordBatch
    counts: Counter
    rows_of_file: Counter
    rejects: np.ndarray
    reject_reasons: np.ndarray


def query_counts(sessions: pa.RecordBatch) -> np.ndarray:
    """The number of queries per session."""
    return np.diff(sessions["queries"].offsets.to_numpy())


def find_sessions(batches: Iterable[pa.RecordBatch], rules: Rules) -> Iterator[SessionBatch]:
    """The sessions in sorted rows."""
    is_blocked = block_list(rules.block_list, rules.characters)
    for rows in whole_users(batches):
        yield _sessions_of(rows, rules, is_blocked)


def whole_users(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The same rows, in chunks that split no user."""
    waiting: List[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        who = batch.column("who")
        # Sorted by user: rows of the batch's last user are at its end.
        end = batch.num_rows
        if who[-1].is_valid:
            end = int(np.argmax(_numpy(pc.fill_null(pc.equal(who, who[-1]), False))))
        if end:
            yield pa.Table.from_batches([*waiting, batch.slice(0, end)]).combine_chunks()
            waiting = []
        elif waiting and not _same(waiting[-1].column("who")[-1], who[0]):
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting = []
        if end < batch.num_rows:
            waiting.append(batch.slice(end))
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def _same(a: pa.Scalar, b: pa.Scalar) -> bool:
    return a.as_py() == b.as_py()


def _sessions_of(rows: pa.Table, rules: Rules, is_blocked: Callable[[str], bool]) -> SessionBatch:
    reason = _numpy(rows["reason"])
    place = _numpy(rows["place"])
    counts: Counter = Counter({LINES: rows.num_rows})
    _count(counts, reason[reason != KEPT])
    faulty = (reason != KEPT) & (reason < Reason.HEADER)
    is_row = (reason == KEPT) | (reason > Reason.HEADER)
    rows_of_file = Counter(dict(zip(*_unique(file_of(place[is_row])))))
    issued = rows.filter(pa.array(reason == KEPT)) if (reason != KEPT).any() else rows
    sessions = _sessions_of_issued(issued, rules, is_blocked, counts)
    return SessionBatch(sessions, counts, rows_of_file, place[faulty], reason[faulty])


def _sessions_of_issued(
    rows: pa.Table, rules: Rules, is_blocked: Callable[[str], bool], counts: Counter
) -> pa.RecordBatch:
    if not rows.num_rows:
        return _empty()
    who, query = rows["who"].combine_chunks(), rows["query"].combine_chunks()
    seconds, place = _numpy(rows["seconds"]), _numpy(rows["place"])

    same_user = ~_differs_from_above(who)
    pause = np.diff(seconds, prepend=seconds[0])
    moved_up = np.diff(place, prepend=place[0]) < 0
    same_file = np.diff(file_of(place), prepend=file_of(place[0])) == 0
    counts[BACKWARDS] += int((same_user & (pause > 0) & moved_up & same_file).sum())

    opens = ~same_user | (pause >= _seconds(rules.gap_minutes))
    session = np.cumsum(opens) - 1
    start = seconds[opens]

    removed = _removal_reasons(rows, query, rules, is_blocked)
    click = same_user & (pause == 0) & ~_differs_from_above(query)
    removed[click] = Reason.CLICK
    left = np.flatnonzero(removed == KEPT)
    repeats = ~_differs_from_above(query.take(pa.array(left)))
    repeats[1:] &= session[left][1:] == session[left][:-1]
    removed[left[repeats]] = Reason.DUPLICATE

    asked = removed == KEPT
    queries_of_session = np.bincount(session[asked], minlength=len(start))
    fewest, most = rules.train_bounds
    short, long = queries_of_session < fewest, queries_of_session > most
    removed[asked & short[session]] = Reason.SHORT_SESSION
    removed[asked & long[session]] = Reason.LONG_SESSION
    _count(counts, removed[removed != KEPT])
    counts.update({FOUND: len(start), SHORT: int(short.sum()), LONG: int(long.sum())})

    # Sessions of any length can be the past of a later session.
    handed_on = queries_of_session > 0 if rules.past else ~short & ~long
    offsets = np.concatenate([[0], np.cumsum(queries_of_session[handed_on])]).astype(np.int32)
    left = pa.array(np.flatnonzero(asked & handed_on[session]))
    forms = one_form_each(rows["form"].combine_chunks(), click)
    return pa.record_batch(
        [
            who.take(pa.array(np.flatnonzero(opens)[handed_on])),
            pa.array(start[handed_on]),
            pa.ListArray.from_arrays(pa.array(offsets), query.take(left)),
            pa.ListArray.from_arrays(pa.array(offsets), forms.take(left)),
        ],
        schema=SCHEMA,
    )


def one_form_each(form: pa.Array, click: np.ndarray) -> pa.Array:
    """The forms; rows that are one query get the alphabetically first of their forms.

    Otherwise the result would depend on the order of rows in the log.

    Args:
        click: whether each row is a further click on the query above
    """
    mixed = click & _differs_from_above(form)
    if not mixed.any():
        return form
    first = np.flatnonzero(~click)
    end = np.append(first[1:], len(form))
    found = np.unique(np.searchsorted(first, np.flatnonzero(mixed), side="right") - 1)
    chosen = [
        min(form.slice(start, length).to_pylist())
        for start, length in zip(first[found].tolist(), (end - first)[found].tolist())
    ]
    mask = np.zeros(len(form), bool)
    mask[first[found]] = True
    return pc.replace_with_mask(form, pa.array(mask), pa.array(chosen, pa.string()))


def _seconds(minutes: float) -> int:
    """Minutes in seconds, rounded up; exact: as floats, 16.1 minutes are more than 966 seconds."""
    return ceil(Decimal(str(minutes)) * 60)


def _removal_reasons(
    rows: pa.Table, query: pa.Array, rules: Rules, is_blocked: Callable[[str], bool]
) -> np.ndarray:
    """Rule 4: the reason to remove each query from its session, or KEPT."""
    removed = np.full(len(query), KEPT, np.int8)
    if "users" in rows.column_names:
        removed[_numpy(rows["users"]) < rules.min_users] = Reason.RARE
    tokens = _numpy(pc.count_substring(query, " ")) + 1
    removed[tokens > rules.max_query_tokens] = Reason.LONG_QUERY
    if rules.block_list:
        distinct = query.dictionary_encode()
        blocked = np.array([is_blocked(text) for text in distinct.dictionary.to_pylist()], bool)
        removed[blocked[_numpy(distinct.indices)]] = Reason.BLOCKED
    return removed


def _differs_from_above(values: pa.Array) -> np.ndarray:
    """Whether each value differs from the one before; True for the first."""
    result = np.ones(len(values), bool)
    if len(values) > 1:
        result[1:] = _numpy(pc.not_equal(values.slice(1), values.slice(0, len(values) - 1)))
    return result


def _count(counts: Counter, reasons: np.ndarray) -> None:
    for reason, number in zip(*_unique(reasons)):
        counts[Reason(reason)] += number


def _unique(values: np.ndarray) -> Tuple[list, list]:
    found, numbers = np.unique(values, return_counts=True)
    return found.tolist(), numbers.tolist()


def _empty() -> pa.RecordBatch:
    return pa.record_batch([pa.array([], field.type) for field in SCHEMA], schema=SCHEMA)


def _numpy(values: Any) -> np.ndarray:
    if isinstance(values, pa.ChunkedArray):
        return values.to_numpy()
    return values.to_numpy(zero_copy_only=False)
