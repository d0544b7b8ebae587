"""A run that is killed again and again ends as if nobody had touched it.

Killed by SIGKILL, so nothing can be put in order first, at random moments: between updates, and
while a checkpoint is written. All runs save after each update and are started by the same command.
"""

import random
import re
import shutil
import signal
import time

import pytest
import torch
from processes import PLUGIN, SMALL, TRAIN, prepare, run, start
from training_runs import learned, load, logged, same_weights

KILLS = 10
UPDATES = 120  # more than eleven starts get through before they are killed
FLAGS = (
    f"{SMALL} --dropout 0.1 --max-tokens 60 --max-update {UPDATES} --save-interval-updates 1"
    " --disable-validation --log-format json --log-interval 1"
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("killed"))[1]


def command(data, save):
    return f"fairseq-train {data} {PLUGIN} {TRAIN} {FLAGS} --save-dir {save}"


@pytest.fixture(scope="module")
def undisturbed(data, tmp_path_factory):
    """(folder of checkpoints, log)"""
    save = tmp_path_factory.mktemp("undisturbed")
    return save, run(command(data, save)).stdout


def test_killed_ten_times_ends_with_the_same_weights(data, undisturbed, tmp_path):
    seed = random.randrange(2**32)
    print(f"moments: random.Random({seed})")  # pytest shows it when the test fails
    rng = random.Random(seed)
    losses = {line["num_updates"]: line["loss"] for line in logged(undisturbed[1])}
    assert list(losses) == list(range(1, UPDATES + 1))

    saved, in_writing = 0, 0
    for attempt in range(KILLS + 1):
        log = tmp_path / f"{attempt}.log"
        process = start(command(data, tmp_path / "save"), log)
        if attempt < KILLS:
            kill_at_some_moment(process, log, rng)
        else:
            assert process.wait(timeout=300) == 0
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
    """After a few updates of this start; every other time while a checkpoint is being written."""
    try:
        updates, delay = rng.randint(1, 6), rng.random() * 0.1
        mark = "train_inner" if rng.random() < 0.5 else "Saving checkpoint to"
        deadline = time.monotonic() + 120
        while log.read_text(encoding="utf-8").count(mark) < updates:
            assert process.poll() is None, f"ended before it was killed\n{log.read_text()[-3000:]}"
            assert time.monotonic() < deadline, "no updates"
            time.sleep(0.002)
        if mark == "train_inner":
            time.sleep(delay)
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL, "UPDATES is too small for the speed of this machine"


def last_number(pattern, text):
    return max(map(int, re.findall(pattern, text)), default=0)


def assert_same_end(one, other):
    """Weights, optimizer and place in the data, bit for bit."""
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
    """The folder as it was ten updates before the end; `checkpoint_last.pt` is for the test."""
    save = tmp_path / "save"
    shutil.copytree(undisturbed[0], save)
    newest_first = sorted(
        save.glob("checkpoint_*_*.pt"), key=lambda path: int(path.stem.split("_")[2]), reverse=True
    )
    for path in newest_first[:10]:
        path.unlink()
    return save, newest_first[10]


def test_a_cut_checkpoint_is_noticed_and_the_one_before_used(data, undisturbed, interrupted):
    save, before = interrupted
    last = save / "checkpoint_last.pt"
    last.write_bytes(last.read_bytes()[:-1000])
    log = run(command(data, save)).stdout
    assert f"{last}: damaged checkpoint: cut off or overwritten" in log
    assert f"; going on from {before}" in log
    assert f"Loaded checkpoint {before}" in log
    assert_same_end(save, undisturbed[0])
    assert load(last)["cfg"]["checkpoint"]["restore_file"] == last.name  # the next start is as ever


def test_a_named_checkpoint_of_garbage_is_refused(data, interrupted):
    save, before = interrupted
    before.write_bytes(random.Random(1).getrandbits(80_000).to_bytes(10_000, "big"))
    done = run(f"{command(data, save)} --restore-file {before}", status=1)
    assert done.stderr.strip().splitlines()[-1].startswith(f"{before}: damaged checkpoint: cut off")
    assert "train_inner" not in done.stdout


def test_an_empty_checkpoint_with_none_before_it_is_no_new_beginning(data, tmp_path):
    (tmp_path / "checkpoint_last.pt").touch()
    done = run(command(data, tmp_path), status=1)
    message = done.stderr.strip().splitlines()[-1]
    assert message.startswith(f"{tmp_path}/checkpoint_last.pt: damaged checkpoint: empty, and no ")
    assert "or remove it to begin anew" in message
    assert "train_inner" not in done.stdout
