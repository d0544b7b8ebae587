"""Logs read in the wrong format: refused or warned about, with a remedy."""

from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest
from preparation_helpers import many_sessions, run
from small_logs import BY_NAME, ROWS, SESSIONS, aol_log, lines, malformed, prepared

from mtn_preprocess.errors import InputError
from mtn_preprocess.flags import settings_from
from mtn_preprocess.log_times import TimeRange, plausible_times
from mtn_preprocess.time_checks import likely_formats, shown, swapped_days

SECRET = "my secret query"
TIMES = plausible_times()
AOL = ["--user-column", "AnonID", "--query-column", "Query", "--time-column", "QueryTime"]
US, EUROPEAN = "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S"


def moments(first, number, step=timedelta(hours=7)):
    return [first + i * step for i in range(number)]


def log_of(times):
    return lines("uid\tq\tts", *(f"7\tpizza {i}\t{time}" for i, time in enumerate(times)))


def refused(folder, data, *flags, name="log.tsv"):
    path = folder / name
    path.write_bytes(data)
    before = sorted(folder.iterdir())
    with pytest.raises(InputError) as raised:
        prepared(folder, path, *BY_NAME, "--max-bad-rows", "5%", *flags)
    message = str(raised.value)
    assert sorted(folder.iterdir()) == before
    assert "\n" not in message and "pizza" not in message and message.startswith(str(path))
    return message[len(str(path)) :]


# --- times ---------------------------------------------------------------------------------------


def test_days_read_as_months(tmp_path):
    """In the rows that can be read, day and month are swapped, so nothing is written."""
    times = [moment.strftime(US) for moment in moments(datetime(2006, 3, 1, 16, 1, 20), 200)]
    bad = [i for i, time in enumerate(times) if int(time[3:5]) > 12]
    assert 50 < len(bad) < 150
    assert refused(tmp_path, log_of(times), "--time-format", EUROPEAN) == (
        f":{bad[0] + 2}: {len(bad)} of 200 rows are malformed: columns found, {len(bad)} "
        f"unreadable times, first: {times[bad[0]]!r}; pass --time-format {US!r}; or skip such "
        f"rows: --max-bad-rows {-(-len(bad) // 2)}%"
    )


def test_a_few_malformed_rows_are_skipped(tmp_path):
    good = [str(moment) for moment in moments(datetime(2006, 3, 1), 95, timedelta(minutes=1))]
    flags = ("--max-bad-rows", "5", "--max-queries", 99)
    for number in (5, 6):
        (tmp_path / f"{number}.tsv").write_bytes(log_of([*good, *["soon"] * number]))
    result = prepared(tmp_path, tmp_path / "5.tsv", *BY_NAME, *flags)
    assert malformed(result) == {"unreadable time": 5}
    with pytest.raises(InputError, match="6 of 101 rows are malformed"):
        prepared(tmp_path, tmp_path / "6.tsv", *BY_NAME, *flags)


@pytest.mark.parametrize(
    ("unit", "asked", "fault", "likely"),
    [
        (1, "epoch-ms", "times out of range, first: '1141207200', read as 1970-01-14 05:00:07", 0),
        (1000, "epoch", "unreadable times, first: '1141207200000'", 1),
    ],
)
def test_epochs_in_the_wrong_unit(tmp_path, unit, asked, fault, likely):
    times = [(1141207200 + 60 * i) * unit for i in range(30)]
    assert refused(tmp_path, log_of(times), "--time-format", asked) == (
        f":2: not one row of a search log: columns found, 30 {fault}; pass --time-format "
        f"{('epoch', 'epoch-ms')[likely]!r}"
    )


