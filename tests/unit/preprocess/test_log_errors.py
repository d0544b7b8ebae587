"""Errors of logs that cannot be read: one line each, with a remedy and without queries."""

import gzip
import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet
import pytest
from small_logs import BY_NAME, aol_log, lines, prepared

from mtn_preprocess.errors import InputError
from mtn_preprocess.flags import settings_from

SECRET = "my secret query"
SEE = "see --user-column, --query-column, --time-column, --format"
SEE_TEXT = f"{SEE}, --delimiter: names, or numbers from 1"
UNREADABLE = "check that the file is complete, readable and in this --format"
NOT_ONE = "not one row of a search log"
EXPECTED = (
    "expected columns for user, query and time (AnonID, Query, QueryTime), the time as "
    "%Y-%m-%d %H:%M:%S: see --format, --delimiter, --user-column, --time-format"
)
NOT_A_LOG = f"{NOT_ONE}; {EXPECTED}"
LATIN_1 = "if it is Latin-1, convert it: iconv -f latin1 -t UTF-8"
UTF_16 = "if it is UTF-16, convert it: iconv -f UTF-16LE -t UTF-8"
ONE_PER_LINE = "write one object per line, for example with: jq -c"
ARRAY = f"a JSON array; {ONE_PER_LINE} '.[]'"
ROW = f"7\t{SECRET}\t2006-03-01 10:00:00"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0\xff\n\n"


def parquet(**columns):
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


GOOD_PARQUET = parquet(AnonID=[7], Query=[SECRET], QueryTime=["2006-03-01 10:00:00"])

