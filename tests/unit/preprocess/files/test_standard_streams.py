"""Standard output full or closed, standard input closed or a folder: one-line errors everywhere."""

import os
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from scoring_logs import Answer, write_text

from mtn_preprocess import log_to_sessions
from mtn_preprocess.commands import check_text, user_dir
from mtn_preprocess.errors import InputError
from mtn_preprocess.files.standard_streams import standard_output, utf8_lines
from mtn_sample_log import cli as sample_log
from mtn_serving.commands import suggest, yardstick

COMMANDS = {
    "check-text": (check_text.main, ["{folder}/test"]),
    "log-to-sessions": (
        log_to_sessions.main,
        ["{folder}/log", "--output", "{folder}/text", "--split", "100,0,0"],
    ),
    "sample-log": (sample_log.main, ["--users", "1"]),
    "sample-log yardstick": (sample_log.main, ["yardstick", "{folder}/test"]),
    "user-dir": (user_dir.main, []),
    "yardstick": (yardstick.main, ["echo", "--test", "{folder}/test"]),
}


@pytest.fixture
def folder(tmp_path):
    write_text(tmp_path / "test", [Answer("london", "london map", [])])
    sample_log.main(["--users", "3", "--output", f"{tmp_path}/log"])
    return tmp_path


def error_of(command, folder, capfd):
    """The error that the command raises or prints itself."""
    main, arguments = COMMANDS[command]
    capfd.readouterr()
    try:
        code = main([argument.format(folder=folder) for argument in arguments])
    except InputError as error:
        return str(error)
    assert code == 1
    return capfd.readouterr().err.rstrip("\n")


@contextmanager
def sent_to(path):
    """Temporarily redirect standard output to this file."""
    descriptor = sys.stdout.fileno()
    kept = os.dup(descriptor)
    with open(path, "wb") as file:
        os.dup2(file.fileno(), descriptor)
    try:
        yield
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)


@pytest.mark.parametrize("command", COMMANDS)
def test_full(folder, command, capfd):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    with sent_to("/dev/full"):
        said = error_of(command, folder, capfd)
    reason = "not all could be written (No space left on device); make room, and run it again"
    assert said.endswith(reason) and "\n" not in said


@pytest.mark.parametrize("command", COMMANDS)
def test_closed(folder, command, capfd, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    said = error_of(command, folder, capfd)
    assert said.endswith("standard output is closed; leave it open, or send it to a file")
    assert "\n" not in said


def test_no_input(tmp_path, monkeypatch):
    """For mtn-suggest; mtn-evaluate has its own test."""
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match=r"^-: standard input is closed; "):
        list(suggest.typed_lines())
    descriptor = os.open(tmp_path, os.O_RDONLY)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(fileno=lambda: descriptor))
    with pytest.raises(InputError, match=r"^-: standard input cannot be read \(Is a directory\); "):
        list(suggest.typed_lines())
    os.close(descriptor)


def test_lines_that_are_not_utf8():
    lines = utf8_lines(["café 😀\n", "kü\udce9\n"])
    assert next(lines) == "café 😀\n"
    with pytest.raises(InputError, match=r"^-:2: not UTF-8 at byte 4 of the line; convert it, for"):
        next(lines)


def test_messages_never_split_a_line_of_output(capfd):
    """With `fairseq-generate … > log 2>&1`, both streams go to one file."""
    kept = os.dup(2)
    os.dup2(1, 2)
    try:
        with standard_output(line_by_line=True) as out:
            for number in range(300):
                print("word " * 40, number, file=out)
                os.write(2, b"message\n")
    finally:
        os.dup2(kept, 2)
        os.close(kept)
    lines = capfd.readouterr().out.splitlines()
    assert lines[1::2] == ["message"] * 300
    assert [line.split()[-1] for line in lines[::2]] == [str(number) for number in range(300)]
