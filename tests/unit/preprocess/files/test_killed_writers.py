"""The next run for the same output removes what a killed run left, and nothing else."""

import json
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager

import pytest
from processes import PATIENCE
from small_logs import SESSIONS, aol_log

from mtn_preprocess.files import ownership
from mtn_preprocess.files.whole_folder import remove_leftovers, scratch, written_whole
from mtn_preprocess.flags import settings_from
from mtn_preprocess.preparation import prepare
from mtn_serving.kept_folder import Kind, new_folder

KIND = Kind("table of counts", 1, "mtn-count-next", frozenset({"array"}))

# Runs in its own process up to the named point, then waits to be killed.
WRITER = """
import sys
from pathlib import Path
from mtn_preprocess.files.whole_folder import scratch, written_whole

place, parent, point = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]

def wait():
    print("ready", flush=True)
    sys.stdin.read()

rename = Path.rename
def rename_or_wait(self, target):
    if self.suffix == ".partial":
        wait()
    return rename(self, target)

with scratch(parent, place) as folder, written_whole(place, lambda: None) as partial:
    (folder / "spilled").write_text("rows")
    (partial / "new").write_text("new")
    if point == "writing":
        wait()
    Path.rename = rename_or_wait
"""


@contextmanager
def writer(place, parent, point):
    """A process that has reached `point`."""
    command = [sys.executable, "-c", WRITER, str(place), str(parent), point]
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


def run_again(place, parent):
    with scratch(parent, place), written_whole(place, lambda: None) as partial:
        (partial / "newer").write_text("newer")


@pytest.fixture
def place(tmp_path):
    """A finished folder from an earlier run."""
    folder = tmp_path / "out" / "text"
    folder.mkdir(parents=True)
    (folder / "before").write_text("before")
    return folder


@pytest.mark.parametrize("point", ["writing", "renaming"])
def test_leftovers_of_a_killed_run_are_removed(place, tmp_path, point):
    parent = tmp_path / "scratch"
    parent.mkdir()
    with writer(place, parent, point) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert [name.split(".")[-1] for name in names(place.parent) if name != "text"] == (
        ["partial"] if point == "writing" else ["old", "partial"]
    )
    assert len(names(parent)) == 1
    run_again(place, parent)
    assert names(place.parent) == ["text"] and names(place) == ["newer"] and not names(parent)


def test_the_only_copy_of_a_finished_folder_is_restored(place, tmp_path):
    """The run was killed between the two renames."""
    with writer(place, tmp_path, "renaming") as process:
        assert not place.exists()
        process.kill()
        process.wait()
    remove_leftovers(place)
    assert names(place.parent) == ["text"] and names(place) == ["before"]


@pytest.mark.parametrize("point", ["writing", "renaming"])
def test_a_running_process_keeps_its_folders(place, tmp_path, point):
    with writer(place, tmp_path, point) as process:
        before = names(place.parent), names(tmp_path)
        remove_leftovers(place)
        with scratch(tmp_path, place):
            pass
        assert (names(place.parent), names(tmp_path)) == before
        process.communicate("go on", timeout=PATIENCE)
        assert process.returncode == 0
    assert names(place) == ["new"] and names(place.parent) == ["text"]
    assert names(tmp_path) == ["out"]


def test_leftovers_of_another_output_stay(place, tmp_path):
    for name in (".text2.01234567.partial", ".text.other.01234567.partial", ".text.x.partial"):
        (place.parent / name).mkdir()
    (place.parent / ".text.01234567.old").write_text("a file")
    (tmp_path / "other").mkdir()
    (place.parent / ".text.89abcdef.partial").symlink_to(tmp_path / "other")
    before = names(place.parent)
    with ExitStack() as stack:
        stack.enter_context(scratch(tmp_path, place.with_name("text2")))
        run_again(place, tmp_path)
        assert len(names(tmp_path)) == 3
    assert names(place.parent) == before and (tmp_path / "other").exists()


