"""The whole command: its files, statistics, flags, and existing folders."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from preparation_helpers import (
    GOLDEN,
    GOLDEN_PAIRS,
    GOLDEN_WHOLE,
    TRAIN_ONLY,
    bad_run,
    contents,
    lines,
    many_sessions,
    pairs,
    run,
    session_rows,
    statistics,
)

from mtn_preprocess import log_to_sessions, preparation, row_query
from mtn_preprocess.errors import InputError
from mtn_preprocess.log_files import find_log
from mtn_preprocess.rules import Rules
from mtn_preprocess.session_files import SessionFiles
from mtn_preprocess.text.text_checks import check_pairs

# --- what is written ------------------------------------------------------------------------------


def test_golden_log_gives_exactly_these_files(tmp_path, capsys):
    folder = run(tmp_path, GOLDEN, *TRAIN_ONLY)
    assert sorted(path.name for path in folder.iterdir()) == [
        "display.tsv",
        "manifest.json",
        "rejects.tsv",
        "stats.json",
        "text.json",
        "train.next",
        "train.session",
        "train.whole",
    ]
    assert pairs(folder) == GOLDEN_PAIRS
    assert lines(folder / "train.whole") == GOLDEN_WHOLE
    assert check_pairs(str(folder / "train")) == 4
    assert (folder / "rejects.tsv").read_text() == "file\tline\treason\n"
    assert f"written to {folder}" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.tsv", "out"]  # no scratch


def test_golden_log_counts(tmp_path):
    stats = statistics(run(tmp_path, GOLDEN, *TRAIN_ONLY))
    assert stats["lines"]["read"] == 22
    assert stats["lines"]["header"] == 1
    assert set(stats["lines"]["malformed"].values()) == {0}
    assert stats["rows"] == {
        "read": 21,
        "removed": {
            "blank query": 2,
            "no letter or digit": 1,
            "further click on a query": 1,
            "on the block list": 0,
            "too many tokens": 1,
            "asked by too few users": 0,
            "successive duplicate": 2,
            "in a session of too few queries": 2,
            "in a session of too many queries": 6,
        },
        "kept": 6,
        "time going backwards": 0,
    }
    assert stats["sessions"] == {
        "found": 4,
        "too few queries": 1,
        "too many queries": 1,
        "kept": 2,
    }
    assert stats["splits"] == {"train": {"sessions": 2, "queries": 6, "pairs": 4, "words": 19}}
    assert stats["vocabulary"] == 0


def test_vocabulary_counts_words_of_training_seen_eight_times(tmp_path):
    """`more` and `end` are in every session; a day occurs once per user."""
    stats = statistics(run(tmp_path, many_sessions(8, 3), *TRAIN_ONLY))
    assert stats["splits"]["train"]["words"] == 8 + 2
    assert stats["vocabulary"] == 2 + 3


def test_words_are_counted_by_thresholds_that_people_choose_from(tmp_path, capsys):
    """`more` and `end` occur 10 times, `0` and `1` as users twice and as days 5 times."""
    stats = statistics(run(tmp_path, many_sessions(5, 2), *TRAIN_ONLY))
    assert stats["frequent words"] == {"2": 2 + 2 + 3, "5": 2 + 2, "8": 2}
    assert "words seen in training at least 2 times 7, 5 times 4, 8 times 2\n" in (
        capsys.readouterr().out
    )


def test_the_printed_table_has_every_count(tmp_path, capsys):
    folder = run(tmp_path, GOLDEN, *TRAIN_ONLY)
    printed = capsys.readouterr().out
    rows = statistics(folder)["rows"]
    for name, number in [("lines read", 22), ("rows read", 21), ("queries kept", 6)]:
        assert f"\n{name:<42}{number:>14}\n" in f"\n{printed}"
    for rule, number in rows["removed"].items():
        assert f"\n{f'- {rule}':<42}{number:>14}\n" in printed


def test_a_user_may_be_in_several_files(tmp_path):
    header, *rows = GOLDEN.splitlines(keepends=True)
    parts = tmp_path / "even.tsv", tmp_path / "odd.tsv"
    parts[0].write_text(header + "".join(rows[::2]), encoding="utf-8")
    parts[1].write_text("".join(rows[1::2]), encoding="utf-8")  # no header
    folder = tmp_path / "out"
    log_to_sessions.main([*map(str, parts), "--output", str(folder), *TRAIN_ONLY])
    assert pairs(folder) == GOLDEN_PAIRS


def test_the_manifest_records_input_and_flags(tmp_path):
    blocked = tmp_path / "blocked.txt"
    blocked.write_text("somebody\n", encoding="utf-8")
    folder = run(tmp_path, GOLDEN, *TRAIN_ONLY, "--seed", "5", "--block-list", str(blocked))
    made_from = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    data = GOLDEN.encode("utf-8")
    digest = hashlib.sha256(data).hexdigest()
    assert made_from["inputs"] == [{"name": "log.tsv", "bytes": len(data), "sha256": digest}]
    assert made_from["flags"]["seed"] == 5
    assert made_from["flags"]["split"] == [100.0, 0.0, 0.0]
    assert made_from["flags"]["block_list"] == hashlib.sha256(b"somebody").hexdigest()
    written = contents(folder)
    assert statistics(folder)["rules"]["block_list"] == made_from["flags"]["block_list"]
    assert not any(b"somebody" in written[name] for name in ("manifest.json", "stats.json"))


def test_the_script_as_a_process(tmp_path):
    """The same bytes for any seed of Python's hashes; one line and exit code 1 for an error."""
    here = run(tmp_path, GOLDEN, *TRAIN_ONLY)
    root = Path(__file__).parents[3]
    command = [sys.executable, root / "preprocess" / "log_to_sessions.py", tmp_path / "log.tsv"]
    command += ["--output", tmp_path / "there", *TRAIN_ONLY]
    environment = {**os.environ, "PYTHONHASHSEED": "7"}

    def process(*more):
        return subprocess.run([*command, *more], env=environment, capture_output=True, text=True)

    first, other = process(), process("--seed", "3")
    assert first.returncode == 0, first.stderr
    assert contents(here) == contents(tmp_path / "there")
    assert other.returncode == 1
    assert other.stderr.splitlines()[-1].startswith(f"{tmp_path / 'there'}: exists already, ")
    assert "Traceback" not in other.stderr


