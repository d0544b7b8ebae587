"""The code that runs on Spark's workers, sent with this package; no fairseq there."""

import json
from collections import Counter
from typing import Callable, Iterable, Iterator, List, Optional

import numpy as np
import pyarrow as pa

from mtn_preprocess.log_lines import Layout, Location, read_lines
from mtn_preprocess.reasons import Reason
from mtn_preprocess.rules import Rules
from mtn_preprocess.sessions import SCHEMA, SessionBatch, find_sessions

# Each row is a session or, after all sessions of a batch, the counts of that batch.
FOUND = SCHEMA.append(pa.field("account", pa.string()))


class Reader:
    """File addresses -> the lines of the files."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file in batch.to_pylist():
                yield from read_lines(Location(**file), self.layout)


class Finder:
    """Sorted rows -> sessions and counts, as rows of `FOUND`."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for found in find_sessions(batches, self.rules):
            no_account = pa.nulls(found.sessions.num_rows, pa.string())
            yield pa.record_batch([*found.sessions.columns, no_account], schema=FOUND)
            account = {
                "counts": list(found.counts.items()),
                "rows_of_file": list(found.rows_of_file.items()),
                "rejects": found.rejects.tolist(),
                "reject_reasons": found.reject_reasons.tolist(),
            }
            no_session = [pa.nulls(1, field.type) for field in SCHEMA]
            yield pa.record_batch([*no_session, pa.array([json.dumps(account)])], schema=FOUND)


class OfText:
    """A text function for Spark, which also calls it for null."""

    def __init__(self, function: Callable[[str], Optional[str]]) -> None:
        self.function = function

    def __call__(self, text: Optional[str]) -> Optional[str]:
        return None if text is None else self.function(text)


def unpacked(rows: Iterable) -> Iterator[SessionBatch]:
    """Restore the batches from their rows on the driver."""
    sessions: List[tuple] = []
    for *session, packed in rows:
        if packed is None:
            sessions.append(tuple(session))
            continue
        account = json.loads(packed)
        columns = list(zip(*sessions)) or [()] * len(SCHEMA)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA)]
        yield SessionBatch(
            pa.record_batch(arrays, schema=SCHEMA),
            Counter({Reason(k) if isinstance(k, int) else k: n for k, n in account["counts"]}),
            Counter(dict(account["rows_of_file"])),
            np.array(account["rejects"], np.int64),
            np.array(account["reject_reasons"], np.int8),
        )
        sessions = []
