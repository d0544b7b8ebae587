"""The same log in every format, compression and location gives the same session text."""

import csv
import gzip
import io
import json
from datetime import timedelta, timezone

import pyarrow as pa
import pyarrow.parquet
import pytest
from small_logs import BY_NAME, ROWS, SESSIONS, aol_lines, aol_log, lines, malformed, prepared

from mtn_preprocess.log_times import time_reader

SPLIT = "50,50,0"  # a hash of user and second, so both must be read exactly


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected")
    (folder / "log.txt").write_bytes(aol_log())
    files = prepared(folder, folder / "log.txt", split=SPLIT).files
    assert files["train.next"] and files["valid.next"]
    assert set(files["train.whole"].decode().splitlines()) < set(SESSIONS)
    return files


def test_what_the_log_says(tmp_path):
    (tmp_path / "log.txt").write_bytes(aol_log())
    result = prepared(tmp_path, tmp_path / "log.txt")
    assert result.sessions == SESSIONS
    assert result.stats["lines"] == {
        "read": 19,
        "header": 1,
        "malformed": dict.fromkeys(result.stats["lines"]["malformed"], 0),
    }
    assert result.stats["rows"]["removed"]["blank query"] == 2
    assert result.stats["rows"]["removed"]["no letter or digit"] == 2


@pytest.fixture
def same(tmp_path, expected):
    """Checks that a file with these flags gives the expected text and rejects nothing."""

    def check(name, data, *flags, number_of_rejects=0):
        (tmp_path / name).write_bytes(data)
        result = prepared(tmp_path, tmp_path / name, *flags, split=SPLIT)
        assert result.files == expected
        assert len(result.rejects) == number_of_rejects

    return check


# --- text ----------------------------------------------------------------------------------------


def test_aol_without_header_and_without_clicks(same):
    same("log.txt", lines(*aol_lines()))
    same("three.txt", lines(*(line[:-2] for line in aol_lines())))


def test_line_ends(same):
    same("dos.txt", aol_log().replace(b"\n", b"\r\n"))
    same("last.txt", aol_log()[:-1])
    same("mark.txt", b"\xef\xbb\xbf" + aol_log())


def test_several_clicks_on_one_query(same):
    """Rows with the same user, time and query are one query."""
    clicks = [line[:-1] + f"{n}\thttp://{n}.example.com" for line in aol_lines() for n in (1, 2)]
    same("log.txt", lines(*clicks))


def test_tsv_with_other_names_in_another_order(same):
    rows = [f"{row.query}\tx\t{row.clock}\t{row.user}" for row in ROWS]
    same("log.tsv", lines("q\tother\tts\tuid", *rows), *BY_NAME)


@pytest.mark.parametrize("header", ["it's", 'say "q"', "back\\slash", "naïve", "a b", "50 %"])
def test_names_of_columns(same, header):
    rows = [f"{row.user}\t{row.query}\t{row.clock}" for row in ROWS]
    flags = ["--user-column", "uid", "--query-column", header, "--time-column", "ts"]
    same("log.tsv", lines(f"uid\t{header}\tts", *rows), *flags)


def test_columns_by_number(same):
    rows = [f"x\t{row.clock}\t{row.query}\t{row.user}" for row in ROWS]
    flags = ["--user-column", 4, "--query-column", 3, "--time-column", 2]
    same("log.tsv", lines(*rows), *flags)
    # A header is then a malformed row.
    same("headed.tsv", lines("x\tts\tq\tuid", *rows), *flags, number_of_rejects=1)


def csv_log(**options):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", **options)
    writer.writerow(["uid", "q", "ts"])
    writer.writerows((row.user, row.query, row.clock) for row in ROWS)
    return text.getvalue().encode("utf-8")


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
def test_csv(same, quoting):
    same("log.csv", csv_log(quoting=quoting), *BY_NAME)
    same("dos.csv", csv_log(quoting=quoting).replace(b"\n", b"\r\n"), *BY_NAME)


def test_csv_tabs_and_returns_are_spaces(same):
    data = csv_log(quoting=csv.QUOTE_ALL).replace(b"pizza,", b"pizza\t\r,")
    assert b"\t\r" in data
    same("log.csv", data, *BY_NAME)
    same("bare.csv", csv_log().replace(b"one,", b'one\t"\r,'), *BY_NAME)


@pytest.mark.parametrize("ascii_only", [True, False])
def test_jsonl(same, ascii_only):
    rows = [{"ts": row.clock, "more": [1], "uid": row.user, "q": row.query} for row in ROWS]
    text = [json.dumps(row, ensure_ascii=ascii_only) for row in rows]
    same("log.jsonl", lines(*text), *BY_NAME)
    same("dos.ndjson", lines(*text).replace(b"\n", b"\r\n"), *BY_NAME)


