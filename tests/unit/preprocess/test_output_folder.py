"""The output folder is complete or missing, whatever happens; scratch is always removed."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from small_logs import SESSIONS, aol_log, lines

from mtn_preprocess import preparation
from mtn_preprocess.errors import InputError
from mtn_preprocess.flags import settings_from
from mtn_preprocess.log_to_sessions import main
from mtn_preprocess.output_folder import scratch_folder, written_whole
from mtn_preprocess.preparation import prepare

OURS = {"train.whole"}


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "logs" / "log.txt"
    path.parent.mkdir()
    path.write_bytes(aol_log())
    return path


def flags(log, output, *more):
    arguments = [log, "--output", output, "--split", "100,0,0", "--threads", 1, *more]
    return [str(each) for each in arguments]


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# --- the command ---------------------------------------------------------------------------------


def test_parent_folders_are_created(log, tmp_path):
    output = tmp_path / "a" / "b" / "text"
    prepare(settings_from(flags(log, output, "--scratch", tmp_path / "c" / "d")))
    assert (output / "train.whole").read_text(encoding="utf-8").splitlines() == SESSIONS
    assert not (tmp_path / "c").exists()
    assert [path.name for path in output.parent.iterdir()] == ["text"]


@pytest.mark.parametrize("scratch", [[], ["--scratch", "elsewhere/scratch"]])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, OSError(28, "No space")])
def test_nothing_is_left_of_a_failed_run(log, tmp_path, monkeypatch, scratch, error):
    monkeypatch.chdir(tmp_path)
    before = everything(tmp_path)
    seen = []

    def fail(*arguments):
        seen.extend(everything(tmp_path))
        raise error

    monkeypatch.setattr(preparation, "account", fail)
    expected = InputError if isinstance(error, OSError) else error
    with pytest.raises(expected) as raised:
        prepare(settings_from(flags(log, tmp_path / "a" / "b" / "text", *scratch)))
    assert len(seen) > len(before) + 5  # half way, there were files
    assert everything(tmp_path) == before
    if expected is InputError:
        assert str(raised.value) == (
            f"{tmp_path}/a/b/text: cannot be written (No space left on device); check its "
            "permissions and the free space"
        )


def test_two_parallel_runs_for_the_same_folder(log, tmp_path, monkeypatch):
    """The second to finish finds the folder of the first and leaves it unchanged."""
    output = tmp_path / "text"
    account = preparation.account

    def other_run_first(*arguments):
        monkeypatch.setattr(preparation, "account", account)
        prepare(settings_from(flags(log, output, "--min-queries", 4)))
        return account(*arguments)

    monkeypatch.setattr(preparation, "account", other_run_first)
    with pytest.raises(InputError) as raised:
        prepare(settings_from(flags(log, output)))
    assert str(raised.value) == (
        f"{output}: exists already; choose another --output or pass --overwrite"
    )
    text = (output / "train.whole").read_text(encoding="utf-8")
    assert text.splitlines() == SESSIONS[2:]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "text"]


def test_scratch_that_cannot_be_written(log, tmp_path):
    scratch = log / "scratch"  # a path inside a file
    with pytest.raises(InputError) as raised:
        prepare(settings_from(flags(log, tmp_path / "text", "--scratch", scratch)))
    assert str(raised.value) == (
        f"{scratch}: cannot be written (Not a directory); choose another folder with --scratch"
    )
    assert everything(tmp_path) == ["logs", "logs/log.txt"]


def test_output_that_cannot_be_written(log, tmp_path):
    output = log / "text"
    with pytest.raises(InputError) as raised:
        prepare(settings_from(flags(log, output, "--scratch", tmp_path / "scratch")))
    assert str(raised.value) == (
        f"{output}: cannot be written (Not a directory); check its permissions and the free space"
    )
    assert everything(tmp_path) == ["logs", "logs/log.txt"]


def test_the_same_command_again(log, tmp_path, capsys):
    output = tmp_path / "text"
    main(flags(log, output))
    first = capsys.readouterr().out
    assert first.endswith(f"\nwritten to {output}\n")
    written = (output / "train.whole").stat().st_mtime_ns
    main(flags(log, output))
    assert capsys.readouterr().out.endswith(f"\nas before, from the same input: {output}\n")
    assert (output / "train.whole").stat().st_mtime_ns == written


def test_the_same_folder_from_something_else(log, tmp_path):
    output = tmp_path / "text"
    prepare(settings_from(flags(log, output)))
    remedy = "choose another --output or pass --overwrite"
    with pytest.raises(InputError) as raised:
        prepare(settings_from(flags(log, output, "--gap-minutes", 31)))
    assert str(raised.value) == f"{output}: exists already, made from other flags; {remedy}"
    log.write_bytes(aol_log("bad"))
    with pytest.raises(InputError) as raised:
        prepare(settings_from(flags(log, output)))
    assert str(raised.value) == f"{output}: exists already, made from other inputs; {remedy}"
    prepare(settings_from(flags(log, output, "--overwrite", "--max-bad-rows", "100%")))
    assert (output / "rejects.tsv").read_text().count("\n") == 2
    for damage in (lambda path: path.write_text("[" * 100_000), Path.unlink):
        damage(output / "stats.json")
        with pytest.raises(InputError) as raised:
            prepare(settings_from(flags(log, output)))
        assert str(raised.value) == (
            f"{output}/stats.json: missing or damaged; pass --overwrite to prepare it anew"
        )


def test_a_folder_of_something_else_is_not_overwritten(log, tmp_path):
    with pytest.raises(InputError) as raised:
        prepare(settings_from(flags(log, log.parent, "--overwrite")))
    assert str(raised.value) == (
        f"{log.parent}: holds log.txt, which is not prepared text; it is not overwritten: remove "
        "the folder yourself or choose another --output"
    )
    assert log.exists()


def test_a_folder_with_the_name_of_a_file_is_not_overwritten(log, tmp_path):
    output = tmp_path / "text"
    prepare(settings_from(flags(log, output)))
    (output / "train.next").unlink()
    (output / "train.next").mkdir()
    (output / "train.next" / "thesis.txt").write_text("ten years")
    with pytest.raises(InputError, match=r"text: holds train\.next/, which is not prepared text; "):
        prepare(settings_from(flags(log, output, "--overwrite")))
    assert (output / "train.next" / "thesis.txt").read_text() == "ten years"


def test_a_replaced_folder_keeps_its_mode(log, tmp_path):
    output = tmp_path / "text"
    prepare(settings_from(flags(log, output)))
    output.chmod(0o700)
    prepare(settings_from(flags(log, output, "--overwrite")))
    assert output.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_a_signal(tmp_path, capsys, number):
    """One line, the shell's exit code, and nothing left, whatever the engine is doing."""
    row = '{"AnonID": %d, "Query": "é", "QueryTime": "2006-03-01 10:00:00"}'
    log = tmp_path / "log.jsonl"
    log.write_bytes(lines(*(row % i for i in range(100_000))) * 8)
    handler = signal.getsignal(number)

    def stop():
        while not list(tmp_path.glob("a/.text.*.partial")):
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    threading.Thread(target=stop, daemon=True).start()
    with pytest.raises(SystemExit) as ended:
        main(flags(log, tmp_path / "a" / "text"))
    assert ended.value.code == 128 + number
    assert capsys.readouterr() == ("", "stopped: nothing was written\n")
    assert everything(tmp_path) == ["log.jsonl"]
    assert signal.getsignal(number) == handler


# --- the folder ----------------------------------------------------------------------------------


def test_an_old_folder_outlives_ctrl_c_at_the_worst_moment(tmp_path, monkeypatch):
    """Between renaming the old folder and the new one."""
    output = tmp_path / "text"
    output.mkdir()
    (output / "train.whole").write_text("old")
    rename = type(output).rename

    def interrupted(self, target):
        if self.name.endswith(".partial"):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(type(output), "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), written_whole(output, OURS, True) as folder:
        (folder / "train.whole").write_text("new")
    assert (output / "train.whole").read_text() == "old"
    assert everything(tmp_path) == ["text", "text/train.whole"]


def test_a_relative_folder_is_resolved_at_the_start(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with written_whole(tmp_path / "x" / ".." / "text", OURS, False) as folder:
        (folder / "train.whole").write_text("new")
    assert everything(tmp_path) == ["text", "text/train.whole"]


def test_folders_in_use_by_others_stay(tmp_path):
    with scratch_folder(tmp_path / "a" / "b", tmp_path / "text"):
        (tmp_path / "a" / "other").write_text("x")
    assert everything(tmp_path) == ["a", "a/other"]
