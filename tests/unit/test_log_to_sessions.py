"""log_to_sessions.py: each rule on a log made by hand, and what must hold for any log."""

import gzip
import json
import os
import random
import subprocess
import sys
import unicodedata
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtn_fairseq.data.session_text import decode_query, encode_query
from mtn_fairseq.data.text_checks import check_pairs
from mtn_fairseq.errors import InputError

sys.path.insert(0, str(Path(__file__).parents[2] / "preprocess"))

import log_to_sessions
from aol_log import HEADER
from session_rules import (
    BLANK,
    CLICK,
    DUPLICATE,
    LONG_QUERY,
    LONG_SESSION,
    NOTHING_LEFT,
    SHORT_SESSION,
    Rules,
    Session,
    find_sessions,
    normalise,
    split_of,
)

TRAIN_ONLY = ["--split", "100,0,0"]

GOLDEN = f"""\
{HEADER}
7\tCheap Flights!\t2006-03-01 10:00:00\t\t
7\tcheap flights\t2006-03-01 10:01:00\t1\thttp://a.example.com
7\tcheap flights to Paris\t2006-03-01 10:02:00\t1\thttp://a.example.com
7\tcheap flights to Paris\t2006-03-01 10:02:00\t3\thttp://b.example.com
7\t-\t2006-03-01 10:03:00\t\t
7\t\t2006-03-01 10:04:00\t\t
7\t???\t2006-03-01 10:05:00\t\t
7\tparis hôtels\t2006-03-01 10:31:59\t\t
7\tone\t2006-03-01 11:01:59\t\t
7\ttwo\t2006-03-01 11:02:00
12\ta b c d e f g h i j\t2006-03-02 09:00:00\t\t
12\ta b c d e f g h i j k\t2006-03-02 09:20:00\t\t
12\ta b c d e f g h i j\t2006-03-02 09:40:00\t\t
12\tmadeupword0001 <q> x\t2006-03-02 09:41:00\t\t
12\tlast\t2006-03-02 09:42:00\t\t
12\t1\t2006-03-03 09:00:01\t\t
12\t2\t2006-03-03 09:00:02\t\t
12\t3\t2006-03-03 09:00:03\t\t
12\t4\t2006-03-03 09:00:04\t\t
12\t5\t2006-03-03 09:00:05\t\t
12\t6\t2006-03-03 09:00:06\t\t
"""
# User 12 comes before user 7: users are text. A gap of 29:59 (blank rows do not shorten gaps: it is
# counted from 10:02:00) is within a session, one of 30:00 is not.
GOLDEN_WHOLE = [
    r"a b c d e f g h i j <q> \madeupword0001 q x <q> last",
    "cheap flights <q> cheap flights to paris <q> paris hôtels",
]
GOLDEN_PAIRS = [
    ("a b c d e f g h i j", r"\madeupword0001 q x"),
    (r"a b c d e f g h i j <q> \madeupword0001 q x", "last"),
    ("cheap flights", "cheap flights to paris"),
    ("cheap flights <q> cheap flights to paris", "paris hôtels"),
]
GOLDEN_REMOVED = {
    BLANK: 2,
    NOTHING_LEFT: 1,
    CLICK: 1,
    LONG_QUERY: 1,
    DUPLICATE: 2,
    SHORT_SESSION: 2,
    LONG_SESSION: 6,
}


def run(tmp_path, log, *flags, name="log.tsv", output="out"):
    """Write the log (text, or bytes), run the command; the folder it wrote."""
    path = tmp_path / name
    path.write_bytes(log.encode("utf-8") if isinstance(log, str) else log)
    folder = tmp_path / output
    log_to_sessions.main([str(path), "--output", str(folder), *flags])
    return folder


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def pairs(folder, split="train"):
    return list(zip(lines(folder / f"{split}.session"), lines(folder / f"{split}.next")))


def statistics(folder):
    return json.loads((folder / "stats.json").read_text())


def session_rows(user, start, *queries):
    """Rows of one session, a minute between two queries."""
    time = datetime.fromisoformat(start)
    moments = (time + timedelta(minutes=i) for i in range(len(queries)))
    return "".join(f"{user}\t{q}\t{moment}\t\t\n" for q, moment in zip(queries, moments))


