"""Malformed lines: each is in rejects.tsv with place and reason, and affects no other line."""

import gzip
import json
import time

import pyarrow as pa
import pyarrow.parquet
import pytest
from small_logs import AOL_HEADER, SESSIONS, aol_lines, aol_log, lines, malformed, prepared

from mtn_preprocess import log_lines
from mtn_preprocess.errors import InputError

GOOD = "9\tx\t2006-03-01 10:00:00\t\t"
LONG, UTF8, NUL = "absurdly long line", "not UTF-8", "NUL byte"
QUOTES, JSON = "unbalanced quotes", "not a JSON object"
COLUMNS, USER, TIME = "wrong number of columns", "no user", "unreadable time"


@pytest.fixture
def rejected(tmp_path):
    """Rejects of a file, without its name; checks that all of its sessions are found."""

    def run(name, data, *flags):
        (tmp_path / name).write_bytes(data)
        result = prepared(tmp_path, tmp_path / name, *flags)
        assert result.sessions == SESSIONS
        places = [line.split("\t") for line in result.rejects]
        assert {file for file, _, _ in places} <= {str(tmp_path / name)}
        assert sum(malformed(result).values()) == len(places)
        return [(int(line), reason) for _, line, reason in places]

    return run


# 64 KiB including the line end is still a line; one byte more is not.
FAULTY_LINES = [
    (b"", COLUMNS),
    (b" ", COLUMNS),
    (b"\r", COLUMNS),
    (b"7\tx", COLUMNS),
    (b"7\tx\t2006-03-01 10:00:00\t", COLUMNS),
    (b"7\tx\t2006-03-01 10:00:00\t\t\t", COLUMNS),
    (b"7,x,2006-03-01 10:00:00", COLUMNS),
    (b"\tx\t2006-03-01 10:00:00\t\t", USER),
    (b"   \tx\t2006-03-01 10:00:00\t\t", USER),
    (b"7\tx\t\t\t", TIME),
    (b"7\tx\t2006-02-29 10:00:00\t\t", TIME),
    (b"7\tx\t2006-03-01 10:00\t\t", TIME),
    (b"7\tx\t2006-03-01T10:00:00\t\t", TIME),
    (b"7\tx\t2006-03-01 10:00:00.5\t\t", TIME),
    (b"7\tx\t1141207200\t\t", TIME),
    (b"anonid\tquery\tquerytime\titemrank\tclickurl", TIME),
    (b"7\t\xe9\t2006-03-01 10:00:00\t\t", UTF8),
    (b"\xff", UTF8),
    (b"7\t\xed\xa0\x80\t2006-03-01 10:00:00\t\t", UTF8),  # half of a surrogate pair
    (b"7\t\0\t2006-03-01 10:00:00\t\t", NUL),
    (b"\0", NUL),
    (b"\xff\0", UTF8),
    (b"7\t" + b"x" * (1 << 16) + b"\t2006-03-01 10:00:00\t\t", LONG),
    (b"x" * (1 << 16), LONG),
    (b"x" * ((1 << 16) - 1), COLUMNS),
    (b"\xff\0" * (1 << 16), LONG),
]


@pytest.mark.parametrize("block", [7, 1000, 1 << 22])
def test_every_fault_at_every_place(rejected, monkeypatch, block):
    """Each fault between the rows of the log, for several block sizes."""
    monkeypatch.setattr(log_lines, "_BLOCK", block)
    good = [line.encode() for line in aol_lines()]
    mixed = [AOL_HEADER.encode()]
    for i, (line, _) in enumerate(FAULTY_LINES):
        mixed += [line, *good[i : i + 1]]
    reasons = [reason for _, reason in FAULTY_LINES]
    numbers = [2 * i + 2 if i < len(good) else i + 2 + len(good) for i in range(len(reasons))]
    assert rejected("log.txt", b"\n".join(mixed) + b"\n") == list(zip(numbers, reasons))


@pytest.mark.parametrize(("line", "reason"), FAULTY_LINES[1:])
def test_the_last_line_without_its_end(rejected, line, reason):
    if line == b"x" * (1 << 16):
        reason = COLUMNS  # with a line end it would be one byte too long
    assert rejected("log.txt.gz", gzip.compress(aol_log() + line)) == [(20, reason)]