def test_jsonl_fields_of_other_types_missing_and_null(same):
    rows = [{"uid": float(row.user), "q": row.query, "ts": float(row.epoch)} for row in ROWS]
    blank = next(i for i, row in enumerate(ROWS) if row.query == "")
    rows[blank]["q"] = None
    rows.append({key: value for key, value in rows[blank].items() if key != "q"})
    rows.append({"q": "no user", "ts": 1})
    rows.append({"uid": None, "q": "no user", "ts": 1})
    rows.append({"uid": 7, "q": "no time"})
    log = lines(*map(json.dumps, rows))
    same("log.json", log, *BY_NAME, "--time-format", "epoch", number_of_rejects=3)


# --- times ---------------------------------------------------------------------------------------

INDIA = timezone(timedelta(hours=5, minutes=30))


def aware(row):
    return row.time.replace(tzinfo=timezone.utc)


TIMES = {
    "epoch": (lambda row: row.epoch, "epoch"),
    "epoch with fraction": (lambda row: f"{row.epoch}.999", "epoch"),
    "epoch-ms": (lambda row: row.epoch * 1000 + 999, "epoch-ms"),
    "iso": (lambda row: row.time.isoformat(), "iso"),
    "iso with space": (lambda row: row.clock, "iso"),
    "iso with Z": (lambda row: row.time.isoformat() + "Z", "iso"),
    "iso with fraction": (lambda row: row.time.isoformat() + ".9999999", "iso"),
    "iso with comma": (lambda row: row.time.isoformat() + ",5z", "iso"),
    "iso with offset": (lambda row: aware(row).astimezone(INDIA).isoformat(), "iso"),
    "iso with short offset": (
        lambda row: aware(row).astimezone(INDIA).strftime("%Y-%m-%dT%H:%M:%S.25%z"),
        "iso",
    ),
    "strptime": (lambda row: row.time.strftime("%d/%b/%Y %I.%M.%S %p"), "%d/%b/%Y %I.%M.%S %p"),
    "strptime with zone": (
        lambda row: aware(row).astimezone(INDIA).strftime("%y%m%d:%H%M%S %z"),
        "%y%m%d:%H%M%S %z",
    ),
}


@pytest.mark.parametrize("case", TIMES)
def test_time_formats(same, case):
    write, time_format = TIMES[case]
    good = [f"{row.user}\t{row.query}\t{write(row)}" for row in ROWS]
    bad = ["7\tx\t", "7\tx\t2006-03-01 25:00:00", "7\tx\tsoon", "7\tx\t-1", "7\tx\t१"]
    flags = [*BY_NAME, "--time-format", time_format]
    same("log.tsv", lines("uid\tq\tts", *good, *bad), *flags, number_of_rejects=len(bad))


@pytest.mark.parametrize(
    "text",
    [
        "2006-3-01",
        "20060301",
        "2006-W09-3",
        "2006-02-30",
        "2006-03-01T10",
        "2006-03-01T24:00",
        "2006-03-01T10:00:60",
        "2006-03-01T10:00.+00",
        "2006-03-01T10:00+25",
        "2006-03-01T10:00+00:60",
        "0001-01-01T00:00+01",
        "9999-12-31T23:59-01",
    ],
)
def test_times_that_are_not_iso_in_any_python(text):
    assert time_reader("iso")(text) == ""
    assert time_reader("iso")("2006-03-01") == "2006-03-01 00:00:00"


# --- Parquet -------------------------------------------------------------------------------------


def parquet_log(user=None, query=None, time=None, **options):
    columns = {
        "ts": time if time is not None else pa.array([row.clock for row in ROWS]),
        "more": pa.array([[1]] * len(ROWS)),
        "q": query if query is not None else pa.array([row.query for row in ROWS]),
        "uid": user if user is not None else pa.array([row.user for row in ROWS]),
    }
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(pa.table(columns), sink, **options)
    return sink.getvalue().to_pybytes()


USERS = [row.user for row in ROWS]
QUERIES = [row.query or None for row in ROWS]
MOMENTS = [row.time + timedelta(microseconds=999_999) for row in ROWS]
PARQUET = {
    "int32 users": {"user": pa.array(USERS, pa.int32())},
    "uint64 users": {"user": pa.array(USERS, pa.uint64())},
    "double users": {"user": pa.array(USERS, pa.float64())},
    "text users": {"user": pa.array(map(str, USERS))},
    "decimal users": {"user": pa.array(USERS, pa.int64()).cast(pa.decimal128(20, 0))},
    "large_string": {"query": pa.array(QUERIES, pa.large_string())},
    "binary": {"query": pa.array(QUERIES).cast(pa.binary())},
    "dictionary": {"query": pa.array(QUERIES).dictionary_encode()},
    "timestamp[s]": {"time": pa.array([row.time for row in ROWS], pa.timestamp("s"))},
    "timestamp[ms]": {"time": pa.array(MOMENTS, pa.timestamp("us")).cast("timestamp[ms]", False)},
    "timestamp[us]": {"time": pa.array(MOMENTS, pa.timestamp("us"))},
    "timestamp[ns]": {"time": pa.array(MOMENTS, pa.timestamp("ns"))},
    "timestamp, UTC": {"time": pa.array(map(aware, ROWS), pa.timestamp("us", "UTC"))},
    # In this night local time skips an hour.
    "timestamp, Berlin": {"time": pa.array(map(aware, ROWS), pa.timestamp("us", "Europe/Berlin"))},
}