# file name, content, flags -> the message after the address of the file
ERRORS = {
    "empty": ("log.txt", b"", [], "empty file; leave it out, or fetch it again"),
    "nothing, packed": (
        "log.gz",
        gzip.compress(b""),
        [],
        "empty file; leave it out, or fetch it again",
    ),
    "a mark and nothing": (
        "log.csv",
        b"\xef\xbb\xbf",
        [],
        "empty file; leave it out, or fetch it again",
    ),
    "a picture": ("picture.png", PNG, [], f":1: {NOT_ONE}: 2 lines: not UTF-8; {LATIN_1}"),
    "a picture, by name": (
        "picture.png",
        PNG,
        BY_NAME,
        f":1: not UTF-8; {LATIN_1}",
    ),
    "a README": (
        "README.txt",
        f"{SECRET}\n\nmore\n".encode(),
        [],
        f":1: {NOT_ONE}: 3 lines: wrong number of columns; {EXPECTED}",
    ),
    "a header alone": ("log.txt", lines("AnonID\tQuery\tQueryTime"), [], NOT_A_LOG),
    "JSON without objects": (
        "log.jsonl",
        b"[]\n1\n",
        [],
        f":1: {NOT_ONE}: 2 lines: not a JSON object; {ONE_PER_LINE} .; or see --format",
    ),
    "a JSON array": ("log.json", b'[{"AnonID": 7},\n{"AnonID": 8}]\n', [], ARRAY),
    "a JSON array on many lines": ("log.jsonl", b'\n[\n  {\n  "AnonID": 7\n}]\n', [], ARRAY),
    "Latin-1": (
        "log.csv",
        "AnonID,Query,QueryTime\n7,café,2006-03-01 10:00:00\n".encode("latin1"),
        [],
        f":2: {NOT_ONE}: 1 line: not UTF-8; {LATIN_1}",
    ),
    "Latin-1 in the header": (
        "log.csv",
        "uid,prénom,q,ts\n7,x,y,2006-03-01 10:00:00\n".encode("latin1"),
        BY_NAME,
        f":1: not UTF-8; {LATIN_1}",
    ),
    "UTF-16 that begins with other letters": (
        "log.csv",
        "яяяя,Query,QueryTime\n".encode("utf-16-le"),
        [],
        f":1: {NOT_ONE}: 2 lines: NUL byte; {UTF_16}",
    ),
    "the wrong format": (
        "log.csv",
        lines(ROW),
        ["--delimiter", ","],
        f":1: {NOT_ONE}: 1 line: wrong number of columns; {EXPECTED}",
    ),
    "another time": (
        "log.txt",
        lines(ROW),
        ["--time-format", "epoch"],
        f":1: {NOT_ONE}: columns found, 1 unreadable time, first: '2006-03-01 10:00:00'; pass "
        "--time-format 'iso'",
    ),
    "Parquet as text": ("log.txt", GOOD_PARQUET, [], "a Parquet file; say --format parquet"),
    "text as Parquet": (
        "log.parquet",
        aol_log(),
        [],
        "Parquet magic bytes not found in footer. Either the file is corrupted or this is not a "
        f"parquet file; {UNREADABLE}",
    ),
    "Parquet cut off": (
        "log.pq",
        GOOD_PARQUET[:-9],
        [],
        "Parquet magic bytes not found in footer. Either the file is corrupted or this is not a "
        f"parquet file; {UNREADABLE}",
    ),
    "gzip cut off": (
        "log.txt.gz",
        gzip.compress(aol_log())[:-9],
        [],
        f"Truncated compressed stream; {UNREADABLE}",
    ),
    "zstandard cut off": (
        "log.txt.zst",
        pa.compress(aol_log(), "zstd", asbytes=True)[:-9],
        [],
        f"Truncated compressed stream; {UNREADABLE}",
    ),
    "gzip and more": (
        "log.txt.gz",
        gzip.compress(aol_log()) + b"more",
        [],
        f"zlib inflate failed: incorrect header check; {UNREADABLE}",
    ),
    "no such name in TSV": (
        "log.tsv",
        lines(ROW),
        BY_NAME,
        f"its first line names no column 'uid' (it has 3 between tabs); {SEE_TEXT}",
    ),
    "one of AOL's names missing": (
        "log.tsv",
        lines(f"AnonID\t{SECRET}\tQueryTime"),
        [],
        "its first line names no column 'Query' (it has 3 between tabs: 'AnonID', "
        "'QueryTime' and 1 more); "
        f"{SEE_TEXT}",
    ),
    "no such name in CSV": (
        "log.csv",
        lines(f'uid,"{SECRET}",ts'),
        BY_NAME,
        f"its first line names no column 'q' (it has 3 between ',': 'uid', 'ts' and 1 more); "
        f"{SEE_TEXT}",
    ),
    "no such name in JSON": (
        "log.json",
        lines(json.dumps({"uid": 1, "ts": 1, SECRET: 1})),
        BY_NAME,
        f"no line has a field 'q'; there are: 'ts', 'uid' and 1 more; {SEE}",
    ),
    "no such name in Parquet": (
        "log.parquet",
        GOOD_PARQUET,
        BY_NAME,
        f"no column 'uid'; there are: 'AnonID', 'Query', 'QueryTime'; {SEE}",
    ),
    "no such number": (
        "log.tsv",
        lines(ROW),
        ["--user-column", 1, "--query-column", 4, "--time-column", 3],
        f"no column 4: its first line has 3; {SEE}, --delimiter",
    ),
    "numbers and names": (
        "log.tsv",
        lines("uid\tq\tts"),
        ["--user-column", 1, *BY_NAME[2:]],
        f"its first line names no column '1' (it has 3 between tabs: 'uid', 'q', 'ts'); {SEE_TEXT}",
    ),
    "a name twice in TSV": (
        "log.tsv",
        lines("uid\tq\tts\tq"),
        BY_NAME,
        "column 'q' is there twice; rename one of them",
    ),
    "a Parquet column of lists": (
        "log.parquet",
        parquet(AnonID=[7], Query=[[SECRET]], QueryTime=["x"]),
        [],
        "column 'Query' is of type list<element: string>; make it text or a number",
    ),
    "Parquet without rows": (
        "log.parquet",
        pa.parquet.read_table(pa.BufferReader(GOOD_PARQUET)).slice(1),
        [],
        NOT_A_LOG,
    ),
}


def error_of(folder, *arguments):
    """The error message; checks that it is one line and that nothing is left behind."""
    before = sorted(os.listdir(folder))
    with pytest.raises(InputError) as raised:
        prepared(folder, *arguments)
    message = str(raised.value)
    assert "\n" not in message and SECRET not in message
    assert sorted(os.listdir(folder)) == before
    return message


