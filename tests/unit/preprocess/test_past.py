"""`--past`: a person's earlier sessions, and nothing later."""

import re
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from preparation_helpers import bad_run, contents, lines, pairs, run, session_rows, statistics

from examples import examples
from mtn_preprocess import session_files
from mtn_preprocess.text.histories import read_histories

TEST_ONLY = ["--split", "0,0,100"]
DAYS = [f"2006-03-{day:02} 10:00:00" for day in range(1, 8)]
ONE_PERSON = "".join(
    [
        session_rows("u", DAYS[0], "alone"),
        session_rows("u", DAYS[1], "a", "b", "b", "c"),
        session_rows("u", DAYS[2], "too long a query of far too many words to be kept"),
        session_rows("u", DAYS[3], *"pqrstu"),
        session_rows("u", DAYS[4], "x", "y", "z"),
        session_rows("v", DAYS[5], "k", "l", "m"),
    ]
)


def test_earlier_sessions_of_any_length_oldest_first(tmp_path):
    """One of one query and one of six; none from a session of which nothing is left."""
    folder = run(tmp_path, ONE_PERSON, *TEST_ONLY, "--past", "3")
    assert [source for source, _ in pairs(folder, "test")] == [
        "a",
        "a <q> b",
        "x",
        "x <q> y",
        "k",
        "k <q> l",
    ]
    before = "alone <session> a <q> b <q> c <session> p <q> q <q> r <q> s <q> t <q> u"
    assert lines(folder / "test.history") == ["alone", "alone", before, before, "", ""]
    assert statistics(folder)["pairs with a past"] == {"test": 4}


def test_only_the_last_sessions(tmp_path):
    folder = run(tmp_path, ONE_PERSON, *TEST_ONLY, "--past", "1")
    last = "p <q> q <q> r <q> s <q> t <q> u"
    assert lines(folder / "test.history") == ["alone", "alone", last, last, "", ""]


def test_nothing_else_changes(tmp_path):
    flags = ["--split", "40,30,30", "--users", "--history", "1"]
    log = "".join(
        session_rows(user, day, *(f"{word} {user}" for word in words))
        for user in range(40)
        for day, words in zip(DAYS, ["a", "abc", "defg", "hi", "jkl", "abcdefg"])
    )
    without = contents(run(tmp_path, log, *flags, output="without"))
    past = contents(run(tmp_path, log, *flags, "--past", "9", output="past"))
    assert past.keys() - without.keys() == {"valid.history", "test.history"}
    for name in without.keys() - {"stats.json", "manifest.json"}:
        assert past[name] == without[name], name
    for name in ("valid", "test"):
        assert past[f"{name}.history"].count(b"\n") == without[f"{name}.next"].count(b"\n") > 20


def test_histories_are_written_in_word_pieces_like_the_rest(tmp_path):
    log = "".join(
        session_rows(user, day, f"alpha {user}", "beta", f"gamma {word}")
        for user in range(30)
        for day, word in zip(DAYS, "abcdef")
    )
    flags = ["--split", "60,20,20", "--past", "2"]
    words = run(tmp_path, log, *flags, output="words")
    pieces = run(tmp_path, log, *flags, "--sentencepiece", "40", output="pieces")
    assert "▁" in (pieces / "test.history").read_text(encoding="utf-8")
    for split in ("valid", "test"):
        in_words, in_pieces = (read_histories(str(each / split)) for each in (words, pieces))
        assert list(in_words) == list(in_pieces)


def test_the_batch_size_does_not_matter(tmp_path, monkeypatch):
    at_once = run(tmp_path, ONE_PERSON, *TEST_ONLY, "--past", "3", output="at once")
    monkeypatch.setattr(session_files, "_BATCH_SIZE", 1)
    apart = run(tmp_path, ONE_PERSON, *TEST_ONLY, "--past", "3", output="apart")
    assert contents(apart) == contents(at_once)


def test_training_has_no_history_and_past_needs_valid_or_test(tmp_path):
    assert "--past is for valid and test" in bad_run(
        tmp_path, ONE_PERSON, "--split", "100,0,0", "--past", "3"
    )
    with pytest.raises(SystemExit):
        run(tmp_path, ONE_PERSON, "--past", "1001")


# Each query is the second when it was asked, on a clock per user: the text reveals the time.
CLOCKS = {"u": 0, "v": 100_000_000, "w": 200_000_000}
some_pauses = st.lists(
    st.tuples(st.sampled_from("uv"), st.sampled_from([1, 60, 1799, 1800, 1801, 9000])),
    min_size=30,  # so that nearly every log has sessions to keep and earlier ones
    max_size=60,
)


@examples(60)
@given(pauses=some_pauses, past=st.integers(1, 6), by=st.sampled_from(["session", "user", "time"]))
def test_nothing_of_a_history_is_later_than_the_start_of_its_session(pauses, past, by):
    clocks, rows = dict(CLOCKS), []
    for user, pause in [*pauses, ("w", 1), ("w", 1), ("w", 1)]:  # at least one session
        clocks[user] += pause
        time = datetime(2006, 3, 1) + timedelta(seconds=clocks[user] - CLOCKS[user])
        rows.append(f"{user}\t{clocks[user]}\t{time}\n")
    with tempfile.TemporaryDirectory() as name:
        flags = [*TEST_ONLY, "--split-by", by, "--past", str(past)]
        folder = run(Path(name), "".join(["AnonID\tQuery\tQueryTime\n", *rows]), *flags)
        found = list(zip(pairs(folder, "test"), lines(folder / "test.history")))
    for (source, target), history in found:
        own = [int(each) for each in re.findall(r"\d+", f"{source} {target}")]
        earlier = [int(each) for each in re.findall(r"\d+", history)]
        assert earlier == sorted(set(earlier)), "oldest first, each once"
        assert not set(own) & set(earlier)
        same_person = own[0] // 100_000_000 * 100_000_000
        assert all(same_person < each <= own[0] - 1800 for each in earlier)
        assert len(history.split(" <session> ")) <= past
