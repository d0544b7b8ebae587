"""For any bytes: one row per line, at its place, and no exception except InputError.

The read blocks and the maximum line length are made small, so that lines span blocks in every way.
"""

import csv
import gzip
import json
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from small_logs import aol_lines, prepared

from examples import examples
from mtn_preprocess import log_lines
from mtn_preprocess.errors import InputError
from mtn_preprocess.log_lines import Layout, Location, file_of, line_of, read_lines
from mtn_preprocess.reasons import KEPT, Reason

NAMES = ("u", "q", "t")
PIECES = [b"\n", b"\r\n", b"\r", b"\t", b",", b'"', b'""', b"\0", b"\xff", b"\xc3", b"\xa9", b"a"]
PIECES += ["é".encode(), "日".encode(), b"\xef\xbb\xbf", b" ", b"a,b,c", b'"a,""b",c,d', b"xxxxxxx"]
PIECES += [b"{}", b'{"u": 1, "q": "\\u00e9\\t", "t": null}', b'{"u": [1.0, "\\ud800"]}', b"1e999"]
FILES = st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=25).map(b"".join)
PLAIN_FILES = FILES.filter(lambda data: data[:2] != b"\x1f\x8b")  # others would be gzip


def read(data, kind, block, longest, number=0, pack=bytes):
    with tempfile.TemporaryDirectory() as folder, mock.patch.multiple(
        log_lines, _BLOCK=block, MAX_LINE=longest
    ):
        path = Path(folder, "log")
        path.write_bytes(pack(data))
        told = []
        batches = read_lines(
            Location(number, str(path)), Layout(kind, NAMES), lambda *n: told.append(n)
        )
        rows = [row for batch in batches for row in batch.to_pylist()]
        assert sum(n for n, _ in told) <= path.stat().st_size
        assert sum(n for _, n in told) == len(rows)
    return rows


def lines_of(data):
    """The simplest possible implementation."""
    data = data[3:] if data[:3] == b"\xef\xbb\xbf" else data
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + [last] * bool(last)


def expected_row(line, kind, longest):
    """The fault of a line, or its text; one line at a time, without arrays."""
    if len(line) > longest:
        return Reason.LONG_LINE, None
    try:
        text = line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        return Reason.NOT_UTF8, None
    if "\0" in text:
        return Reason.NUL, None
    if kind == "csv":
        return expected_csv(text)
    if kind == "jsonl":
        return expected_json(text)
    return KEPT, text


def expected_csv(text):
    if '"' not in text:
        return KEPT, text.replace("\t", " ").replace(",", "\t")
    try:
        (fields,) = csv.reader([text.replace("\t", " ").replace("\r", " ")], strict=True)
    except csv.Error:
        return Reason.QUOTES, None
    return KEPT, "\t".join(fields)


def expected_json(text):
    try:
        fields = json.loads(text)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        return Reason.NOT_JSON, None
    values = [fields.get(name) for name in NAMES]
    texts = ["" if v is None else v if isinstance(v, str) else json.dumps(v) for v in values]
    return KEPT, "\t".join(text.replace("\t", " ") for text in texts)


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl"])
@given(data=PLAIN_FILES, block=st.integers(1, 64), longest=st.integers(1, 64))
@example(data=b"\xef\xbb\xbf", block=1, longest=1)
@example(data=b"\xef\xbb\xbfa\tb", block=1, longest=64)
@example(data=b"aaaa\n\xff\n" * 3, block=2, longest=3)
@example(data=b"aaa\0" * 9 + b"\nb\n", block=8, longest=9)
@example(data=b'a,"b\nc",d\n', block=3, longest=9)
@example(data=b"{}\n\xef\xbb\xbf{}\n", block=3, longest=9)
@examples(200)
def test_one_row_per_line_for_any_blocks(kind, data, block, longest):
    rows = read(data, kind, block, longest, number=5)
    lines = lines_of(data)
    assert [line_of(row["place"]) for row in rows] == list(range(1, len(lines) + 1))
    assert {file_of(row["place"]) for row in rows} <= {5}
    found = [(row["fault"], row["text"]) for row in rows]
    assert found == [expected_row(line, kind, longest) for line in lines]


