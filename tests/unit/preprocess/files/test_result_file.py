"""Replaced files keep mode and owner; leftovers of killed writers are removed."""

import os
import subprocess
import sys
from contextlib import contextmanager

import pytest
from processes import PATIENCE

from mtn_preprocess.files.result_file import (
    check_result_file,
    open_result_file,
    write_result_file,
)

# Writes half of the file, then waits to be killed.
WRITER = """
import sys
from mtn_preprocess.files.result_file import open_result_file

with open_result_file(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    print("ready", flush=True)
    sys.stdin.read()
"""


@contextmanager
def writer(path):
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def mode(path):
    return path.stat().st_mode & 0o7777


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o666, 0o444])
def test_the_mode_of_a_file_is_kept(tmp_path, kept):
    """Also while it is being written, nobody else may read it."""
    path = tmp_path / "scores.json"
    path.write_text("old")
    path.chmod(kept)
    with open_result_file(str(path)) as stream:
        (partial,) = tmp_path.glob(".partial-*")
        assert mode(partial) == kept
        stream.write(b"new")
    assert (path.read_text(), mode(path), names(tmp_path)) == ("new", kept, ["scores.json"])


def test_a_new_file_has_the_usual_mode(tmp_path):
    (tmp_path / "usual").touch()
    write_result_file(str(tmp_path / "new"), "new")
    assert mode(tmp_path / "new") == mode(tmp_path / "usual")


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives away")
def test_the_owner_of_a_file_is_kept(tmp_path):
    path = tmp_path / "scores.json"
    path.write_text("old")
    os.chown(path, 1234, 2345)
    write_result_file(str(path), "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_the_leftover_of_a_killed_run_is_removed(tmp_path):
    path = tmp_path / "log.tsv"
    for _ in range(2):
        with writer(path) as process:
            process.kill()
            process.wait()
        assert len(names(tmp_path)) == 1  # leftovers do not accumulate
    write_result_file(str(tmp_path / "other.tsv"), "x")
    assert len(names(tmp_path)) == 2  # a different output
    check_result_file(str(path))
    assert names(tmp_path) == ["other.tsv"]


def test_a_running_process_keeps_its_file(tmp_path):
    path = tmp_path / "log.tsv"
    with writer(path) as process:
        write_result_file(str(path), "mine")
        assert path.read_text() == "mine" and len(names(tmp_path)) == 2
        process.communicate("go on", timeout=PATIENCE)
        assert process.returncode == 0
    assert path.read_text() == "half" and names(tmp_path) == ["log.tsv"]