def bad_run(tmp_path, log, *flags, **names):
    """The command's one-line error; nothing may be written."""
    before = set(tmp_path.iterdir())
    with pytest.raises(InputError) as error:
        run(tmp_path, log, *flags, **names)
    assert {path.name for path in set(tmp_path.iterdir()) - before} <= {
        names.get("name", "log.tsv")
    }
    assert "\n" not in str(error.value)
    return str(error.value)


# --- the golden log -------------------------------------------------------------------------------


def test_golden_log_gives_exactly_these_files(tmp_path, capsys):
    folder = run(tmp_path, GOLDEN, *TRAIN_ONLY)
    assert sorted(path.name for path in folder.iterdir()) == [
        "stats.json",
        "train.next",
        "train.session",
        "train.whole",
    ]
    assert pairs(folder) == GOLDEN_PAIRS
    assert lines(folder / "train.whole") == GOLDEN_WHOLE
    assert check_pairs(str(folder / "train")) == 4
    assert "written to" in capsys.readouterr().out


def test_golden_log_counts(tmp_path):
    stats = statistics(run(tmp_path, GOLDEN, *TRAIN_ONLY))
    assert stats["lines"]["read"] == 22
    assert stats["lines"]["header"] == 1
    assert stats["rows"] == {"read": 21, "removed": GOLDEN_REMOVED, "kept": 6}
    assert stats["sessions"] == {
        "found": 4,
        "too few queries": 1,
        "too many queries": 1,
        "kept": 2,
    }
    assert stats["splits"] == {"train": {"sessions": 2, "queries": 6, "pairs": 4}}


def test_gzip_carriage_returns_and_repeated_headers_change_nothing(tmp_path):
    plain = run(tmp_path, GOLDEN, *TRAIN_ONLY)
    again = GOLDEN.replace("\n12\t1\t", f"\n{HEADER}\n12\t1\t").replace("\n", "\r\n")
    packed = gzip.compress(again.encode("utf-8"))
    other = run(tmp_path, packed, *TRAIN_ONLY, name="log.gz", output="packed")
    for name in ("train.session", "train.next", "train.whole"):
        assert (plain / name).read_bytes() == (other / name).read_bytes()
    assert statistics(other)["lines"]["header"] == 2


def test_a_user_may_be_spread_over_files(tmp_path):
    header, *rows = GOLDEN.splitlines(keepends=True)
    parts = tmp_path / "even.tsv", tmp_path / "odd.tsv"
    parts[0].write_text(header + "".join(rows[::2]), encoding="utf-8")
    parts[1].write_text("".join(rows[1::2]), encoding="utf-8")  # no header
    folder = tmp_path / "out"
    log_to_sessions.main([*map(str, parts), "--output", str(folder), *TRAIN_ONLY])
    assert pairs(folder) == GOLDEN_PAIRS
    assert statistics(folder)["rows"]["removed"] == GOLDEN_REMOVED


def test_the_rules_are_flags(tmp_path):
    flags = [
        "--gap-minutes",
        "20",
        "--min-queries",
        "2",
        "--max-queries",
        "6",
        "--max-query-tokens",
        "3",
    ]
    whole = lines(run(tmp_path, GOLDEN, *TRAIN_ONLY, *flags) / "train.whole")
    assert whole == [
        r"\madeupword0001 q x <q> last",
        "1 <q> 2 <q> 3 <q> 4 <q> 5 <q> 6",
        "one <q> two",
    ]


# --- rules by themselves --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("WWW.E-Bay.com", "www e bay com"),
        ("bob's  \t diner\x00!", "bob s diner"),
        ("cafe\u0301", "café"),
        ("<q> </s> <session>", "q s session"),
        ("a_b", "a b"),
        ("हिन्दी गाने", "हिन्दी गाने"),  # vowel signs are marks, part of the word
        ("no-break\u00a0space\u2028line", "no break space line"),
        ("¿¡…", ""),
    ],
)
def test_character_rule(typed, expected):
    assert normalise(typed) == expected


@given(st.text())
def test_normalised_is_lower_case_nfc_words_and_stays(typed):
    text = normalise(typed)
    assert normalise(text) == text
    assert unicodedata.is_normalized("NFC", text)
    assert all(char == " " or unicodedata.category(char)[0] in "LMN" for char in text)
    assert text == " ".join(text.split())