# --- a folder that exists -------------------------------------------------------------------------


def moments(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


@pytest.mark.parametrize("more", [[], ["--threads", "1"], ["--memory-limit", "1GiB"]])
def test_the_same_output_is_left_unchanged(tmp_path, more, capsys):
    """Also if another engine or thread count would make it: the bytes would be the same."""
    folder = run(tmp_path, GOLDEN, *TRAIN_ONLY)
    before = moments(folder)
    table = capsys.readouterr().out.partition("\n\nwritten to")[0]
    run(tmp_path, GOLDEN, *TRAIN_ONLY, *more)
    assert moments(folder) == before
    assert capsys.readouterr().out == f"{table}\n\nas before, from the same input: {folder}\n"


def test_a_moved_log_is_the_same_log(tmp_path):
    folder = run(tmp_path, GOLDEN, *TRAIN_ONLY)
    before = moments(folder)
    (tmp_path / "elsewhere").mkdir()
    run(tmp_path, GOLDEN, *TRAIN_ONLY, name="elsewhere/log.tsv")
    assert moments(folder) == before


@pytest.mark.parametrize(
    ("log", "flags", "reason"),
    [
        (GOLDEN, ["--seed", "2"], "made from other flags"),
        (GOLDEN, ["--history", "1"], "made from other flags"),
        (GOLDEN.replace("last", "latest"), [], "made from other inputs"),
    ],
)
def test_a_folder_made_from_other_input_is_refused(tmp_path, log, flags, reason):
    folder = run(tmp_path, GOLDEN, *TRAIN_ONLY)
    before = moments(folder)
    message = bad_run(tmp_path, log, *TRAIN_ONLY, *flags)
    assert message.startswith(f"{folder}: exists already, {reason}; ")
    assert moments(folder) == before


@pytest.mark.parametrize(
    "manifest", [None, "", "[]", "{}", pytest.param("[" * 100_000, id="deeply nested")]
)
def test_a_folder_without_a_manifest_is_refused(tmp_path, manifest):
    (tmp_path / "out").mkdir()
    if manifest is not None:
        (tmp_path / "out" / "manifest.json").write_text(manifest)
    assert bad_run(tmp_path, GOLDEN).startswith(f"{tmp_path / 'out'}: exists already")


def test_overwrite_replaces_prepared_text_only(tmp_path):
    folder = run(tmp_path, many_sessions(20, 10), "--split", "60,20,20")
    run(tmp_path, GOLDEN, *TRAIN_ONLY, "--overwrite")
    assert lines(folder / "train.whole") == GOLDEN_WHOLE
    assert not (folder / "valid.session").exists()  # nothing is left of the earlier run
    (folder / "thesis.tex").touch()
    assert "holds thesis.tex" in bad_run(tmp_path, GOLDEN, *TRAIN_ONLY, "--overwrite")
    assert (folder / "thesis.tex").exists()


# --- failures -------------------------------------------------------------------------------------


def break_writing(monkeypatch, error):
    def fail(self, sessions):
        raise error

    monkeypatch.setattr(SessionFiles, "write", fail)


@pytest.mark.parametrize("split_by", ["session", "time"])
def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch, split_by):
    break_writing(monkeypatch, OSError(28, "No space left on device"))
    message = bad_run(tmp_path, GOLDEN, *TRAIN_ONLY, "--split-by", split_by)
    assert message.startswith(f"{tmp_path / 'out'}: cannot be written (No space left on device); ")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("a fault of the program")])
