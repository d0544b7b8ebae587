"""The preparation of any log: the same bytes and counts as the slow reference.

The second half tests the promised properties themselves, to find errors shared with the reference.
"""

import json
import tempfile
from pathlib import Path

import pytest
import reference_sessions
from hypothesis import event, given
from hypothesis import strategies as st
from random_logs import (
    ANY_LOG,
    FIRST_DAYS,
    Shape,
    a_log,
    log_files,
    row_lines,
    shares,
    some_others,
    some_rows,
    some_rules,
    some_shape,
)

from examples import examples
from mtn_preprocess.engines import duckdb_engine
from mtn_preprocess.errors import InputError
from mtn_preprocess.flags import Settings
from mtn_preprocess.preparation import prepare
from mtn_preprocess.rules import SPLITS, Rules
from mtn_preprocess.sessions import BACKWARDS
from mtn_preprocess.text.display_forms import read_forms
from mtn_preprocess.text.text_checks import check_pairs

NOT_OF_THE_LOG = {"stats.json", "manifest.json"}  # they contain the flags


@pytest.fixture(scope="module")
def place():
    """A new folder per example, because hypothesis runs many examples in one test."""
    with tempfile.TemporaryDirectory() as folder:
        yield lambda: Path(tempfile.mkdtemp(dir=folder))


def write_log(folder, contents):
    paths = [folder / f"{number}.tsv" for number in range(len(contents))]
    for path, content in zip(paths, contents):
        path.write_bytes(content)
    return paths


def prepared(folder, contents, rules, **how):
    """The command's files except two, and its statistics; or the reason of its error."""
    paths = write_log(folder, contents)
    try:
        prepare(Settings(list(map(str, paths)), folder / "out", rules, **ANY_LOG, **how))
    except InputError as error:
        assert not (folder / "out").exists()
        return error.reason.partition(":")[0]  # without the faults of the lines
    files = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    stats = json.loads(files["stats.json"])
    return {name: files[name] for name in files.keys() - NOT_OF_THE_LOG}, stats


def expected(folder, contents, rules, users):
    paths = write_log(folder, contents)
    try:
        return reference_sessions.prepare(list(zip(map(str, paths), contents)), rules, users)
    except reference_sessions.Nothing as error:
        return str(error)


# --- against the reference ------------------------------------------------------------------------


def check_against_reference(folder, contents, rules, **how):
    reference = expected(folder, contents, rules, how.get("users", False))
    found = prepared(folder, contents, rules, **how)
    if isinstance(reference, str) or isinstance(found, str):
        assert found == reference
        return found
    files, stats = found
    assert {key: stats[key] for key in reference.stats} == reference.stats
    assert files == reference.files
    return None


@examples(150)
@given(
    rows=some_rows,
    others=some_others,
    first_day=st.sampled_from(FIRST_DAYS),
    shape=some_shape,
    rules=some_rules,
)
def test_files_and_counts_equal_the_reference(place, rows, others, first_day, shape, rules):
    lines = row_lines(rows, first_day) + others
    event("refused" if check_against_reference(place(), log_files(lines, shape), rules) else "")


@pytest.mark.parametrize("split_by", ["session", "user", "time"])
@pytest.mark.parametrize("min_users", [1, 2])
def test_a_longer_log_equals_the_reference(place, split_by, min_users):
    """It contains every kind of line and word, and fills every split."""
    contents = a_log(5, 3000, Shape(3, 3, shuffled=True))
    rules = Rules(
        min_users=min_users,
        block_list=("é b", "/^c/"),
        mask_numbers=True,
        mask_emails=True,
        split=shares("50,25,25"),
        split_by=split_by,
        seed=2,
        history=2,
        min_queries=3,
        max_queries=20,
        train_queries=(2, 30),
        past=3,
    )
    folder = place()
    assert check_against_reference(folder, contents, rules, users=True) is None
    stats = json.loads((folder / "out/stats.json").read_text())
    assert stats["sessions"]["for training only, in valid or test"] > 10
    assert stats["pairs with a past"]["test"] > 10
    assert len(read_forms(folder / "out")) > 3