@pytest.mark.parametrize("case", ERRORS)
def test_errors(tmp_path, capsys, case):
    name, data, flags, expected = ERRORS[case]
    path = tmp_path / name
    if isinstance(data, pa.Table):
        pa.parquet.write_table(data, path)
    else:
        path.write_bytes(data)
    message = error_of(tmp_path, path, *flags)
    assert message == f"{path}{'' if expected.startswith(':') else ': '}{expected}"
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""  # only the error is printed


def test_a_name_twice_in_parquet(tmp_path):
    columns = [pa.array(["x"])] * 4
    table = pa.Table.from_arrays(columns, ["AnonID", "Query", "QueryTime", "Query"])
    pa.parquet.write_table(table, tmp_path / "log.parquet")
    expected = "column 'Query' is there twice; rename one of them"
    assert error_of(tmp_path, tmp_path / "log.parquet") == f"{tmp_path}/log.parquet: {expected}"


def test_gzip_damaged_far_from_its_beginning(tmp_path, monkeypatch):
    monkeypatch.setattr("mtn_preprocess.log_lines._BLOCK", 1 << 16)
    data = os.urandom(3 << 20).replace(b"\n", b"")  # incompressible: the damage is far away
    (tmp_path / "log.txt.gz").write_bytes(gzip.compress(aol_log() + data)[: -(1 << 20)])
    message = error_of(tmp_path, tmp_path / "log.txt.gz")
    reason = "Truncated compressed stream; fetch the file again, or leave it out"
    assert message == f"{tmp_path}/log.txt.gz: {reason}"


def test_parquet_with_other_bytes_in_a_page(tmp_path):
    """The file is readable but wrong: only the checksum reveals it."""
    table = pa.table({"AnonID": [7], "Query": ["paris"], "QueryTime": ["2006-03-01 10:00:00"]})
    path = tmp_path / "log.parquet"
    pa.parquet.write_table(
        table, path, write_page_checksum=True, compression="none", write_statistics=False
    )
    data = path.read_bytes()
    assert data.count(b"paris") == 1
    path.write_bytes(data.replace(b"paris", b"pariz"))
    expected = (
        "could not verify page integrity, CRC checksum verification failed for page_ordinal 0"
    )
    remedy = "fetch the file again, or leave it out"
    assert error_of(tmp_path, path) == f"{path}: {expected}; {remedy}"


# --- files ---------------------------------------------------------------------------------------


def test_addresses_without_a_file(tmp_path):
    path = tmp_path / "no log.txt"
    assert error_of(tmp_path, path) == f"{path}: no such file; check the path of the log"
    pattern = tmp_path / "*.gz"
    assert error_of(tmp_path, pattern) == f"{pattern}: no file fits this pattern; check it"
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "U500k_README.txt").write_text("no log")
    assert error_of(tmp_path, tmp_path / "empty") == (
        f"{tmp_path}/empty: no logs in this folder; name them: of a folder, files that end with "
        ".tsv, .txt, .csv, .jsonl, .ndjson, .json, .parquet, .pq (.gz, .zst) are read"
    )
    os.mkfifo(tmp_path / "pipe")
    assert error_of(tmp_path, tmp_path / "pipe") == (
        f"{tmp_path}/pipe: not a file; a log is read more than once: no pipe can be"
    )
    (tmp_path / "tab\t.txt").write_bytes(aol_log())
    assert error_of(tmp_path, tmp_path / "tab\t.txt") == (
        f"'{tmp_path}/tab\\t.txt': a tab or line break in its name; rename it"
    )


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (
            "http://x.example/log.txt",
            "Unrecognized filesystem type in URI: http://x.example/log.txt",
        ),
        ("file://tmp/log", "Unsupported hostname in non-Windows local URI: 'file://tmp/log'"),
    ],
)
def test_invalid_addresses(tmp_path, address, reason):
    expected = f"{address}: {reason}; check the address and the access to it"
    assert error_of(tmp_path, address) == expected


def test_no_permission(tmp_path, monkeypatch):
    """Arrow's error is raised by hand, because root may read everything."""

    def refuse(self, path):
        raise PermissionError(13, f"Failed to open local file '{path}'. Detail: [errno 13] …")

    (tmp_path / "log.jsonl").write_bytes(b"{}")
    monkeypatch.setattr("mtn_preprocess.log_lines.Location.open", lambda self: refuse(self, "x"))
    path = tmp_path / "log.jsonl"
    assert error_of(tmp_path, path) == f"{path}: Permission denied; {UNREADABLE}"
    monkeypatch.setattr("mtn_preprocess.log_files.find", lambda address: refuse(None, address))
    assert error_of(tmp_path, tmp_path) == (
        f"{tmp_path}: Permission denied; check the address and the access to it"
    )