def test_nothing_is_removed_where_folders_cannot_be_locked(place, tmp_path, monkeypatch):
    (place.parent / ".text.01234567.partial").mkdir()
    for lock in (None, refused):
        monkeypatch.setattr(ownership, "fcntl", lock and FailingLocks)
        run_again(place, tmp_path)
        assert names(place.parent) == [".text.01234567.partial", "text"]
    monkeypatch.undo()
    run_again(place, tmp_path)
    assert names(place.parent) == ["text"]


def refused(descriptor, operation):
    raise OSError(9, "Bad file descriptor")  # NFS


class FailingLocks:
    LOCK_EX, LOCK_NB, flock = 2, 4, staticmethod(refused)


def test_a_new_folder_mistaken_for_a_leftover(place, tmp_path, monkeypatch):
    """Another run may look between the creation of a folder and its lock."""
    lock = ownership._lock
    removals = []

    def removed_first(descriptor, folder):
        if not removals:
            removals.append(folder)
            folder.rmdir()
        return lock(descriptor, folder)

    monkeypatch.setattr(ownership, "_lock", removed_first)
    run_again(place, tmp_path)
    assert removals and names(place) == ["newer"] and names(place.parent) == ["text"]


def test_many_runs_in_parallel(tmp_path):
    """No run mistakes the folder of another for a leftover."""
    place, errors = tmp_path / "text", []

    def run():
        try:
            for _ in range(20):
                with scratch(tmp_path, place) as folder:
                    (folder / "spilled").write_text("rows")
                    remove_leftovers(place)
                    assert (folder / "spilled").exists()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and not names(tmp_path)


def test_scratch_beside_the_output_is_also_removed(place, tmp_path):
    """The killed run had no --scratch, but the next one has."""
    with writer(place, place.parent, "writing") as process:
        process.kill()
        process.wait()
    assert any(name.startswith(".scratch-") for name in names(place.parent))
    (tmp_path / "other").mkdir()
    with scratch(tmp_path / "other", place):
        assert names(place.parent) == [*leftovers_of(place), "text"]
    assert not names(tmp_path / "other")


def leftovers_of(place):
    return [name for name in names(place.parent) if name.endswith(".partial")]


def test_an_output_named_through_a_link(place, tmp_path):
    """Through a link to its parent folder."""
    with writer(place, tmp_path, "writing") as process:
        process.kill()
        process.wait()
    (tmp_path / "link").symlink_to(place.parent)
    run_again(tmp_path / "link" / place.name, tmp_path)
    assert names(tmp_path) == ["link", "out"] and names(place.parent) == ["text"]


# --- users of these functions ---------------------------------------------------------------------


def leave(place):
    """Leave folders like a killed run: their locks are free."""
    for end in ("partial", "old"):
        folder = place.with_name(f".{place.name}.01234567.{end}")
        folder.mkdir()
        (folder / "header.json").write_text(json.dumps({"kind": KIND.name}))


def test_preparation(tmp_path):
    (tmp_path / "log.txt").write_bytes(aol_log())
    output = tmp_path / "text"
    flags = [str(tmp_path / "log.txt"), "--output", str(output), "--split", "100,0,0"]
    prepare(settings_from(flags))
    made = (output / "train.whole").stat().st_mtime_ns
    output.rename(tmp_path / ".text.01234567.old")
    prepare(settings_from(flags))  # recognises the same input and flags
    assert (output / "train.whole").read_text(encoding="utf-8").splitlines() == SESSIONS
    assert (output / "train.whole").stat().st_mtime_ns == made
    leave(output)
    prepare(settings_from(flags))
    assert names(tmp_path) == ["log.txt", "text"]


def test_counts_and_rankers(tmp_path):
    place = tmp_path / "counts"
    leave(place)
    with new_folder(place, KIND, {}) as folder:
        (folder / "array").write_text("x")
    assert names(tmp_path) == ["counts"] and names(place) == ["array", "header.json"]
