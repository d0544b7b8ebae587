"""Writing checkpoints: in one step, by one run per folder, with a one-line error on failure."""

import errno
import os
import resource
import shutil
import signal
from contextlib import contextmanager

import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from mtn_fairseq.checkpoints import one_run
from mtn_preprocess.errors import InputError

LAST = "checkpoint_last.pt"


def write(path, updates):
    checkpoint_utils.torch_persistent_save(
        {"weights": torch.full((30_000,), float(updates))}, str(path)
    )


def copy(source, target):
    assert PathManager.copy(str(source), str(target), overwrite=True)


# --- in one step ----------------------------------------------------------------------------------


def test_an_interrupted_copy_leaves_the_last_checkpoint_unchanged(tmp_path, monkeypatch):
    new, last = tmp_path / "checkpoint_1_2.pt", tmp_path / LAST
    write(new, updates=2)
    write(last, updates=1)
    before = last.read_bytes()

    def interrupted(source, target):
        with open(target, "wb") as stream:
            stream.write(new.read_bytes()[:100])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", interrupted)
        with pytest.raises(KeyboardInterrupt):
            copy(new, last)
    assert last.read_bytes() == before
    copy(new, last)
    assert last.read_bytes() == new.read_bytes()
    assert sorted(os.listdir(tmp_path)) == [new.name, LAST]


def test_no_two_processes_write_to_the_same_file(tmp_path, monkeypatch):
    """One process saves while another is saving: both files are intact, the later one stays."""
    first, second = tmp_path / "1.pt", tmp_path / "2.pt"
    write(first, updates=1)
    write(second, updates=2)
    copyfile = shutil.copyfile

    def overtaken(source, target):
        if source == str(first):
            copy(second, tmp_path / LAST)
        copyfile(source, target)

    monkeypatch.setattr(shutil, "copyfile", overtaken)
    copy(first, tmp_path / LAST)
    assert (tmp_path / LAST).read_bytes() == first.read_bytes()

    save = torch.save

    def overtaken_too(state, stream):
        if state["updates"] == 3:
            checkpoint_utils.torch_persistent_save({"updates": 4}, str(tmp_path / LAST))
        save(state, stream)

    monkeypatch.setattr(torch, "save", overtaken_too)
    checkpoint_utils.torch_persistent_save({"updates": 3}, str(tmp_path / LAST))
    assert torch.load(str(tmp_path / LAST)) == {"updates": 3}
    assert sorted(os.listdir(tmp_path)) == ["1.pt", "2.pt", LAST]


# --- a full disk ----------------------------------------------------------------------------------


@contextmanager
def no_room():
    """Limit files to 50,000 bytes: torch and Python get the errors of a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("how", ["save", "copy"])
def test_a_full_disk_is_a_one_line_error_and_keeps_the_old_file(tmp_path, caplog, how):
    new, last = tmp_path / "checkpoint_1_2.pt", tmp_path / LAST
    write(new, updates=2)
    write(last, updates=1)
    before = last.read_bytes()
    with no_room(), pytest.raises(InputError) as error:
        write(last, updates=3) if how == "save" else copy(new, last)
    assert str(error.value) == (
        f"{last}: cannot save this checkpoint (File too large); make room on the disk, or whatever "
        "is needed, and start the same command again: it goes on from the checkpoint before"
    )
    assert last.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == [new.name, LAST]
    assert not caplog.messages


def test_torch_finishes_before_a_full_disk_is_reported(tmp_path, monkeypatch):
    """Otherwise torch 1.12 aborts the process when it garbage-collects its partial archive."""
    taken = []

    def save(state, stream):
        taken.extend(stream.write(bytes(40_000)) for _ in range(3))
        stream.flush()

    monkeypatch.setattr(torch, "save", save)
    with no_room(), pytest.raises(InputError, match="File too large"):
        checkpoint_utils.torch_persistent_save({}, str(tmp_path / LAST))
    assert taken == [40_000] * 3
    assert not os.listdir(tmp_path)


def test_other_errors_are_not_reported_as_disk_errors(tmp_path):
    with pytest.raises(Exception, match="pickle") as error:
        checkpoint_utils.torch_persistent_save({"state": lambda: None}, str(tmp_path / LAST))
    assert not isinstance(error.value, InputError)
    assert not os.listdir(tmp_path)


# --- one run per folder ---------------------------------------------------------------------------


class Trainer:
    def __init__(self, suffix=""):
        self.checkpoint_suffix = suffix


@contextmanager
def another_run(save_dir):
    """Start a process that trains into the folder and has a data loading worker; yield its id."""
    (ready, tell), (until, end) = os.pipe(), os.pipe()
    number = os.fork()
    if number == 0:
        try:
            os.close(end)
            trainer = Trainer()
            one_run.claim(str(save_dir), trainer)
            os.fork()  # the worker, which survives a killed run for some seconds
            os.write(tell, b"!")
            os.read(until, 1)
        finally:
            os._exit(0)
    os.close(tell)
    try:
        assert os.read(ready, 1), "it did not get so far"
        yield number
    finally:
        for descriptor in (ready, until, end):
            os.close(descriptor)


def test_a_second_run_in_the_same_folder_is_refused(tmp_path):
    with another_run(tmp_path) as number:
        with pytest.raises(InputError) as error:
            one_run.claim(str(tmp_path), Trainer())
        assert str(error.value).startswith(
            f"{tmp_path}/training.lock: another run is training into this folder (process {number}"
        )
        assert str(error.value).endswith("; wait until it ends, or pass another --save-dir")
        one_run.claim(str(tmp_path), Trainer("-part2"))  # another part of the same model
    os.waitpid(number, 0)


def test_a_killed_run_leaves_no_lock_and_its_partial_files_are_removed(tmp_path, caplog):
    write(tmp_path / LAST, updates=1)
    unfinished = [f"{LAST}.tmp", f"checkpoint_1_2.pt.{'0a' * 16}.tmp", "checkpoint3-part1.pt.tmp"]
    others = ["notes.tmp", "checkpoint.txt.tmp"]
    for name in [*unfinished, *others]:
        (tmp_path / name).touch()
    with another_run(tmp_path) as number:
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
        one_run.claim(str(tmp_path), Trainer())  # while the worker still runs
    assert sorted(os.listdir(tmp_path)) == sorted([LAST, "training.lock", *others])
    assert not caplog.messages


def test_a_refused_run_removes_nothing(tmp_path):
    with another_run(tmp_path) as number:
        (tmp_path / f"{LAST}.tmp").touch()
        with pytest.raises(InputError):
            one_run.claim(str(tmp_path), Trainer())
    os.waitpid(number, 0)
    assert (tmp_path / f"{LAST}.tmp").exists()


def test_the_same_process_can_start_another_run(tmp_path):
    one_run.claim(str(tmp_path), Trainer())
    one_run.claim(str(tmp_path), Trainer())


def test_without_locks_the_run_continues_with_a_warning(tmp_path, monkeypatch, caplog):
    def unsupported(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(one_run.fcntl, "lockf", unsupported)
    (tmp_path / f"{LAST}.tmp").touch()
    one_run.claim(str(tmp_path), Trainer())
    (message,) = caplog.messages
    assert "training.lock: cannot lock this file (No locks available); start no other" in message
    assert (tmp_path / f"{LAST}.tmp").exists()  # it may be another run's