def test_times_out_of_range(tmp_path):
    tomorrow = datetime.now(timezone.utc).replace(tzinfo=None, microsecond=0) + timedelta(days=3)
    odd = ["1989-12-31 23:59:59", str(tomorrow), "0001-01-01 00:00:00"]
    first, last = "1990-01-01 00:00:00", str(tomorrow - timedelta(days=3))
    more = [f"9\tx\t{time}\t\t" for time in (*odd, first, last)]
    (tmp_path / "log.txt").write_bytes(aol_log(*more))
    result = prepared(tmp_path, tmp_path / "log.txt")
    assert [line.split("\t")[1:] for line in result.rejects] == [
        [str(number), "time out of range"] for number in (20, 21, 22)
    ]
    assert result.sessions == SESSIONS
    wide = prepared(tmp_path, tmp_path / "log.txt", "--time-range", "0001-01-01,9999-12-31")
    assert not wide.rejects
    days = f"2006-03-26,{ROWS[-1].time.date()}"
    narrow = prepared(tmp_path, tmp_path / "log.txt", "--time-range", days)
    assert malformed(narrow) == {"time out of range": 5} and narrow.sessions == SESSIONS


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (US, [US]),
        (EUROPEAN, [EUROPEAN]),
        ("%d.%m.%Y %H:%M", ["%d.%m.%Y %H:%M"]),
        ("%m/%d/%y %I:%M %p", ["%m/%d/%y %I:%M %p"]),
        ("%d/%b/%Y:%H:%M:%S +0000", ["%d/%b/%Y:%H:%M:%S %z"]),
        ("%A, %B %d, %Y %H:%M:%S", ["%A, %B %d, %Y %H:%M:%S"]),
        ("%d %B %Y %I:%M %p", ["%d %B %Y %I:%M %p"]),
        ("%Y-%m-%dT%H:%M:%SZ", ["iso"]),
        ("%s", ["epoch"]),
        ("%s123", ["epoch-ms"]),
        ("week %W of %Y", []),
    ],
)
def test_likely_formats(write, expected):
    values = [moment.strftime(write) for moment in moments(datetime(2006, 3, 1, 10), 100)]
    assert likely_formats(values, TIMES) == expected
    assert likely_formats([*values, *["soon"] * 10], TIMES) == expected
    assert not likely_formats([*values, *["soon"] * 20], TIMES)


def test_both_orders_are_likely_where_no_day_is_after_the_12th():
    values = [moment.strftime(US) for moment in moments(datetime(2006, 3, 1), 10)]
    assert likely_formats(values, TIMES) == [US, EUROPEAN]


def test_values_that_are_not_times_are_not_quoted():
    for time in ("3/1/2006 16:01:20", "1 Mar 2006 4:01 PM", "2006-03-01T16:01:20Z", "1141207200"):
        assert shown(time) == repr(time)
    assert "March 23" in shown("Thursday, March 23, 2006 20:15:42")
    for other in (SECRET, "ebay 2006", "a" * 50, "1" * 50, "marathon", ""):
        assert not other or other not in shown(other)


def test_days_that_look_like_months(tmp_path, capsys):
    first = datetime(2006, 3, 1, 10)
    times = [
        (day + timedelta(minutes=i)).strftime(US)
        for day in moments(first, 10, timedelta(days=1))
        for i in range(3)
    ]
    (tmp_path / "log.tsv").write_bytes(log_of(times))
    for time_format, number in ((EUROPEAN, 1), (US, 0)):
        prepared(tmp_path, tmp_path / "log.tsv", *BY_NAME, "--time-format", time_format)
        assert capsys.readouterr().err.count("warning: ") == number
    days = [(datetime(2006, month, 3) - datetime(1970, 1, 1)).days for month in range(1, 11)]
    assert swapped_days(days, EUROPEAN) == (
        "the log covers 274 days, none of them after the 12th of a month; read as "
        f"{US!r} it would cover 10: check --time-format"
    )
    assert swapped_days(days, "iso") is None and swapped_days([], US) is None
    assert swapped_days([*days, days[0] + 10], EUROPEAN) is None


@pytest.mark.parametrize(
    "flags",
    [
        *(["--max-bad-rows", each] for each in ("-1", "101%", "nan", "few")),
        *(["--time-range", each] for each in ("1990", "2006-01-02,2006-01-01", "a,b", "1,2,3")),
        *(["--delimiter", each] for each in ("", ";;", "a", '"', "é", "\n")),
        *(
            [flag, "9" * 23]
            for flag in ("--threads", "--history", "--sentencepiece", "--min-users")
        ),
        *(["--threads", each] for each in ("0", "1025", "100000")),
        *(["--gap-minutes", each] for each in ("0", "inf", "nan")),
    ],
)
def test_flags_that_make_no_sense(capsys, flags):
    with pytest.raises(SystemExit) as ended:
        settings_from(["log", "--output", "x", *flags])
    assert ended.value.code == 2
    assert f"argument {flags[0]}: must be" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("clock", "good"),
    [
        *(("%H:%M:%S %p", False), ("%p %H:%M", False), ("%I:%M:%S", False), ("%I %H:%M %p", False)),
        *(("%X %p", False), ("%I:%M %p", True), ("%p %I.%M", True), ("%H:%M %%p", True)),
    ],
)
def test_formats_that_read_afternoons_as_mornings(capsys, clock, good):
    """`%H:%M:%S %p` reads `03:04:05 PM` as three in the morning."""
    flags = ["log", "--output", "x", "--time-format", f"%m/%d/%Y {clock}"]
    if good:
        assert settings_from(flags).time_format == flags[-1]
        return
    with pytest.raises(SystemExit) as ended:
        settings_from(flags)
    assert ended.value.code == 2
    assert (
        "would read afternoons as mornings: must have %I with %p for an hour of 12, or %H alone "
        "for an hour of 24\n"
    ) in capsys.readouterr().err


