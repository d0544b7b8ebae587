"""The Spark engine, for logs too large for one machine. Same SQL, same rules, same bytes.

Workers read the files, one task per file. So the log should consist of many files on a disk that
all workers can read. Workers need Python, numpy and pyarrow; Spark sends them this package.
"""

import logging
import os
import re
import sys
import zipfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

from mtn_preprocess import row_query, spark_worker
from mtn_preprocess.engines import Engine
from mtn_preprocess.errors import InputError
from mtn_preprocess.log_files import Log
from mtn_preprocess.log_lines import checksum
from mtn_preprocess.log_times import time_reader
from mtn_preprocess.progress import Progress
from mtn_preprocess.rules import Rules
from mtn_preprocess.sessions import SessionBatch
from mtn_preprocess.text.display_forms import display_form
from mtn_preprocess.text.typed_queries import QueryReader

_SQL_FUNCTIONS = [
    "fields(t STRING) RETURNS ARRAY<STRING> RETURN split(t, chr(9))",
    "field(parts ARRAY<STRING>, n INT) RETURNS STRING RETURN get(parts, n - 1)",
    "width(parts ARRAY<STRING>) RETURNS INT RETURN size(parts)",
    "words(t STRING) RETURNS STRING RETURN trim(regexp_replace(lower(t), '[^a-z0-9]+', ' '))",
    "lowered(t STRING) RETURNS STRING RETURN regexp_replace(lower(t), ' +', ' ')",
    "matches(t STRING, pattern STRING) RETURNS BOOLEAN RETURN regexp_like(t, pattern)",
    "moment_in_seconds(m TIMESTAMP, t STRING) RETURNS BIGINT RETURN "
    "CASE WHEN length(t) = 19 AND t >= '0001' AND CAST(m AS STRING) = t THEN unix_timestamp(m) END",
    "seconds(t STRING) RETURNS BIGINT RETURN moment_in_seconds(try_cast(t AS TIMESTAMP), t)",
]
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parser.escapedStringLiterals": "true",  # a backslash stays a backslash
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 17),
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
}
_LINES = "place BIGINT, text STRING, fault TINYINT"
_FOUND = "who STRING, start BIGINT, queries ARRAY<STRING>, forms ARRAY<STRING>, account STRING"


class SparkEngine(Engine):
    """Runs the work on a Spark cluster.

    Args:
        scratch: folder on this machine
        master: `local[*]`, `spark://host:7077`, `yarn`, …
        memory_limit: of the driver
    """

    def __init__(self, scratch: Path, master: str, memory_limit: str) -> None:
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise InputError(
                "Spark is not installed",
                "pip install 'pyspark>=4.0' 'pandas>=2.2' 'pyarrow>=18' tqdm",
            ) from None
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        logging.getLogger("py4j").setLevel(logging.WARNING)  # fairseq enables INFO for every logger
        builder = SparkSession.builder.master(master).appName("log_to_sessions")
        settings = {**_SETTINGS, "spark.driver.memory": _java_size(memory_limit)}
        if master.startswith("local"):
            if "," in str(scratch):
                reason = "a comma in its path, which Spark takes for several folders"
                raise InputError(reason, "choose another folder with --scratch", scratch.parent)
            settings["spark.local.dir"] = str(scratch)
        for name, value in settings.items():
            builder = builder.config(name, value)
        try:
            self._spark = builder.getOrCreate()
        except Exception as error:
            reason = f"Spark does not start ({str(error).splitlines()[0]})"
            raise InputError(
                reason, "Java 17 or later must be installed; see --spark-master"
            ) from None
        self._spark.sparkContext.addPyFile(str(_zipped_package(scratch)))
        for definition in _SQL_FUNCTIONS:
            self._spark.sql(f"CREATE OR REPLACE TEMPORARY FUNCTION {definition}")

    def checksums(self, log: Log) -> List[str]:
        locations = [file.location for file in log.files]
        parallel = self._spark.sparkContext.parallelize(locations, len(locations))
        return parallel.map(checksum).collect()

    def sessions(self, log: Log, rules: Rules, progress: Progress) -> Iterator[SessionBatch]:
        functions: Dict[str, Callable[[str], str]] = {
            "read_query": QueryReader(rules.text),
            "read_form": display_form,
            "read_time": time_reader(log.time_format),
        }
        for name, function in functions.items():
            self._spark.udf.register(name, spark_worker.OfText(function))
        self._lines(log).createOrReplaceTempView("lines")
        rows = self._spark.sql(row_query.rows(log, rules))
        if rules.min_users > 1:
            rows.persist().createOrReplaceTempView("all_rows")
            rows = self._spark.sql(row_query.rows_and_popularity("all_rows"))
        # Range partitions by user: no user is split, and the partitions are in order.
        parts = max(self._spark.sparkContext.defaultParallelism, rows.rdd.getNumPartitions())
        ordered = rows.repartitionByRange(parts, "who").sortWithinPartitions(*row_query.ORDER)
        found = ordered.mapInArrow(spark_worker.Finder(rules), _FOUND)
        try:
            yield from spark_worker.unpacked(found.toLocalIterator())
        except Exception as error:
            damaged = re.search(r"Damaged: (.*)", str(error))
            if damaged:
                raise InputError(damaged[1], "fetch the file again, or leave it out") from None
            raise

    def close(self) -> None:
        self._spark.stop()

    def _lines(self, log: Log) -> Any:
        files = self._spark.createDataFrame(
            [tuple(file.location) for file in log.files], "number INT, address STRING"
        )
        return files.repartition(len(log.files), "number").mapInArrow(
            spark_worker.Reader(log.layout), _LINES
        )


def _java_size(size: str) -> str:
    """`2GiB` in Java's notation: `2g`."""
    match = re.fullmatch(r"([0-9]+) *([KMGT])(i?B)?", size, re.IGNORECASE)
    if not match:
        raise InputError(f"{size!r} is no size", "say --memory-limit as 512MiB or 2GiB")
    return match[1] + match[2].lower()


def _zipped_package(folder: Path) -> Path:
    """This package as a zip file for the workers."""
    package = Path(__file__).parents[1]
    archive = folder / "mtn_preprocess.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for path in sorted(package.rglob("*.py")):
            zipped.write(path, Path("mtn_preprocess") / path.relative_to(package))
    return archive