@given(st.text(alphabet="<>/qsunk\\ ", max_size=20))
def test_what_was_typed_never_becomes_a_separator(typed):
    """Also without the character rule, which already takes out `<` and `>`."""
    line = encode_query(typed)
    assert not {"<q>", "<session>", "<s>", "</s>", "<unk>", "<pad>"} & set(line.split())
    assert decode_query(line) == " ".join(typed.split())


def test_duplicates_that_a_long_query_separated_count_once():
    counts = Counter()
    issued = [(0, "a"), (1, "x y z"), (2, "a"), (3, "b"), (4, "a")]
    rules = Rules(max_query_tokens=2)
    assert find_sessions("u", issued, rules, counts) == [Session("u", 0, ("a", "b", "a"))]
    assert (counts[LONG_QUERY], counts[DUPLICATE]) == (1, 1)


def test_a_long_query_still_bridges_a_gap():
    """It was issued: the user did not pause for 30 minutes."""
    issued = [(0, "a"), (60, "b"), (1700, "x y z"), (3400, "c")]
    rules = Rules(max_query_tokens=2)
    assert [s.queries for s in find_sessions("u", issued, rules, Counter())] == [("a", "b", "c")]


def test_split_is_the_documented_hash():
    """From `printf '1\\t217\\t2006-03-01 10:00:00\\ta <q> b <q> c' | sha256sum` and the like."""
    session = Session("217", 1141207200, ("a", "b", "c"))
    shares = (Decimal("19.7"), Decimal(5), Decimal("75.3"))
    assert split_of(session, Rules(split=shares)) == "test"  # 5a3c… is .352
    assert split_of(session, Rules(split=shares, seed=2)) == "valid"  # 32df… is .1987
    assert split_of(session, Rules(split=shares, split_by="user")) == "train"  # 31fa… is .1952


def many_sessions(users=40, sessions=25):
    return "".join(
        session_rows(user, f"2006-03-{day + 1:02} 10:00:00", f"{user} {day}", "more", "end")
        for user in range(users)
        for day in range(sessions)
    )


def test_split_has_about_the_shares_asked_for(tmp_path):
    splits = statistics(run(tmp_path, many_sessions(), "--split", "80,10,10"))["splits"]
    found = {name: split["sessions"] for name, split in splits.items()}
    assert sum(found.values()) == 1000
    assert abs(found["train"] - 800) < 60  # 4.7 standard deviations
    assert abs(found["valid"] - 100) < 45


def test_split_by_user_keeps_a_user_on_one_side(tmp_path):
    folder = run(tmp_path, many_sessions(), "--split", "80,10,10", "--split-by", "user")
    users = [
        {source.split()[0] for source, _ in pairs(folder, split)}
        for split in ("train", "valid", "test")
    ]
    assert sum(map(len, users)) == len(set.union(*users)) == 40


def test_history_puts_the_latest_sessions_in_front_oldest_first(tmp_path):
    log = "".join(
        session_rows("u", f"2006-03-0{day} 10:00:00", f"a{day}", f"b{day}", f"c{day}")
        for day in (1, 2, 3, 4)
    )
    log += session_rows("u", "2006-03-03 20:00:00", "too", "short")
    folder = run(
        tmp_path,
        log + session_rows("v", "2006-03-05 10:00:00", "d", "e", "f"),
        *TRAIN_ONLY,
        "--history",
        "2",
    )
    found = pairs(folder)
    assert found[0] == ("a1", "b1")
    assert found[2] == ("a1 <q> b1 <q> c1 <session> a2", "b2")
    history = "a2 <q> b2 <q> c2 <session> a3 <q> b3 <q> c3 <session>"
    assert found[6] == (f"{history} a4", "b4")
    assert found[7] == (f"{history} a4 <q> b4", "c4")
    assert found[8] == ("d", "e")  # another user's
    assert lines(folder / "train.whole")[1] == "a2 <q> b2 <q> c2"  # each query once


# --- what must hold for any log -------------------------------------------------------------------