def test_50_megabytes_without_a_line_end(rejected):
    huge = b"7\tx" * (50 << 20 >> 2)
    assert rejected("last.txt", aol_log() + huge) == [(20, LONG)]
    between = aol_log() + huge + b"\n" + huge + b"\n" + b"\xff\n"
    assert rejected("more.txt", between) == [(20, LONG), (21, LONG), (22, UTF8)]
    first = huge + b"\n" + aol_log()
    assert rejected("first.txt", first) == [(1, LONG)]


def test_quotes_are_ordinary_in_tsv(rejected):
    stray = ['5\t"open\t2006-03-01 10:00:00\t\t', '"5\tx\t2006-03-01 10:00:00"\t\t']
    data = lines(AOL_HEADER, *stray, *aol_lines())
    assert rejected("log.txt", data) == [(3, TIME)]


def test_a_stray_quote_in_csv_swallows_no_line(rejected):
    good = [line.split("\t")[:3] for line in aol_lines()]
    good = ['{},"{}",{}'.format(user, query.replace('"', '""'), at) for user, query, at in good]
    faulty = [
        ('9,"x,2006-03-01 10:00:00', QUOTES),
        ('9,x",2006-03-01 10:00:00', None),  # inside a field it is an ordinary character
        ('9,"x"y,2006-03-01 10:00:00', QUOTES),
        ('"', QUOTES),
        ('""', COLUMNS),
        ('9,"x\t"",2006-03-01 10:00:00', QUOTES),
        ('9,x,"2006-03-01 10:00:00"', None),
        ("9,a,b,2006-03-01 10:00:00", COLUMNS),
        ("9,x\t2006-03-01 10:00:00", COLUMNS),
    ]
    mixed = ["AnonID,Query,QueryTime"]
    for i, (line, _) in enumerate(faulty):
        mixed += [line, good[i]]
    data = lines(*mixed, *good[len(faulty) :])
    expected = [(2 * i + 2, reason) for i, (_, reason) in enumerate(faulty) if reason]
    assert rejected("log.csv", data) == expected


def test_lines_that_are_not_json_objects(rejected):
    good = [
        json.dumps(dict(zip(("AnonID", "Query", "QueryTime"), line.split("\t"))))
        for line in aol_lines()
    ]
    row = '{"AnonID": 9, "Query": "x", "QueryTime": "2006-03-01 10:00:00"%s}'
    faulty = [
        ("", JSON),
        ("[]", JSON),
        ('"AnonID"', JSON),
        ("null", JSON),
        (good[0][:-1], JSON),
        (good[0] + good[1], JSON),
        (row % (', "n": ' + "[" * 30_000), JSON),
        (row % (', "n": ' + "[" * 30_000 + "]" * 30_000), JSON),  # nested too deeply for Python
        ("{}", USER),
        ('{"AnonID": "", "Query": "x", "QueryTime": "2006-03-01 10:00:00"}', USER),
        ('{"AnonID": 9, "Query": "x", "QueryTime": 1141207200}', TIME),
        ('{"AnonID": 9, "Query": "x", "QueryTime": ["2006-03-01 10:00:00"]}', TIME),
        (row % "", None),
        (row % (', "AnonID": ' + "9" * 400), None),
        (row % (', "AnonID": ' + "9" * 400) + "}", JSON),
        (row.replace("9", "9" * 400) % "", None),
        (row.replace('"x"', r'"\ud800 \u0000\t\n\"\\"') % "", None),
        (row.replace("9", r'"a\tb\\c"') % "", None),
        (row.replace("9", "NaN") % "", None),
        (row.replace('"x"', '"\0"') % "", NUL),
    ]
    data = lines(*(line for line, _ in faulty), *good)
    expected = [(i + 1, reason) for i, (_, reason) in enumerate(faulty) if reason]
    assert rejected("log.jsonl", data) == expected


