"""`mtn-yardstick` as a process: on any terminal, and its errors."""

import sys

import pytest
from processes import run

from mtn_evaluation import read_generate_log, score

COMMAND = f"{sys.executable} -m mtn_serving.commands.yardstick"


@pytest.fixture
def text(tmp_path):
    """The most frequent query after `é`, twice of three times, is that of the first test pair."""
    pairs = {
        "train": [("é", "b 中"), ("x <q> é", "b 中"), ("é", "c")],
        "test": [("y <q> é", "b 中"), ("unseen words", "other words")],
    }
    for name, lines in pairs.items():
        for ending, column in (("session", 0), ("next", 1)):
            content = "".join(f"{line[column]}\n" for line in lines)
            (tmp_path / f"{name}.{ending}").write_text(content, encoding="utf-8")
    return tmp_path


def test_the_log_is_utf8_and_can_be_scored(text):
    """Also on an ASCII terminal."""
    done = run(
        f"{COMMAND} session --train {text}/train --test {text}/test",
        LC_ALL="C",
        PYTHONIOENCODING="ascii",
        PYTHONUTF8="0",
    )
    log = text / "generate.log"
    log.write_text(done.stdout, encoding="utf-8")
    pairs = read_generate_log(str(log))
    assert [pair.ranked for pair in pairs] == [["b 中", "c", "é"], ["unseen words"]]
    scores = score(pairs)
    assert scores["exact"] == scores["hit@5"] == scores["mrr@5"] == 50
    assert scores["1-gram"] == 75  # three of four words; `words` is a word of both


def test_bad_text_is_a_one_line_error(text):
    (text / "train.next").unlink()
    done = run(f"{COMMAND} last --train {text}/train --test {text}/test", status=1)
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith(f"{text}/train.next: no such file; ")
    assert "Traceback" not in done.stderr