# Seconds since the user's query before: the same second, around half an hour, long after.
some_steps = st.sampled_from([0, 1, 60, 60, 1799, 1800, 9999])
some_queries = st.sampled_from(
    ["a", "b", "c d", "a b c", "e", "f", "A", "-", " ", "?", "<q>", "é", "long " * 11]
)
rows_of_any_log = st.lists(
    st.tuples(st.sampled_from(["1", "2", "10"]), some_queries, some_steps), min_size=20, max_size=80
)


def text_of(rows):
    clock = dict.fromkeys(["1", "2", "10"], datetime(2006, 3, 1))
    text = []
    for user, query, step in rows:
        clock[user] += timedelta(seconds=step)
        text.append(f"{user}\t{query}\t{clock[user]}\t\t\n")
    return text


@settings(max_examples=100, deadline=None)
@given(rows=rows_of_any_log, seed=st.integers(0, 1000), history=st.integers(0, 2))
def test_any_log_in_any_order(tmp_path_factory, rows, seed, history):
    tmp_path = tmp_path_factory.mktemp("any")
    flags = [*TRAIN_ONLY, "--history", str(history)]
    log = text_of(rows)
    shuffled = "".join(random.Random(seed).sample(log, len(log)))
    try:
        folder = run(tmp_path, "".join(log), *flags)
    except InputError as error:
        assert "no session is left" in str(error)
        assert "no session is left" in bad_run(tmp_path, shuffled, *flags)
        return
    again = run(tmp_path, shuffled, *flags, output="again")
    for path in folder.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes(), path.name
    check_any_result(folder, len(rows))


def check_any_result(folder, row_count):
    stats = statistics(folder)
    rows, sessions = stats["rows"], stats["sessions"]
    assert rows["read"] == stats["lines"]["read"] == row_count
    assert rows["read"] == sum(rows["removed"].values()) + rows["kept"]
    removed = sessions["too few queries"] + sessions["too many queries"]
    assert sessions["found"] == removed + sessions["kept"]
    whole = [line.split(" <q> ") for line in lines(folder / "train.whole")]
    assert len(whole) == sessions["kept"]
    assert sum(map(len, whole)) == rows["kept"]
    assert check_pairs(str(folder / "train")) == sum(len(queries) - 1 for queries in whole)
    for queries in whole:
        assert 3 <= len(queries) <= 5
        assert all(1 <= len(query.split()) <= 10 for query in queries)
        assert all(a != b for a, b in zip(queries, queries[1:]))


def test_splits_do_not_depend_on_row_order(tmp_path):
    rows = many_sessions(20, 10).splitlines(keepends=True)
    flags = ["--split", "60,20,20"]
    folder = run(tmp_path, "".join(rows), *flags)
    random.Random(3).shuffle(rows)
    again = run(tmp_path, "".join(rows), *flags, output="again")
    assert len(list(folder.iterdir())) == 8
    for path in folder.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes(), path.name


def test_the_script_as_a_process_of_its_own(tmp_path):
    """The same bytes whatever the seed of Python's own hashes; one line and code 1 for an error."""
    here = run(tmp_path, GOLDEN, *TRAIN_ONLY)
    root = Path(__file__).parents[2]
    command = [sys.executable, root / "preprocess" / "log_to_sessions.py", tmp_path / "log.tsv"]
    command += ["--output", tmp_path / "there", *TRAIN_ONLY]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONHASHSEED": "7"}
    first, second = (
        subprocess.run(command, env=environment, capture_output=True, text=True) for _ in range(2)
    )
    assert first.returncode == 0, first.stderr
    for path in here.iterdir():
        assert path.read_bytes() == (tmp_path / "there" / path.name).read_bytes(), path.name
    assert second.returncode == 1
    assert second.stderr.splitlines()[-1].startswith(f"{tmp_path / 'there'}: exists already; ")
    assert "Traceback" not in second.stderr


# --- bad input ------------------------------------------------------------------------------------

MALFORMED = (
    GOLDEN.encode("utf-8")
    + b"8\tfour columns\t2006-03-01 10:00:00\t1\n"
    + b"\n"
    + b"8\tno such day\t2006-02-30 10:00:00\t\t\n"
    + b"8\tcompact\t20060301T100000\t\t\n"
    + b"8\tcaf\xe9\t2006-03-01 10:00:00\t\t\n"
    + b"\tnobody\t2006-03-01 10:00:00\t\t\n"
)