# --- promised properties --------------------------------------------------------------------------

BLANK_ROW = b"0\t-\t2006-03-01 10:00:00"  # so that every file has a row


@examples(80)
@given(rows=some_rows, others=some_others, shape=some_shape, rules=some_rules)
def test_every_line_is_counted_once_and_kept_sessions_obey_the_rules(
    place, rows, others, shape, rules
):
    folder = place()
    contents = log_files(row_lines(rows, FIRST_DAYS[0]) + others, shape)
    found = prepared(folder, contents, rules)
    if isinstance(found, str):
        return
    files, stats = found
    lines, counted = stats["lines"], stats["rows"]
    malformed = sum(lines["malformed"].values())
    assert lines["read"] == sum(len(content.split(b"\n")) for content in contents) - sum(
        content.endswith(b"\n") for content in contents
    )
    assert lines["read"] == lines["header"] + malformed + counted["read"]
    assert counted["read"] == sum(counted["removed"].values()) + counted["kept"]
    assert files["rejects.tsv"].count(b"\n") == 1 + malformed
    sessions = stats["sessions"]
    assert sessions["found"] == (
        sessions["too few queries"]
        + sessions["too many queries"]
        + sessions.get("for training only, in valid or test", 0)
        + sessions["kept"]
    )
    splits = stats["splits"]
    assert list(splits) == [name for name, share in zip(SPLITS, rules.split) if share]
    assert sum(split["sessions"] for split in splits.values()) == sessions["kept"]
    assert sum(split["queries"] for split in splits.values()) == counted["kept"]
    for name, split in splits.items():
        assert split["pairs"] == split["queries"] - split["sessions"] > 0
        assert check_pairs(str(folder / "out" / name)) == split["pairs"]
    if "train" in splits:
        check_sessions(files["train.whole"].decode(), splits["train"], rules)


def check_sessions(whole, split, rules):
    sessions = [line.split(" <q> ") for line in whole.splitlines()]
    assert len(sessions) == split["sessions"]
    assert sum(map(len, sessions)) == split["queries"]
    for queries in sessions:
        assert rules.train_bounds[0] <= len(queries) <= rules.train_bounds[1]
        assert all(a != b for a, b in zip(queries, queries[1:]))
        assert all(1 <= len(query.split()) <= rules.max_query_tokens for query in queries)


@examples(50)
@given(rows=some_rows, others=some_others, shapes=st.tuples(*[some_shape] * 2), rules=some_rules)
def test_the_order_of_rows_and_files_does_not_matter(place, rows, others, shapes, rules):
    """Except for rejects.tsv, which names lines, and the count of rows out of order."""
    lines = row_lines(rows, FIRST_DAYS[0]) + others
    results = []
    for shape in shapes:
        # With an even seed, every line has a line end.
        contents = log_files(lines, shape._replace(seed=2 * shape.seed, files=3, headers=True))
        contents = [content + BLANK_ROW for content in contents]
        results.append(prepared(place(), contents, rules))
    if isinstance(results[0], str):
        assert results[0] == results[1]
        return
    for files, stats in results:
        del files["rejects.tsv"], stats["rows"][BACKWARDS]
    assert results[0] == results[1]


@pytest.mark.parametrize("split_by", ["session", "time"])
def test_threads_memory_and_batches_do_not_matter(place, monkeypatch, split_by):
    contents = a_log(7, 6000, Shape(2, 3, shuffled=True))
    rules = Rules(
        split=shares("60,20,20"),
        split_by=split_by,
        min_users=2,
        history=1,
        train_queries=(2, 9),
        past=2,
    )
    folder = place()  # the same for all, because rejects.tsv names the files
    results = []
    for threads, memory, rows in [(1, "2GiB", 1 << 19), (4, "2GiB", 1 << 19), (2, "150MB", 1)]:
        monkeypatch.setattr(duckdb_engine, "_ROWS", rows)
        how = {"threads": threads, "memory_limit": memory, "overwrite": True}
        results.append(prepared(folder, contents, rules, **how))
    assert results[0][1]["sessions"]["kept"] > 100
    assert results[0] == results[1] == results[2]