def test_a_failure_keeps_the_folder_to_be_replaced(tmp_path, monkeypatch, error):
    folder = run(tmp_path, GOLDEN, *TRAIN_ONLY)
    before = contents(folder)
    break_writing(monkeypatch, error)
    with pytest.raises(type(error)):
        run(tmp_path, GOLDEN, *TRAIN_ONLY, "--overwrite", "--history", "1")
    assert contents(folder) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.tsv", "out"]


def test_statistics_that_do_not_add_up_are_not_written(tmp_path, monkeypatch):
    whole = SessionFiles.write
    monkeypatch.setattr(SessionFiles, "write", lambda self, some: whole(self, some.slice(1)))
    with pytest.raises(AssertionError, match="rows or sessions got lost"):
        run(tmp_path, many_sessions(2, 3), *TRAIN_ONLY)
    assert not (tmp_path / "out").exists()


def test_an_empty_result(tmp_path):
    message = bad_run(tmp_path, GOLDEN, "--min-queries", "4", "--max-queries", "4")
    assert message.startswith("no session is left under these rules; ")


@pytest.mark.parametrize("split_by", ["session", "user", "time"])
def test_an_empty_split(tmp_path, split_by):
    flags = ["--split", "99.9998,0.0001,0.0001", "--split-by", split_by]
    assert "no session falls into the valid split; " in bad_run(tmp_path, GOLDEN, *flags)


# --- flags ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flags",
    [
        "--split 90,5",
        "--split 90,5,4",
        "--split a,b,c",
        "--split nan,50,50",
        "--split 110,-5,-5",
        "--split-by day",
        "--min-queries 1",
        "--max-queries 1",
        "--min-users 0",
        "--history -1",
        "--gap-minutes nan",
        "--gap-minutes inf",
        "--gap-minutes 0",
        "--max-query-tokens 0",
        "--seed one",
        "--threads 0",
        "--engine abacus",
    ],
)
def test_flags_that_make_no_sense(tmp_path, flags, capsys):
    with pytest.raises(SystemExit) as exit:
        run(tmp_path, GOLDEN, *flags.split())
    assert exit.value.code == 2
    assert flags.split()[0] in capsys.readouterr().err.splitlines()[-1]


def test_max_queries_below_min_queries(tmp_path):
    message = bad_run(tmp_path, GOLDEN, "--min-queries", "6")
    assert message.startswith("--max-queries is less than --min-queries; ")


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_an_invalid_memory_limit(tmp_path, engine):
    message = bad_run(tmp_path, GOLDEN, "--memory-limit", "plenty", "--engine", engine)
    assert "--memory-limit" in message


def test_flags_and_headers_are_never_run_as_sql(tmp_path):
    target = tmp_path / "copied.csv"
    limit = f"1GB'; COPY (SELECT 'x') TO '{target}'; --"
    assert "--memory-limit" in bad_run(tmp_path, GOLDEN, "--memory-limit", limit)
    names = [f"u{end}" for end in ("'", "\\", "\\'); --")]
    flags = [f"--{what}-column={name}" for what, name in zip(("user", "query", "time"), names)]
    log = "\t".join(names) + "\n" + session_rows(7, "2006-03-01 10:00:00", "a", "b", "c")
    folder = run(
        tmp_path,
        log.replace("\t\t\n", "\n"),
        *flags,
        f"--scratch={tmp_path}/it's; --",
        *TRAIN_ONLY,
    )
    assert lines(folder / "train.whole") == ["a <q> b <q> c"]
    assert not target.exists()
    sql = row_query.rows(find_log([str(tmp_path / "log.tsv")], tuple(names)), Rules())
    assert not any(name in sql for name in names)  # engines quote differently


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"good\n\n/(/\n", ":3: bad pattern"),
        (b"good\n# comment\n???\n", ":3: no word in this entry; "),
        (b"caf\xe9\n", ": cannot be read"),
        (None, ": cannot be read"),
    ],
)
def test_a_bad_block_list(tmp_path, text, message):
    listed = tmp_path / "blocked.txt"
    if text is not None:
        listed.write_bytes(text)
    found = bad_run(tmp_path, GOLDEN, "--block-list", str(listed))
    assert found.startswith(f"{listed}{message}")


def test_scratch_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    message = bad_run(tmp_path, GOLDEN, "--scratch", str(tmp_path / "file" / "scratch"))
    assert "--scratch" in message


def test_errors_come_before_the_long_part(tmp_path, monkeypatch):
    """An unusable folder is reported before anything is read."""
    (tmp_path / "out").mkdir()
    monkeypatch.setattr(preparation, "started_engine", None)
    with pytest.raises(InputError, match="exists already"):
        run(tmp_path, GOLDEN)
