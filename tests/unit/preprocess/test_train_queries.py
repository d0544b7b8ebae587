"""`--train-queries`: more session lengths for training, the same test."""

import pytest
from preparation_helpers import bad_run, contents, lines, run, session_rows, statistics

WIDE = ["--train-queries", "2,6"]
FOR_TRAINING = "for training only, in valid or test"


LENGTHS = [1, 2, 3, 4, 2, 5, 6, 3, 7, 2, 3]


def log_of_all_lengths(users=40):
    """One session per length and user, on different days; queries name user and day."""
    return "".join(
        session_rows(
            user,
            f"2006-03-{day + 1:02} {10 + user % 12}:00:{user:02}",
            *(f"{user} {day} {n}" for n in range(LENGTHS[(day + user) % len(LENGTHS)])),
        )
        for user in range(users)
        for day in range(len(LENGTHS))
    )


LOG = log_of_all_lengths()


def sessions(folder, split):
    """User and day of each session, with its number of queries."""
    found = {}
    for line in lines(folder / f"{split}.session"):
        user, day, _ = line.split()[:3]
        found[user, day] = found.get((user, day), 1) + 1
    return found


@pytest.mark.parametrize("by", ["session", "user", "time"])
def test_training_has_more_lengths_and_the_test_is_the_same(tmp_path, by):
    flags = ["--split", "60,20,20", "--split-by", by, "--users"]
    usual = run(tmp_path, LOG, *flags, output="usual")
    wide = run(tmp_path, LOG, *flags, *WIDE, output="wide")
    for split in ("valid", "test"):
        for end in ("session", "next"):
            assert lines(wide / f"{split}.{end}") == lines(usual / f"{split}.{end}")
        assert set(sessions(wide, split).values()) == {3, 4, 5}
    in_train, in_usual = sessions(wide, "train"), sessions(usual, "train")
    assert set(in_train.values()) == {2, 3, 4, 5, 6}
    assert in_usual.items() <= in_train.items()
    assert set(in_usual.values()) == {3, 4, 5}
    all_of_them = [each for split in ("train", "valid", "test") for each in sessions(wide, split)]
    assert len(all_of_them) == len(set(all_of_them)), "a session on both sides"
    if by == "user":
        people = [{user for user, _ in sessions(wide, split)} for split in ("train", "test")]
        assert not people[0] & people[1]


@pytest.mark.parametrize("by", ["session", "user", "time"])
def test_dropped_sessions_are_counted(tmp_path, capsys, by):
    folder = run(tmp_path, LOG, "--split", "60,20,20", "--split-by", by, *WIDE)
    stats = statistics(folder)
    trained = sessions(folder, "train").values()
    counted = stats["sessions"]
    assert (counted["found"], counted["too few queries"], counted["too many queries"]) == (
        11 * 40,
        40,
        40,
    )
    # 3 sessions of two queries and one of six per user: in training, or dropped.
    dropped = 4 * 40 - sum(n in (2, 6) for n in trained)
    assert counted[FOR_TRAINING] == dropped > 0
    queries = (3 * 2 + 6) * 40 - sum(n for n in trained if n in (2, 6))
    assert stats["rows"]["removed"]["in a session for training only"] == queries
    printed = " ".join(capsys.readouterr().out.split())
    assert f"- {FOR_TRAINING} {dropped} " in printed
    assert f"- in a session for training only {queries} " in printed
    assert stats["rules"]["train_queries"] == [2, 6]


def test_by_time_training_ends_before_validation(tmp_path):
    folder = run(tmp_path, LOG, "--split", "60,20,20", "--split-by", "time", *WIDE)

    def days(split):
        return {int(day) for _, day in sessions(folder, split)}

    assert max(days("train")) <= min(days("valid")) <= max(days("valid")) <= min(days("test"))


def test_the_default_range_changes_nothing(tmp_path):
    flags = ["--split", "60,20,20", "--users", "--history", "2"]
    without = contents(run(tmp_path, LOG, *flags, output="without"))
    same = contents(run(tmp_path, LOG, *flags, "--train-queries", "3,5", output="same"))
    for name in without.keys() - {"stats.json", "manifest.json"}:
        assert same[name] == without[name], name


def test_folders_made_before_these_flags_are_recognised(tmp_path):
    """Unset flags are neither in the manifest nor in the statistics."""
    folder = run(tmp_path, LOG, "--split", "60,20,20")
    for name in ("manifest.json", "stats.json"):
        text = (folder / name).read_text()
        assert not any(word in text for word in ("train_queries", "past", "training only"))


def test_a_run_with_the_same_flags_keeps_the_folder(tmp_path, capsys):
    flags = ["--split", "60,20,20", *WIDE, "--past", "2"]
    run(tmp_path, LOG, *flags)
    run(tmp_path, LOG, *flags)
    assert "as before, from the same input" in capsys.readouterr().out
    assert "made from other flags" in bad_run(tmp_path, LOG, "--split", "60,20,20")


def test_all_users_of_all_splits_share_one_numbering(tmp_path):
    folder = run(tmp_path, LOG, "--split", "40,30,30", *WIDE, "--users")
    person = {}
    for split in ("train", "valid", "test"):
        sources, numbers = lines(folder / f"{split}.session"), lines(folder / f"{split}.user")
        assert len(sources) == len(numbers)
        for source, number in zip(sources, numbers):
            assert person.setdefault(number, source.split()[0]) == source.split()[0]
    assert set(person) == {str(number) for number in range(40)}
    assert len(set(person.values())) == 40


@pytest.mark.parametrize("wrong", ["4,10", "2,4", "3,4"])
def test_a_range_without_the_lengths_of_the_test_is_refused(tmp_path, wrong):
    assert f"--train-queries {wrong} leaves out" in bad_run(tmp_path, LOG, "--train-queries", wrong)


@pytest.mark.parametrize("wrong", ["2", "1,5", "5,3", "2,x", "2,3,4", "-2,5", ""])
def test_an_invalid_range_is_refused(tmp_path, capsys, wrong):
    with pytest.raises(SystemExit):
        run(tmp_path, LOG, f"--train-queries={wrong}")
    assert "must be fewest and most queries" in capsys.readouterr().err