def test_malformed_rows_are_counted_by_reason_and_shown(tmp_path, capsys):
    folder = run(tmp_path, MALFORMED, *TRAIN_ONLY)
    assert pairs(folder) == GOLDEN_PAIRS
    stats = statistics(folder)
    assert stats["lines"]["malformed"] == {
        "wrong number of columns": 2,
        "unreadable time": 2,
        "no user": 1,
        "not UTF-8": 1,
    }
    assert stats["lines"]["read"] == stats["rows"]["read"] + 1 + 6
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == 6
    assert f"{tmp_path / 'log.tsv'}:27: not UTF-8, line skipped" in shown


def test_strict_stops_at_the_first_malformed_row(tmp_path):
    message = bad_run(tmp_path, MALFORMED, "--strict")
    assert message.startswith(f"{tmp_path / 'log.tsv'}:23: wrong number of columns; ")


@pytest.mark.parametrize("log", ["", HEADER + "\n", "hello\nworld\n", b"\x89PNG\r\n\x1a\n\x00\xff"])
def test_a_file_that_is_no_log(tmp_path, log):
    assert "log.tsv: not one row of a search log; expected" in bad_run(tmp_path, log)


def test_a_damaged_gzip_file(tmp_path):
    packed = gzip.compress(random.Random(1).getrandbits(8 * 9000).to_bytes(9000, "big"))
    assert "log.tsv: damaged gzip file" in bad_run(tmp_path, packed[:5000])


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match=r"absent\.tsv: no such file; check the path"):
        log_to_sessions.main([str(tmp_path / "absent.tsv"), "--output", str(tmp_path / "out")])
    assert not list(tmp_path.iterdir())


def test_an_empty_result(tmp_path):
    message = bad_run(tmp_path, GOLDEN, "--min-queries", "4", "--max-queries", "4")
    assert message.startswith("no session is left under these rules; ")


def test_an_empty_split(tmp_path):
    assert "no session falls into the valid split; " in bad_run(
        tmp_path, GOLDEN, "--split", "99.9998,0.0001,0.0001"
    )


def test_an_output_folder_that_exists(tmp_path):
    folder = run(tmp_path, GOLDEN, *TRAIN_ONLY)
    before = (folder / "train.whole").stat()
    assert bad_run(tmp_path, GOLDEN, *TRAIN_ONLY).startswith(f"{folder}: exists already; ")
    assert (folder / "train.whole").stat() == before


def test_overwrite_replaces_prepared_text_only(tmp_path):
    folder = run(tmp_path, many_sessions(20, 10), "--split", "60,20,20")
    run(tmp_path, GOLDEN, *TRAIN_ONLY, "--overwrite")
    assert lines(folder / "train.whole") == GOLDEN_WHOLE
    assert not (folder / "valid.session").exists()  # nothing is left of the earlier run
    (folder / "thesis.tex").touch()
    assert "holds thesis.tex" in bad_run(tmp_path, GOLDEN, *TRAIN_ONLY, "--overwrite")
    assert (folder / "thesis.tex").exists()


def test_a_failure_while_writing_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(log_to_sessions, "write_texts", fail)
    message = bad_run(tmp_path, GOLDEN, *TRAIN_ONLY)
    assert message.startswith(f"{tmp_path / 'out'}: cannot be written (No space left on device); ")


@pytest.mark.parametrize(
    "flags",
    [
        "--split 90,5",
        "--split 90,5,4",
        "--split a,b,c",
        "--split nan,50,50",
        "--min-queries 1",
        "--split 110,-5,-5",
        "--history -1",
        "--gap-minutes nan",
        "--max-query-tokens 0",
    ],
)
def test_flags_that_make_no_sense(tmp_path, flags, capsys):
    with pytest.raises(SystemExit) as exit:
        run(tmp_path, GOLDEN, *flags.split())
    assert exit.value.code == 2
    assert flags.split()[0] in capsys.readouterr().err.splitlines()[-1]


def test_fewer_than_the_fewest_queries(tmp_path):
    message = bad_run(tmp_path, GOLDEN, "--min-queries", "6")
    assert message.startswith("--max-queries is less than --min-queries; ")
