"""The engines that read and sort: DuckDB on one machine, Spark on many. Both run `row_query`."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Iterator, List

from mtn_preprocess.log_files import Log
from mtn_preprocess.progress import Progress
from mtn_preprocess.rules import Rules
from mtn_preprocess.sessions import SessionBatch

if TYPE_CHECKING:
    from mtn_preprocess.flags import Settings


class Engine:
    """The interface of an engine."""

    def checksums(self, log: Log) -> List[str]:
        """SHA-256 of each file of a log."""
        raise NotImplementedError

    def sessions(self, log: Log, rules: Rules, progress: Progress) -> Iterator[SessionBatch]:
        """All sessions of a log, sorted by user and start."""
        raise NotImplementedError

    def close(self) -> None:
        """Release the engine's resources."""


@contextmanager
def started_engine(settings: "Settings", scratch: Path) -> Iterator[Engine]:
    """The engine named in the settings."""
    engine: Engine
    if settings.engine == "spark":
        from mtn_preprocess.engines.spark_engine import SparkEngine

        engine = SparkEngine(scratch, settings.spark_master, settings.memory_limit)
    else:
        from mtn_preprocess.engines.duckdb_engine import DuckDBEngine

        engine = DuckDBEngine(scratch, settings.memory_limit, settings.threads)
    try:
        yield engine
    finally:
        engine.close()
