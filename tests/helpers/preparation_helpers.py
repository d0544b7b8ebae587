"""For tests of the preparation: the golden log, and the command run on a log."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from reference_sessions import HEADER

from mtn_preprocess import log_to_sessions
from mtn_preprocess.errors import InputError

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


def run(tmp_path, log, *flags, name="log.tsv", output="out"):
    """Write the log and run the command; return its output folder."""
    path = tmp_path / name
    path.write_text(log, encoding="utf-8")
    folder = tmp_path / output
    log_to_sessions.main([str(path), "--output", str(folder), *flags])
    return folder


def bad_run(tmp_path, log, *flags, **names):
    """Return the command's one-line error; nothing may be written."""
    before = set(tmp_path.iterdir())
    with pytest.raises(InputError) as error:
        run(tmp_path, log, *flags, **names)
    log_name = names.get("name", "log.tsv")
    assert {path.name for path in set(tmp_path.iterdir()) - before} <= {log_name}
    assert "\n" not in str(error.value)
    return str(error.value)


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def pairs(folder, split="train"):
    return list(zip(lines(folder / f"{split}.session"), lines(folder / f"{split}.next")))


def statistics(folder):
    return json.loads((folder / "stats.json").read_text(encoding="utf-8"))


def contents(folder: Path):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def session_rows(user, start, *queries):
    """Rows of one session, with a minute between queries."""
    time = datetime.fromisoformat(start)
    moments = (time + timedelta(minutes=i) for i in range(len(queries)))
    return "".join(f"{user}\t{q}\t{moment}\t\t\n" for q, moment in zip(queries, moments))


def many_sessions(users=40, days=25):
    """Sessions of three queries; the first names user and day."""
    return "".join(
        session_rows(user, f"2006-03-{day + 1:02} 10:00:00", f"{user} {day}", "more", "end")
        for user in range(users)
        for day in range(days)
    )