@pytest.mark.parametrize("case", PARQUET)
def test_parquet(same, case):
    same("log.parquet", parquet_log(**PARQUET[case]), *BY_NAME)


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string()])
@pytest.mark.parametrize(("factor", "time_format"), [(1, "epoch"), (1000, "epoch-ms")])
def test_parquet_epoch(same, kind, factor, time_format):
    seconds = pa.array([row.epoch * factor for row in ROWS]).cast(kind)
    same("log.pq", parquet_log(time=seconds), *BY_NAME, "--time-format", time_format)


@pytest.mark.parametrize("packing", ["none", "gzip", "zstd", "snappy"])
def test_parquet_packed_and_in_groups(same, packing):
    same("log.parquet", parquet_log(compression=packing, row_group_size=2), *BY_NAME)


# --- compression and places ----------------------------------------------------------------------


def zstd(data):
    return pa.compress(data, codec="zstd", asbytes=True)


def test_compressed_by_content_not_by_name(same):
    same("log.txt.gz", gzip.compress(aol_log()))
    same("log.txt", gzip.compress(aol_log()))
    same("log.txt.zst", zstd(aol_log()))
    same("log", zstd(aol_log()))
    same("plain.txt.gz", aol_log())
    same("log.CSV.GZ", gzip.compress(csv_log()), *BY_NAME)


def test_concatenated_members(same):
    data = aol_log()
    for pack, name in ((gzip.compress, "log.txt.gz"), (zstd, "log.txt.zst")):
        cuts = [0, 1, 50, 51, 300, len(data)]
        parts = [pack(data[start:end]) for start, end in zip(cuts, cuts[1:])]
        same(name, b"".join(parts))


@pytest.fixture
def collection(tmp_path):
    """As published: files (here two) with a header each, and a README."""
    folder = tmp_path / "AOL user-ct's [collection] 100% ü"
    folder.mkdir()
    rows = aol_lines()
    for number, part in enumerate([rows[:9], rows[9:]]):
        data = lines("AnonID\tQuery\tQueryTime\tItemRank\tClickURL", *part)
        name = f"user-ct-test-collection-0{number + 1}.txt.gz"
        (folder / name).write_bytes(gzip.compress(data))
    (folder / "U500k_README.txt").write_text("This is no log.\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n")
    (folder / ".hidden.txt").write_text("x")
    (folder / "more").mkdir()
    return folder


def test_a_folder(collection, tmp_path, expected):
    result = prepared(tmp_path, collection, split=SPLIT)
    assert result.files == expected and not result.rejects
    assert result.stats["lines"]["header"] == 2
    assert prepared(tmp_path, f"{collection}/", split=SPLIT).files == expected


def test_addresses_of_a_folder_and_of_files(collection, tmp_path, expected):
    assert "%20" in collection.as_uri() and "%25" in collection.as_uri()
    assert prepared(tmp_path, collection.as_uri(), split=SPLIT).files == expected
    files = sorted(collection.glob("user*.gz"))
    addresses = [files[0].as_uri(), files[1]]
    assert prepared(tmp_path, *addresses, split=SPLIT).files == expected
    files[0].rename(collection / "a b%20#?.txt.gz")
    assert prepared(tmp_path, collection.as_uri(), split=SPLIT).files == expected


@pytest.mark.parametrize("pattern", ["AOL*/user*", "**/*.txt*", "AOL*/*[0-9].txt.gz"])
def test_a_pattern(collection, tmp_path, expected, pattern):
    assert prepared(tmp_path, tmp_path / pattern, split=SPLIT).files == expected


def test_headers_in_the_middle_and_files_without(tmp_path, expected):
    """People concatenate and cut the published files."""
    rows = aol_lines()
    first = lines(*rows[:5], "AnonID\tQuery\tQueryTime\tItemRank\tClickURL", *rows[5:9])
    (tmp_path / "1.txt").write_bytes(first)
    (tmp_path / "2.txt").write_bytes(lines("AnonID\tQuery\tQueryTime", *rows[9:]))
    result = prepared(tmp_path, tmp_path / "1.txt", tmp_path / "2.txt", split=SPLIT)
    assert result.files == expected and not malformed(result)
    assert result.stats["lines"]["header"] == 2
    short, long = "AnonID\tQuery\tQueryTime", "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"
    (tmp_path / "3.txt").write_bytes(lines(short, *rows[:9], long, *rows[9:]))
    result = prepared(tmp_path, tmp_path / "3.txt", split=SPLIT)
    assert result.files == expected and not malformed(result)


def test_headers_that_differ_in_unused_columns(tmp_path, expected):
    for name, part, header in (("1", ROWS[:9], "uid,q,ts,one"), ("2", ROWS[9:], "uid,q,ts,two")):
        text = io.StringIO()
        csv.writer(text).writerows((row.user, row.query, row.clock, "") for row in part)
        (tmp_path / f"{name}.csv").write_text(f"{header}\n{text.getvalue()}", encoding="utf-8")
    result = prepared(tmp_path, tmp_path / "?.csv", *BY_NAME, split=SPLIT)
    assert result.files == expected and not malformed(result)
