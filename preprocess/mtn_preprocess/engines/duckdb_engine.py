"""The DuckDB engine: in this process, on all cores, spilling to disk at its memory limit."""

from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional

import pyarrow as pa

from mtn_preprocess import log_lines, row_query
from mtn_preprocess.engines import Engine
from mtn_preprocess.errors import InputError
from mtn_preprocess.log_files import Log
from mtn_preprocess.log_times import time_reader
from mtn_preprocess.progress import Progress
from mtn_preprocess.rules import Rules
from mtn_preprocess.sessions import SessionBatch, find_sessions
from mtn_preprocess.text.display_forms import display_form
from mtn_preprocess.text.typed_queries import QueryReader

_ROWS = 1 << 19  # per batch of sorted rows

_SQL_FUNCTIONS = """
CREATE MACRO fields(t) AS string_split(t, chr(9));
CREATE MACRO field(parts, n) AS parts[n];
CREATE MACRO width(parts) AS len(parts);
CREATE MACRO words(t) AS
    CASE WHEN regexp_full_match(t, '[a-z0-9]+( [a-z0-9]+)*') THEN t
         ELSE trim(regexp_replace(lower(t), '[^a-z0-9]+', ' ', 'g')) END;
CREATE MACRO lowered(t) AS
    CASE WHEN t LIKE '%  %' THEN regexp_replace(lower(t), ' +', ' ', 'g') ELSE lower(t) END;
CREATE MACRO matches(t, pattern) AS regexp_matches(t, pattern);
CREATE MACRO moment_in_seconds(m, t) AS
    CASE WHEN length(t) = 19 AND t >= '0001' AND CAST(m AS VARCHAR) = t
         THEN CAST(epoch(m) AS BIGINT) END;
CREATE MACRO seconds(t) AS moment_in_seconds(try_cast(t AS TIMESTAMP), t);
"""


class DuckDBEngine(Engine):
    """Reads and sorts rows with DuckDB, and yields sessions.

    Args:
        scratch: folder for data that does not fit into memory
        memory_limit: of DuckDB, such as `2GiB`; Python and the batches in flight need more
        threads: maximum number; default: all cores
    """

    def __init__(
        self, scratch: Path, memory_limit: str = "2GiB", threads: Optional[int] = None
    ) -> None:
        try:
            import duckdb
        except ImportError:
            raise InputError(
                "DuckDB is not installed", "pip install 'duckdb>=1.5' 'pyarrow>=15' tqdm"
            ) from None
        self._duckdb = duckdb
        settings: Dict[str, Any] = {
            "temp_directory": str(scratch),
            "preserve_insertion_order": False,  # the order comes from ORDER BY
            "memory_limit": memory_limit,
            **({"threads": threads} if threads else {}),
        }
        try:
            self._connection = duckdb.connect(config=settings)  # as values, never as parts of SQL
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise InputError(reason, "see --memory-limit and --threads") from None
        for statement in filter(str.strip, _SQL_FUNCTIONS.split(";")):
            self._connection.execute(statement)

    def checksums(self, log: Log) -> List[str]:
        return [log_lines.checksum(file.location) for file in log.files]

    def sessions(self, log: Log, rules: Rules, progress: Progress) -> Iterator[SessionBatch]:
        """All sessions of a log, sorted by user and start."""
        functions = {
            "read_query": QueryReader(rules.text).__call__,
            "read_form": display_form,
            "read_time": time_reader(log.time_format),
        }
        for name, function in functions.items():
            self._connection.create_function(name, function, ["VARCHAR"], "VARCHAR")
        yield from find_sessions(self._sorted_rows(log, rules, progress), rules)

    def close(self) -> None:
        self._connection.close()

    def _sorted_rows(self, log: Log, rules: Rules, progress: Progress) -> Iterator[pa.RecordBatch]:
        failure: List[Exception] = []
        lines = _keep_error(_all_lines(log, progress), failure)
        self._connection.register(
            "lines", pa.RecordBatchReader.from_batches(log_lines.SCHEMA, lines)
        )
        query = row_query.rows(log, rules)
        try:
            if rules.min_users > 1:
                self._connection.execute(f"CREATE TABLE all_rows AS {query}")
                query = row_query.rows_and_popularity("all_rows")
            yield from self._connection.sql(row_query.in_order(query)).to_arrow_reader(_ROWS)
        except Exception as error:
            if failure:  # the reader's own error, not DuckDB's version of it
                raise failure[0] from None
            if isinstance(error, self._duckdb.OutOfMemoryException):
                reason = str(error).splitlines()[0]
                raise InputError(reason, "raise --memory-limit, or lower --threads") from None
            raise


def _all_lines(log: Log, progress: Progress) -> Iterator[pa.RecordBatch]:
    with progress.reading(log.size) as watch:
        for file in log.files:
            yield from log_lines.read_lines(file.location, log.layout, watch)


def _keep_error(batches: Iterable, failure: List[Exception]) -> Iterator:
    """Yield the same batches; keep the error that ends them."""
    try:
        yield from batches
    except log_lines.Damaged as error:
        remedy = "fetch the file again, or leave it out"
        failure.append(InputError(error.reason, remedy, error.address))
        raise
