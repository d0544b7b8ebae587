"""Readers of the files beside the pairs: earlier sessions and users."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.histories import histories_of, read_histories, split_history
from mtn_preprocess.text.session_pairs import Pair
from mtn_preprocess.text.session_text import join_units, queries_of
from mtn_preprocess.text.users import read_users

QUERY = st.lists(st.sampled_from(["a", "b", r"\<q>", "c++"]), min_size=1, max_size=3).map(" ".join)
SESSION = st.lists(QUERY, min_size=1, max_size=3)


def histories(tmp_path: Path, text: str):
    (tmp_path / "valid.history").write_text(text, encoding="utf-8")
    found = read_histories(str(tmp_path / "valid"))
    assert found is not None
    return list(found)


def test_a_line_is_split_into_earlier_sessions_and_the_current_one():
    assert split_history("a <q> b c <session> d") == ([["a", "b c"]], ["d"])
    assert split_history("a") == ([], ["a"])
    assert split_history("a <unit3> b <session> c <q> d") == ([["a"], ["b"]], ["c", "d"])
    assert split_history(r"a \<session> b") == ([], [r"a \<session> b"])


def test_an_empty_query_is_kept():
    assert split_history("a <session>") == ([["a"]], [""])
    assert split_history("<q> a") == ([], ["", "a"])


@given(st.lists(SESSION, min_size=1, max_size=4))
def test_splitting_undoes_joining(sessions):
    line = join_units((join_units(session, 1) for session in sessions), 2)
    assert split_history(line) == (sessions[:-1], sessions[-1])
    assert split_history(line)[1] == queries_of(line)


def test_histories_are_read_line_by_line(tmp_path):
    found = histories(tmp_path, "a <q> b c <session> d\n\nx\n")
    assert found == [[["a", "b c"], ["d"]], [], [["x"]]]


def test_histories_in_word_pieces_are_read_as_words(tmp_path):
    assert histories(tmp_path, "▁flight s <session> ▁a <q> ▁b\n") == [[["flights"], ["a", "b"]]]


@pytest.mark.parametrize("line", ["a <session>", "<session> a", "a <q> <q> b", "<session>"])
def test_an_empty_query_in_a_history_is_an_error_with_its_line(tmp_path, line):
    with pytest.raises(InputError, match=r"valid\.history:2: empty query"):
        histories(tmp_path, f"a\n{line}\n")


def test_a_symbol_of_fairseq_in_a_history_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"valid\.history:1: <pad> in the text"):
        histories(tmp_path, "a <pad>\n")


def test_missing_files_give_none(tmp_path):
    assert read_histories(str(tmp_path / "valid")) is None
    assert read_users(str(tmp_path / "valid")) is None


def test_users_are_numbers(tmp_path):
    (tmp_path / "test.user").write_text("0\n0\n12\n")
    assert list(read_users(str(tmp_path / "test")) or ()) == [0, 0, 12]


@pytest.mark.parametrize("line", ["x", "", "-1", str(1 << 32)])
def test_an_invalid_user_is_an_error_with_its_line(tmp_path, line):
    (tmp_path / "test.user").write_text(f"0\n{line}\n")
    with pytest.raises(InputError, match=r"test\.user:2: not a number of a user"):
        list(read_users(str(tmp_path / "test")) or ())


def test_histories_are_from_the_file_or_else_from_the_text(tmp_path):
    pairs = [Pair("a <session> b <q> c", "d"), Pair("e", "f")]
    prefix = str(tmp_path / "test")
    assert list(histories_of(prefix, pairs)) == [[["a"]], []]
    (tmp_path / "test.history").write_text("\nx <q> y <session> z\n", encoding="utf-8")
    assert list(histories_of(prefix, pairs)) == [[], [["x", "y"], ["z"]]]
    with pytest.raises(InputError, match=r"test\.history:2: 2 lines, but .*test\.session has 1"):
        histories_of(prefix, pairs[:1])