@given(data=PLAIN_FILES, block=st.integers(1, 64))
@examples(30)
def test_compression_changes_nothing(data, block):
    plain = read(data, "tsv", block, 20)
    assert read(data, "tsv", block, 20, pack=gzip.compress) == plain
    cut = len(data) // 2
    assert plain == read(
        data, "tsv", block, 20, pack=lambda d: gzip.compress(d[:cut]) + gzip.compress(d[cut:])
    )


ROWS = st.lists(
    st.sampled_from([(line + "\n").encode() for line in aol_lines()]) | FILES, max_size=12
).map(b"".join)
NAMES_OF_FILES = ["log.txt", "log.csv", "log.jsonl", "log.parquet", "log.txt.gz"]
FLAGS = [
    [],
    ["--user-column", "u", "--query-column", "q", "--time-column", "t", "--time-format", "iso"],
    ["--user-column", 1, "--query-column", 2, "--time-column", 3],
]


@pytest.mark.parametrize("name", NAMES_OF_FILES)
@given(data=ROWS, flags=st.sampled_from(FLAGS), block=st.integers(1, 64))
@example(data=b"u\tq\tt\nx\ty\tz\n", flags=FLAGS[1], block=64)  # an invalid time
@example(data=b"\xef\xbb\xbf", flags=[], block=1)
@example(data=b"\x1f\x8b", flags=[], block=1)
@example(data=b"PAR1", flags=[], block=1)
@example(data=gzip.compress(b""), flags=[], block=1)
@examples(40)
def test_the_command_prepares_the_log_or_reports_why_not(name, data, flags, block):
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(log_lines, "_BLOCK", block):
        path = Path(folder, name)
        path.write_bytes(data)
        try:
            result = prepared(Path(folder), path, "--min-queries", 2, "--max-queries", 9, *flags)
        except InputError as error:
            assert "\n" not in str(error) and error.reason and error.remedy
            assert [each.name for each in Path(folder).iterdir()] == [name]
            return
    lines, rows = result.stats["lines"], result.stats["rows"]
    assert lines["read"] == len(lines_of(data))
    assert lines["read"] == lines["header"] + len(result.rejects) + rows["read"]
    assert rows["read"] == rows["kept"] + sum(rows["removed"].values())


@pytest.mark.parametrize("kind", ["gzip", "zstd", "parquet"])
@given(data=st.data())
@examples(40)
def test_a_damaged_file(kind, data):
    """Truncated anywhere, or with wrong bytes anywhere."""
    whole = damageable(kind)
    cut = data.draw(st.integers(1, len(whole) - 1))
    if data.draw(st.booleans()):
        damaged = whole[:cut]
    else:
        other = data.draw(st.binary(min_size=1, max_size=8))
        damaged = whole[:cut] + other + whole[cut + len(other) :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.parquet" if kind == "parquet" else "log.txt")
        path.write_bytes(damaged)
        try:
            prepared(Path(folder), path)
        except InputError as error:
            assert "\n" not in str(error)
            assert [each.name for each in Path(folder).iterdir()] == [path.name]
        else:  # zstandard without a checksum, a byte of a time stamp
            assert len(damaged) >= len(whole)


def damageable(kind):
    import pyarrow as pa
    import pyarrow.parquet

    lines = aol_lines() * 5
    if kind != "parquet":
        text = "".join(f"{line}\n" for line in lines).encode()
        return (
            gzip.compress(text, mtime=0)
            if kind == "gzip"
            else pa.compress(text, "zstd").to_pybytes()
        )
    columns = list(zip(*(line.split("\t")[:3] for line in lines)))
    sink = pa.BufferOutputStream()
    table = pa.table(list(map(pa.array, columns)), ["AnonID", "Query", "QueryTime"])
    pa.parquet.write_table(table, sink, write_page_checksum=True)
    return sink.getvalue().to_pybytes()
