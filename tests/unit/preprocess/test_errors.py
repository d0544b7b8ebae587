"""One-line errors for everything that users can fix."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from processes import PATIENCE

from mtn_fairseq.flags import one_int_per_level
from mtn_preprocess import errors
from mtn_preprocess.errors import InputError


@pytest.mark.parametrize(
    "place, expected",
    [
        ((), "no query; add one"),
        (("train.session",), "train.session: no query; add one"),
        ((Path("a/b.session"), 7), "a/b.session:7: no query; add one"),
    ],
)
def test_message(place, expected):
    assert str(InputError("no query", "add one", *place)) == expected


def test_it_is_a_value_error_in_python():
    with pytest.raises(ValueError, match="no query"):
        raise InputError("no query", "add one")
    assert issubclass(InputError, Exception)


def run(program):
    # Run beside errors.py, which imports nothing, so that the interpreter starts fast.
    folder = Path(errors.__file__).parent
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def test_an_uncaught_error_is_one_line_and_exit_code_1():
    done = run("from errors import InputError\nraise InputError('no query', 'add one', 'x', 7)")
    assert done.returncode == 1
    assert done.stderr == "x:7: no query; add one\n"
    assert done.stdout == ""


def test_an_uncaught_error_with_a_cause_is_still_one_line():
    done = run(
        "from errors import InputError\n"
        "try:\n    int('x')\n"
        "except ValueError as error:\n    raise InputError('not a number', 'fix it') from error"
    )
    assert (done.returncode, done.stderr) == (1, "not a number; fix it\n")


def test_pickle():
    """Worker processes pickle their errors."""
    error = InputError("no query", "add one", Path("x.session"), 7)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is InputError
    assert str(copy) == str(error) == copy.code
    assert (copy.reason, copy.remedy, copy.file, copy.line) == (
        "no query",
        "add one",
        Path("x.session"),
        7,
    )


# --- flags with one number per level --------------------------------------------------------------


@pytest.mark.parametrize("text, numbers", [("3,2", [3, 2]), ("3", [3]), (" 1, 2 ,3 ", [1, 2, 3])])
def test_one_int_per_level(text, numbers):
    assert one_int_per_level(text, "--level-layers") == numbers


def test_a_single_number_may_be_an_int():
    """Hydra reads `level_layers: 3` as an int."""
    assert one_int_per_level(3, "--level-layers") == [3]


@pytest.mark.parametrize("text", ["", "3,", "3;2", "3,x", "0", "3,0", "-1", "2.5"])
def test_not_one_int_per_level(text):
    with pytest.raises(InputError, match=r"^--level-sizes .*is not a list.*; .*--level-sizes 3,2"):
        one_int_per_level(text, "--level-sizes")