def test_values_of_flags():
    settings = settings_from(["log", "--output", "x"])
    assert settings.max_bad_rows == 5 and settings.time_range is None
    more = ["--max-bad-rows", "2.5%", "--time-range", "1970-01-01,1970-01-02", "--delimiter", "tab"]
    settings = settings_from(["log", "--output", "x", *more])
    assert settings.max_bad_rows == Decimal("2.5") and settings.delimiter == "\t"
    assert settings.time_range == TimeRange(0, 2 * 24 * 60 * 60)


# --- columns -------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [";", "|", "\t", ","])
@pytest.mark.parametrize("name", ["log.csv", "log.txt"])
def test_delimiters_are_found(tmp_path, delimiter, name):
    quoted = [
        '{0}{d}"{1}"{d}{2}'.format(row.user, row.query.replace('"', '""'), row.clock, d=delimiter)
        for row in ROWS
    ]
    if name == "log.txt" and delimiter == "\t":  # quotes are ordinary in TSV
        quoted = [f"{row.user}\t{row.query}\t{row.clock}" for row in ROWS]
    header = delimiter.join(("uid", "q", "ts"))
    (tmp_path / name).write_bytes(lines(header, *quoted))
    for flags in (BY_NAME, ["--user-column", 1, "--query-column", 2, "--time-column", 3]):
        assert prepared(tmp_path, tmp_path / name, *flags).sessions == SESSIONS
        named = "tab" if delimiter == "\t" else delimiter
        more = ("--delimiter", named)
        assert prepared(tmp_path, tmp_path / name, *flags, *more).sessions == SESSIONS
    (tmp_path / name).write_bytes(lines(*quoted))  # in AOL's order, without a header
    assert prepared(tmp_path, tmp_path / name).sessions == SESSIONS


def test_a_delimiter_for_a_format_that_has_none(tmp_path):
    (tmp_path / "log.txt").write_bytes(aol_log())
    for kind in ("jsonl", "tsv"):
        with pytest.raises(InputError) as raised:
            prepared(tmp_path, tmp_path / "log.txt", "--delimiter", ";", "--format", kind)
        assert str(raised.value) == (
            f"--delimiter is not for the format {kind}; leave it out, or say --format csv"
        )


def test_errors_list_the_columns(tmp_path):
    data = lines("user_id;Search Term;when", "7;pizza;2006-03-01 10:00:00")
    assert refused(tmp_path, data, name="log.csv").startswith(
        ": its first line names no column 'uid' (it has 3 between ';': 'user_id', "
        "'Search Term', 'when'); see "
    )
    data = lines("when\tterm", "2006-03-01 10:00:00\tpizza")
    assert refused(tmp_path, data, *AOL).startswith(
        ":1: not one row of a search log: 2 lines: wrong number of columns; its first line has the "
        "columns 'when', 'term'; expected "
    )


@pytest.mark.parametrize(
    ("name", "header", "row", "there"),
    [
        (
            "log.tsv",
            "query\tuser\tdate",
            "pizza\t401\t2024-05-01 00:00:30",
            "it has 3 between tabs: 'query', 'user', 'date'",
        ),
        (
            "log.csv",
            "Besucher;Suchbegriff;Zeitpunkt;Seite",
            "7;pizza;2024-05-01 00:00:30;1",
            "it has 4 between ';': 'Besucher', 'Suchbegriff', 'Zeitpunkt', 'Seite'",
        ),
        (
            "log.txt",
            "a|b|c|d|e",
            "7|pizza|x|2024-05-01 00:00:30|",
            "it has 5 between '|': 'a', 'b', 'c', 'd', 'e'",
        ),
        (
            "log.csv",
            '"user","what was asked for",#time',
            "7,pizza,2024-05-01 00:00:30",
            "it has 3 between ','",
        ),
    ],
)
def test_a_header_with_other_names(tmp_path, name, header, row, there):
    """Without flags for the columns, AOL's order would read users as queries."""
    assert refused(tmp_path, lines(header, *[row] * 99), *AOL, name=name) == (
        f": its first line names no column 'AnonID' ({there}); see --user-column, --query-column, "
        "--time-column, --format, --delimiter: names, or numbers from 1"
    )


