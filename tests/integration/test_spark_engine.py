"""A real Spark writes the same bytes as DuckDB and the reference."""

import gzip
import importlib.util
import os
import shutil
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
import reference_sessions
from optional_parts import need
from random_logs import ANY_LOG, NO_ROWS, Shape, a_log, log_files

from mtn_preprocess.errors import InputError
from mtn_preprocess.flags import Settings
from mtn_preprocess.preparation import prepare
from mtn_preprocess.rules import Rules
from mtn_preprocess.text.text_settings import CHARACTERS
from mtn_sample_log import LogWriter

MANIFEST = "manifest.json"  # names the engine


def why_not():
    """Why Spark cannot start here, or None."""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed"
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        return "no Java: neither `java` on the path nor JAVA_HOME"
    return None


@pytest.fixture(scope="module", autouse=True)
def spark_can_start():
    need("spark", why_not())


def packed(content, kind):
    if kind == "gz":
        return gzip.compress(content)
    return pa.compress(content, "zstd", asbytes=True) if kind == "zst" else content


def write_log(folder, contents, kinds=("", "gz", "zst")):
    """Write each file with another compression."""
    paths = []
    for number, (content, kind) in enumerate(zip(contents, kinds)):
        paths.append(folder / f"part{number}.tsv{'.' * bool(kind)}{kind}")
        paths[-1].write_bytes(packed(content, kind))
    assert len(paths) == len(contents)
    return list(map(str, paths))


def by_both(folder, paths, contents, rules):
    """Prepare with both engines, compare all files but the manifest; return Spark's files."""
    written = {}
    for engine in ("duckdb", "spark"):
        output = folder / engine
        how = {"engine": engine, "spark_master": "local[2]", "memory_limit": "1GiB", "users": True}
        assert prepare(Settings(paths, output, rules, **ANY_LOG, **how))["sessions"]["kept"] > 100
        written[engine] = {path.name: path.read_bytes() for path in output.iterdir()}
        del written[engine][MANIFEST]
    duckdb, spark = written["duckdb"], written["spark"]
    reference = reference_sessions.prepare(list(zip(paths, contents)), rules, users=True)
    assert spark.keys() == duckdb.keys() == {*reference.files, "stats.json"}
    for name in spark:  # one by one, so that pytest prints only the difference
        assert spark[name] == duckdb[name], name
        assert name == "stats.json" or spark[name] == reference.files[name], name
    return spark


def test_sample_log_in_three_compressions(tmp_path):
    """The command as a user runs it, with malformed lines."""
    lines = [row.line().rstrip("\n").encode() for row in LogWriter(seed=4).rows(300)]
    for number, line in enumerate(NO_ROWS):
        lines.insert(100 * number, line)
    contents = log_files(lines, Shape(seed=6, files=3, shuffled=True))
    paths = write_log(tmp_path, contents)
    rules = Rules(split=(Decimal(80), Decimal(10), Decimal(10)))
    spark = by_both(tmp_path, paths, contents, rules)
    assert spark["rejects.tsv"].count(b"\n") > 20
    assert len(set(spark["train.user"].split())) > 100


def test_a_misread_log_is_refused_by_both(tmp_path):
    """Even if its header has a backslash, which in Spark's SQL would escape the closing quote."""
    header = "uid;it's\\;ts\\"
    rows = [f"7;q{day};{3 if day % 2 else 13}/{day}/2006 16:01:20" for day in range(1, 29)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    errors = []
    for engine in ("duckdb", "spark"):
        with pytest.raises(InputError) as raised:
            prepare(
                Settings(
                    [str(path)],
                    tmp_path / engine,
                    columns=("uid", "it's\\", "ts\\"),
                    time_format="%m/%d/%Y %H:%M:%S",
                    engine=engine,
                    spark_master="local[2]",
                    memory_limit="1GiB",
                )
            )
        errors.append(str(raised.value))
    assert errors[0] == errors[1]
    assert errors[0].startswith(
        f"{path}:3: 14 of 28 rows are malformed: columns found, 14 unreadable times, first: "
        "'13/2/2006 16:01:20'; "
    )


@pytest.mark.parametrize("characters", CHARACTERS)
def test_unicode_with_every_rule(tmp_path, characters):
    """Words of many scripts, masks, block list, popularity, history, past, the year 1."""
    shape = Shape(seed=1, files=3, shuffled=True, line_end=b"\r\n")
    contents = a_log(11, 4000, shape, datetime(1, 1, 1))
    paths = write_log(tmp_path, contents)
    rules = Rules(
        gap_minutes=16.1,
        min_queries=3,
        min_users=2,
        block_list=("É b", "/^c [0-9]/", "madeupword0001"),
        characters=characters,
        mask_numbers=True,
        mask_emails=True,
        split=(Decimal(60), Decimal(20), Decimal(20)),
        split_by="time",
        history=3,
        train_queries=(2, 9),
        past=4,
    )
    spark = by_both(tmp_path, paths, contents, rules)
    assert b"<session>" in spark["test.session"]
    assert b"<session>" in spark["test.history"]
    assert b"<number>" in spark["train.whole"]
    assert b"<email>" in spark["train.whole"]
    assert (b"c++" in spark["train.whole"]) == (characters == "symbols")
    assert spark["display.tsv"].count(b"\n") > 3