def test_the_same_file_twice(tmp_path):
    log = tmp_path / "log.txt"
    log.write_bytes(aol_log())
    (tmp_path / "link.txt").symlink_to(log)
    twice = "named twice; its rows would count twice: name it once"
    assert error_of(tmp_path, log, log) == f"{log}: {twice}"
    assert error_of(tmp_path, log, f"{tmp_path}/./log.txt") == f"{tmp_path}/./log.txt: {twice}"
    assert error_of(tmp_path, log.as_uri(), log) == f"{log}: {twice}"
    assert error_of(tmp_path, tmp_path) == f"{log}: {twice}"


def test_files_of_different_formats_or_columns(tmp_path):
    (tmp_path / "a.txt").write_bytes(aol_log())
    (tmp_path / "b.csv").write_bytes(lines("x"))
    assert error_of(tmp_path, tmp_path) == (
        "files of several formats: csv, tsv; prepare them apart, or say --format if they are the "
        "same"
    )
    (tmp_path / "c.txt").write_bytes(lines("QueryTime\tQuery\tAnonID"))
    assert error_of(tmp_path, tmp_path / "*.txt") == (
        f"{tmp_path}/c.txt: its columns are not those of the first file; prepare them apart, or "
        "bring them into one form"
    )
    (tmp_path / "d.txt").write_bytes(lines(SECRET))
    assert error_of(tmp_path, tmp_path / "a.txt", tmp_path / "d.txt") == (
        f"{tmp_path}/d.txt:1: {NOT_ONE}: 1 line: wrong number of columns; {EXPECTED}"
    )


def test_nothing_left_of_a_log(tmp_path):
    (tmp_path / "log.txt").write_bytes(lines(ROW))
    assert error_of(tmp_path, tmp_path / "log.txt") == (
        "no session is left under these rules; check the log, or relax --min-queries, "
        "--max-queries, --max-query-tokens, --min-users"
    )


# --- flags ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("time_format", ["ISO", "epoch_ms", "%Q", "%H:%M", "%Y-%m", "%d.%d.%Y", ""])
def test_a_format_without_a_full_date(capsys, time_format):
    with pytest.raises(SystemExit) as ended:
        settings_from(["log.txt", "--output", "x", "--time-format", time_format])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(
        f"argument --time-format: {time_format!r} has no full date: use iso, epoch, epoch-ms, or "
        "a format such as %Y-%m-%d %H:%M:%S\n"
    )


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, ": cannot be read (No such file or directory); check --block-list"),
        (
            b"a\x0bb\n\n/(/\n",
            ":3: bad pattern (missing ), unterminated subpattern at position 0); ",
        ),
        (b"\xef\xbb\xbf# comment\n!\n", ":2: no word in this entry; queries have none such"),
        (b"\xff", ": cannot be read ('utf-8' codec can't decode byte 0xff in position 0: "),
    ],
)
def test_block_lists(tmp_path, data, expected):
    path = tmp_path / "blocked"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InputError) as raised:
        settings_from(["log.txt", "--output", "x", "--block-list", str(path)])
    assert str(raised.value).startswith(f"{path}{expected}")


def test_help_shows_defaults_where_there_are_any(capsys):
    with pytest.raises(SystemExit):
        settings_from(["--help"])
    text = capsys.readouterr().out
    assert "(default: QueryTime)" in text and "(default: 30)" in text
    assert not {"(default: None)", "(default: False)"} & set(text.split("  "))
    assert "None)" not in text and "False)" not in text


def test_the_command_prints_only_the_error_line(tmp_path):
    (tmp_path / "log.txt").write_bytes(b"")
    command = [sys.executable, "-m", "mtn_preprocess.log_to_sessions", "log.txt", "--output", "out"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1 and ended.stdout == ""
    assert ended.stderr == "log.txt: empty file; leave it out, or fetch it again\n"