def test_users_in_json_are_distinguished(tmp_path):
    """A backslash or a 400-digit number is part of a user; a tab counts as a space."""
    users = ["a\\b", "a\\\\b", "9" * 400, "9" * 401, "a\tb", "a b", "'", '"']
    rows = [
        {"AnonID": int(user) if user.isdigit() else user, "Query": f"q{i}", "QueryTime": at}
        for i, at in enumerate(("2006-03-01 10:00:00", "2006-03-01 10:00:01"))
        for user in users
    ]
    (tmp_path / "log.jsonl").write_bytes(lines(*map(json.dumps, rows)))
    result = prepared(tmp_path, tmp_path / "log.jsonl", "--min-queries", 2)
    assert result.sessions == ["q0 <q> q1"] * 7 and not result.rejects


def test_malformed_parquet_rows(rejected, tmp_path):
    rows = [line.encode().split(b"\t")[:3] for line in aol_lines()]
    at = b"2006-03-01 10:00:00"
    rows[3:3] = [
        [b"9", b"\xff", at],
        [b"\xc3", b"x", at],
        [None, b"x", at],
        [b"9", b"x", None],
        [b"9", b"x" * (1 << 16), at],
        [b"9", b"\xff" * (1 << 16), at],
        [b"9", None, at],
        [b"9", b"tab\tnul\0", at],
    ]
    columns = [pa.array(column, pa.binary()) for column in zip(*rows)]
    # Parquet's strings need not be UTF-8.
    unchecked = [pa.Array.from_buffers(pa.string(), len(c), c.buffers()) for c in columns]
    names = ["AnonID", "Query", "QueryTime"]
    expected = [(4, UTF8), (5, UTF8), (6, USER), (7, TIME), (8, LONG), (9, LONG)]
    for name, arrays in (("binary.parquet", columns), ("text.parquet", unchecked)):
        pa.parquet.write_table(pa.table(arrays, names), tmp_path / name)
        assert rejected(name, (tmp_path / name).read_bytes()) == expected


def test_time_going_backwards_is_sorted_and_counted(tmp_path):
    rows = aol_lines()
    (tmp_path / "log.txt").write_bytes(lines(AOL_HEADER, *rows[::-1]))
    result = prepared(tmp_path, tmp_path / "log.txt")
    assert result.sessions == SESSIONS and not result.rejects
    # All kept rows except each user's last one, which has no earlier row below it.
    assert result.stats["rows"]["time going backwards"] == 14 - 4


def test_places_in_several_files(tmp_path):
    (tmp_path / "b.txt").write_bytes(aol_log("bad"))
    (tmp_path / "a.txt").write_bytes(lines("bad", GOOD))
    result = prepared(tmp_path, tmp_path / "b.txt", tmp_path / "a.txt")
    assert result.rejects == [
        f"{tmp_path}/b.txt\t20\twrong number of columns",
        f"{tmp_path}/a.txt\t1\twrong number of columns",
    ]


def test_strict_stops_at_the_first_line_and_leaves_nothing(tmp_path):
    (tmp_path / "log.txt").write_bytes(aol_log("9\tsecret\tnever\t\t", "bad"))
    with pytest.raises(InputError) as raised:
        prepared(tmp_path, tmp_path / "log.txt", "--strict")
    assert str(raised.value) == (
        f"{tmp_path}/log.txt:20: unreadable time; "
        "correct the line, or leave out --strict to skip and count it"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["log.txt"]


def test_ten_thousand_rejects(tmp_path, capsys):
    bad = ["9\tsecret", "9\tsecret\tnever\t\t"] * 5000
    (tmp_path / "log.txt").write_bytes(aol_log(*bad))
    start = time.process_time()
    result = prepared(tmp_path, tmp_path / "log.txt")
    assert time.process_time() - start < 10
    assert result.sessions == SESSIONS
    assert malformed(result) == {COLUMNS: 5000, TIME: 5000}
    places = [int(line.split("\t")[1]) for line in result.rejects]
    assert places == list(range(20, 10_020))
    assert capsys.readouterr().err == (
        f"{tmp_path}/log.txt:20: wrong number of columns, line skipped\n"
        f"{tmp_path}/log.txt:21: unreadable time, line skipped\n"
        f"{tmp_path}/log.txt:22: wrong number of columns, line skipped\n"
        "… and 9,997 more: see rejects.tsv\n"
    )
