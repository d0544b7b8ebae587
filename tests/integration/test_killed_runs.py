"""A run that is killed repeatedly ends like an uninterrupted run.

SIGKILL prevents any clean-up. It comes at random moments: between updates, and while a checkpoint
is written. All runs save after each update and are started by the same command.
"""

import random
import re
import shlex
import shutil
import signal
import time

import pytest
import torch
from processes import PATIENCE, PLUGIN, SMALL, TRAIN, prepared, run, start_anew
from training_runs import learned, load, logged, same_weights

KILLS = 10
UPDATES = 120  # more than eleven killed starts can complete
FLAGS = (
    f"{SMALL} --dropout 0.1 --max-tokens 60 --max-update {UPDATES} --save-interval-updates 1"
    " --disable-validation --log-format json --log-interval 1"
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return prepared(tmp_path_factory)[1]


def command(data, save):
    return f"fairseq-train {data} {PLUGIN} {TRAIN} {FLAGS} --save-dir {save}"


@pytest.fixture(scope="module")
def undisturbed(data, tmp_path_factory):
    """(folder of checkpoints, log)"""
    save = tmp_path_factory.mktemp("undisturbed")
    return save, run(command(data, save)).stdout


def test_killed_ten_times_ends_with_the_same_weights(data, undisturbed, tmp_path):
    seed = random.randrange(2**32)
    print(f"moments: random.Random({seed})")  # shown if the test fails
    rng = random.Random(seed)
    losses = {line["num_updates"]: line["loss"] for line in logged(undisturbed[1])}
    assert list(losses) == list(range(1, UPDATES + 1))

    saved, in_writing = 0, 0
    for attempt in range(KILLS + 1):
        log = tmp_path / f"{attempt}.log"
        process = start_anew(command(data, tmp_path / "save"), log)
        if attempt < KILLS:
            kill_at_some_moment(process, log, rng)
        else:
            assert process.wait(timeout=PATIENCE) == 0
        said = log.read_text(encoding="utf-8")
        resumed = last_number(r"Loaded checkpoint .* @ (\d+) updates", said)
        assert resumed >= saved, f"attempt {attempt} lost what was saved before"
        updates = [line["num_updates"] for line in logged(said)]
        assert updates == list(range(resumed + 1, resumed + 1 + len(updates)))
        for line in logged(said):  # the same update on the same data
            assert line["loss"] == losses[line["num_updates"]]
        saved = max(saved, last_number(r"Saved checkpoint .* @ (\d+) updates", said))
        in_writing += said.count("Preparing to save") > said.count("Saved checkpoint")
    print(f"{in_writing} of {KILLS} while a checkpoint was written")
    assert in_writing

    whole, killed = undisturbed[0], tmp_path / "save"
    assert {path.name for path in killed.glob("*.pt")} == {path.name for path in whole.glob("*.pt")}
    assert_same_end(killed, whole)


def kill_at_some_moment(process, log, rng):
    """Kill after a few updates of this start; every other time while a checkpoint is written."""
    try:
        updates, delay = rng.randint(1, 6), rng.random() * 0.1
        mark = "train_inner" if rng.random() < 0.5 else "Saving checkpoint to"
        wait_for(log, mark, process, updates)
        if mark == "train_inner":
            time.sleep(delay)
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL, "UPDATES is too small for the speed of this machine"


def wait_for(log, mark, process, times=1):
    deadline = time.monotonic() + PATIENCE
    while log.read_text(encoding="utf-8").count(mark) < times:
        assert process.poll() is None, f"ended before it was killed\n{log.read_text()[-3000:]}"
        assert time.monotonic() < deadline, "no updates"
        time.sleep(0.002)


def last_number(pattern, text):
    return max(map(int, re.findall(pattern, text)), default=0)


def assert_same_end(one, other):
    """Equal weights, optimizer state and position in the data, bit for bit."""
    one, other = (folder / "checkpoint_last.pt" for folder in (one, other))
    assert same_weights(learned(one), learned(other))
    one, other = load(one), load(other)
    assert one["optimizer_history"][-1] == other["optimizer_history"][-1]
    assert one["extra_state"]["train_iterator"] == other["extra_state"]["train_iterator"]
    moments = [state["last_optimizer_state"]["state"] for state in (one, other)]
    assert moments[0].keys() == moments[1].keys()
    for number, moment in moments[0].items():
        for name, value in moment.items():
            same = moments[1][number][name]
            assert torch.equal(value, same) if torch.is_tensor(value) else value == same


# --- a damaged last checkpoint --------------------------------------------------------------------


@pytest.fixture
def interrupted(undisturbed, tmp_path):
    """The folder ten updates before the end; the test changes `checkpoint_last.pt`."""
    save = tmp_path / "save"
    shutil.copytree(undisturbed[0], save)
    newest_first = sorted(
        save.glob("checkpoint_*_*.pt"), key=lambda path: int(path.stem.split("_")[2]), reverse=True
    )
    for path in newest_first[:10]:
        path.unlink()
    return save, newest_first[10]


def test_a_truncated_checkpoint_is_found_and_the_previous_one_used(data, undisturbed, interrupted):
    save, before = interrupted
    last = save / "checkpoint_last.pt"
    last.write_bytes(last.read_bytes()[:-1000])
    log = run(command(data, save)).stdout
    assert f"{last}: damaged checkpoint: cut off or overwritten" in log
    assert f"; continuing from {before}" in log
    assert f"Loaded checkpoint {before}" in log
    assert_same_end(save, undisturbed[0])
    assert load(last)["cfg"]["checkpoint"]["restore_file"] == last.name  # settings are unchanged


def test_a_named_checkpoint_of_garbage_is_refused(data, interrupted):
    save, before = interrupted
    before.write_bytes(random.Random(1).getrandbits(80_000).to_bytes(10_000, "big"))
    done = run(f"{command(data, save)} --restore-file {before}", status=1)
    assert done.stderr.strip().splitlines()[-1].startswith(f"{before}: damaged checkpoint: cut off")
    assert "train_inner" not in done.stdout


def test_an_empty_checkpoint_without_an_earlier_one_is_an_error(data, tmp_path):
    (tmp_path / "checkpoint_last.pt").touch()
    done = run(command(data, tmp_path), status=1)
    message = done.stderr.strip().splitlines()[-1]
    assert message.startswith(f"{tmp_path}/checkpoint_last.pt: damaged checkpoint: empty, and no ")
    assert message.endswith(", or start from zero in another --save-dir")
    assert "train_inner" not in done.stdout


# --- two runs in one folder -----------------------------------------------------------------------


def test_a_second_run_is_refused_and_a_killed_run_blocks_no_other(data, tmp_path):
    save, log = tmp_path / "save", tmp_path / "first.log"
    first = start_anew(f"{command(data, save)} --max-update 100000", log)
    try:
        wait_for(log, "train_inner", first)
        done = run(command(data, save), status=1)
    finally:
        first.kill()
        first.wait()
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith(f"{save}/training.lock: another run is training into this folder (proce")
    assert "train_inner" not in done.stdout
    (save / "checkpoint_last.pt.tmp").touch()  # in case the kill left none
    left = last_number(r"Saved checkpoint .* @ (\d+) updates", log.read_text(encoding="utf-8"))
    done = run(f"{command(data, save)} --max-update {left + 3}")
    assert last_number(r"Loaded checkpoint .* @ (\d+) updates", done.stdout) >= left > 0
    assert not list(save.glob("*.tmp"))


# --- a full disk ----------------------------------------------------------------------------------


def test_a_full_disk_ends_the_run_with_one_line(data, undisturbed, tmp_path):
    """With free space again, the same command continues from the last saved checkpoint."""
    size = (undisturbed[0] / "checkpoint_last.pt").stat().st_size
    save = tmp_path / "save"
    small = f"{command(data, save)} --max-update 2"
    run(small)
    before = {path.name: path.read_bytes() for path in save.glob("*.pt")}
    limit = size // 2 // 1024  # maximum file size, which looks like a full disk
    line = f"ulimit -f {limit}; exec {command(data, save)} --max-update 5"
    done = run(f"bash -c {shlex.quote(line)}", status=1)
    assert done.stderr.strip().splitlines()[-1] == (
        f"{save}/checkpoint_1_3.pt: cannot save this checkpoint (File too large); make room on the"
        " disk, or whatever is needed, and start the same command again: it goes on from the"
        " checkpoint before"
    )
    assert "Traceback" not in done.stdout + done.stderr
    assert {path.name: path.read_bytes() for path in save.glob("*.pt*")} == before