def test_rows_that_could_be_names(tmp_path):
    """Without a header, users may be words, and the first row may have no time or a bad one."""
    rows = [f"bob\t{query}\t2006-03-01 10:00:0{i}" for i, query in enumerate("abc")]
    for first in ("7\tpizza\tsoon", "bob\tpizza\t", "bob\tpizza", "a title"):
        (tmp_path / "log.tsv").write_bytes(lines(first, *rows))
        result = prepared(tmp_path, tmp_path / "log.tsv")
        assert result.sessions == ["a <q> b <q> c"] and len(result.rejects) == 1
    (tmp_path / "log.tsv").write_bytes(lines(*rows))
    assert prepared(tmp_path, tmp_path / "log.tsv").sessions == ["a <q> b <q> c"]
    spelled = [row.replace("2006-03-01", "March 1, 2006") for row in rows]
    (tmp_path / "log.tsv").write_bytes(lines(*spelled))
    flags = ("--time-format", "%B %d, %Y %H:%M:%S")
    assert prepared(tmp_path, tmp_path / "log.tsv", *flags).sessions == ["a <q> b <q> c"]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (
            b"PK\x03\x04\x14\0[Content_Types].xml xl/workbook.xml",
            "a workbook; export it as CSV",
        ),
        (
            b"PK\x03\x04\x14\0mimetypeapplication/vnd.oasis.opendocument.spreadsheetPK",
            "a workbook; export it as CSV",
        ),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "a workbook; export it as CSV"),
        (b"PK\x03\x04\x14\0log.txt", "a zip archive; unpack it"),
        (b"\xfd7zXZ\0", "packed by bzip2 or xz; unpack it, or use gzip"),
        ("uid\tq".encode("utf-16"), "UTF-16; convert it: iconv -f UTF-16 -t UTF-8"),
        ("uid\tq".encode("utf-16-le"), "UTF-16; convert it: iconv -f UTF-16LE -t UTF-8"),
        ("uid\tq".encode("utf-16-be"), "UTF-16; convert it: iconv -f UTF-16BE -t UTF-8"),
    ],
)
def test_files_that_are_no_text(tmp_path, start, expected):
    for name in ("log.xlsx", "log.csv"):
        assert refused(tmp_path, start, name=name) == f": {expected}"


# --- what is printed -----------------------------------------------------------------------------


def test_usage_names_the_installed_command(capsys):
    with pytest.raises(SystemExit):
        settings_from(["--help"])
    text = capsys.readouterr().out
    assert text.startswith("usage: mtn-log-to-sessions ") and ".py" not in text


def test_small_splits_cause_a_warning(tmp_path, capsys):
    run(tmp_path, many_sessions(20, 10), "--split", "90,5,5")
    said = capsys.readouterr().err.splitlines()
    assert [line.split(" split has ")[0] for line in said] == [
        "warning: the valid",
        "warning: the test",
    ]
    assert all("--split 80,10,10 would give it about 20; or take a longer log" in x for x in said)
    for split in ("80,10,10", "60,20,20"):  # the suggested split is already in use
        run(tmp_path, many_sessions(10, 10), "--split", split, output=split)
        said = capsys.readouterr().err.splitlines()
        assert len(said) == 2 and "--split" not in said[0] + said[1]
        assert all(x.endswith(" in all, take a longer log") for x in said)
    run(tmp_path, many_sessions(40, 25), "--split", "80,10,10", output="larger")
    assert not capsys.readouterr().err


def test_the_papers_numbers_are_shown_only_for_its_log(tmp_path, capsys):
    for name, is_aols in (("log.tsv", False), ("user-ct-test-collection-01.txt", True)):
        run(tmp_path, many_sessions(4, 5), "--split", "100,0,0", name=name, output=f"of {name}")
        assert ("the paper's" in capsys.readouterr().out) == is_aols
