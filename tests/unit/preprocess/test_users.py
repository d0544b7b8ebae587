"""`--users`: pairs of the same person, without their identity."""

import pytest
from preparation_helpers import GOLDEN, GOLDEN_PAIRS, TRAIN_ONLY, lines, many_sessions, pairs, run

from mtn_preprocess import session_files
from mtn_preprocess.errors import InputError
from mtn_preprocess.session_files import SessionFiles
from mtn_preprocess.text.users import read_user_keys, user_key


def test_one_number_per_pair(tmp_path):
    """Users 12 and 7, in this order."""
    folder = run(tmp_path, GOLDEN, *TRAIN_ONLY, "--users")
    assert pairs(folder) == GOLDEN_PAIRS
    assert lines(folder / "train.user") == ["0", "0", "1", "1"]


def test_only_on_request(tmp_path):
    folder = run(tmp_path, GOLDEN, *TRAIN_ONLY)
    assert not (folder / "train.user").exists()
    with pytest.raises(InputError, match="made from other flags"):
        run(tmp_path, GOLDEN, *TRAIN_ONLY, "--users")
    assert (run(tmp_path, GOLDEN, *TRAIN_ONLY, "--users", "--overwrite") / "train.user").exists()


@pytest.mark.parametrize("by", ["session", "time"])
def test_numbers_are_unique_across_batches(tmp_path, monkeypatch, by):
    """The same numbers for one batch and for one batch per user."""
    log = many_sessions(40)
    flags = ["--split", "60,20,20", "--split-by", by, "--users", "--user-keys"]
    at_once = run(tmp_path, log, *flags, output="at once")

    def one_by_one(self, sessions):
        who = sessions["who"].to_pylist()
        starts = [i for i in range(len(who)) if i == 0 or who[i] != who[i - 1]]
        for start, end in zip(starts, [*starts[1:], len(who)]):
            write(self, sessions.slice(start, end - start))

    write = SessionFiles.write
    monkeypatch.setattr(session_files.SessionFiles, "write", one_by_one)
    apart = run(tmp_path, log, *flags, output="apart")
    assert lines(apart / "users.key") == lines(at_once / "users.key")
    for split in ("train", "valid", "test"):
        for end in ("session", "next", "user"):
            assert lines(apart / f"{split}.{end}") == lines(at_once / f"{split}.{end}")
        numbers = lines(at_once / f"{split}.user")
        assert len(numbers) == len(lines(at_once / f"{split}.next")) and len(set(numbers)) > 2


def test_a_person_has_the_same_key_in_all_text(tmp_path):
    """User 7 is person 1 after user 12, and person 0 alone."""
    folder = run(tmp_path, GOLDEN, *TRAIN_ONLY, "--users", "--user-keys")
    assert lines(folder / "users.key") == [user_key("12"), user_key("7")]
    assert read_user_keys(folder) == [int(user_key("12"), 16), int(user_key("7"), 16)]
    alone = "".join(line for line in GOLDEN.splitlines(True) if not line.startswith("12\t"))
    other = run(tmp_path, alone, *TRAIN_ONLY, "--users", "--user-keys", output="other")
    assert lines(other / "users.key") == [user_key("7")]
    assert read_user_keys(tmp_path) is None
    assert not (run(tmp_path, GOLDEN, *TRAIN_ONLY, "--users", output="x") / "users.key").exists()


def test_keys_need_users(tmp_path):
    with pytest.raises(InputError, match=r"--user-keys is for the people .*; add --users"):
        run(tmp_path, GOLDEN, *TRAIN_ONLY, "--user-keys")
