"""Two processes in fairseq's distributed training equal one process with batches twice as large.

On CPU, with the flags of docs/scale.md: each process gets its rank as a flag, as fairseq would
otherwise count GPUs.
"""

import socket
import subprocess

import pytest
import torch
from processes import PATIENCE, PLUGIN, SMALL, TRAIN, prepared, start, train
from training_runs import learned, logged, same_weights

MODELS = {
    "mtn": f"{SMALL} --dropout 0",
    "hlstm": "--arch hlstm --encoder-embed-dim 12 --encoder-hidden-size 8 --dropout 0 --lr 0.05",
}
STOCK = "--criterion cross_entropy"
OURS = "--criterion entropy_regularized_cross_entropy --label-smoothing 0.1"
BATCHES = 5  # odd: in the last update of an epoch, one process has no batch
LOG = "--log-format json --log-interval 1"


def train_together(data, save, flags, status=0):
    """The output of each of two processes; both must end with `status`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    together = (
        f"--distributed-backend gloo --distributed-init-method tcp://127.0.0.1:{port}"
        " --distributed-world-size 2 --distributed-no-spawn --ddp-backend legacy_ddp"
    )
    line = f"fairseq-train {data} {PLUGIN} {TRAIN} --save-dir {save} {together} {flags}"
    logs = [save.parent / f"{save.name}.rank{rank}.log" for rank in range(2)]
    processes = [start(f"{line} --distributed-rank {rank}", log) for rank, log in enumerate(logs)]
    try:
        codes = [process.wait(timeout=PATIENCE) for process in processes]
    except subprocess.TimeoutExpired:
        codes = ["still waiting for each other"]
    finally:
        for process in processes:
            process.kill()
    said = [log.read_text(encoding="utf-8") for log in logs]
    assert set(codes) == {status}, f"{line}\n{codes}\n" + "\n".join(text[-3000:] for text in said)
    return said


@pytest.fixture(scope="module")
def sessions_and_data(tmp_path_factory):
    """(training sessions as text, data)"""
    text, data = prepared(tmp_path_factory)
    return (text / "train.session").read_text().splitlines(), data


@pytest.mark.parametrize(
    "arch, read, criterion",
    [
        ("mtn", "never", STOCK),
        ("mtn", "always", OURS),
        ("hlstm", "never", OURS),
        ("hlstm", "always", STOCK),
    ],
    ids=["mtn pairs", "mtn whole sessions", "hlstm pairs", "hlstm whole sessions"],
)
def test_the_same_curve_as_one_process(sessions_and_data, tmp_path, arch, read, criterion):
    pairs, data = sessions_and_data
    examples = sum("<q>" not in line for line in pairs) if read == "always" else len(pairs)
    size = -(-examples // BATCHES)
    assert -(-examples // size) == BATCHES
    flags = (
        f"{MODELS[arch]} {criterion} --session-parallel {read} --max-epoch 2 {LOG}"
        f" --max-tokens 100000 --batch-size {size} --batch-size-valid 16"
    )
    one = train(data, tmp_path / "one", f"{flags} --update-freq 2").stdout
    first, second = train_together(data, tmp_path / "two", flags)
    assert_same_numbers(logged(first), logged(one))
    assert_same_numbers(logged(first, "valid"), logged(one, "valid"))
    assert "train_inner" not in second  # only the first process logs

    curve = logged(first)
    assert [line["num_updates"] for line in curve] == [1, 2, 3, 4, 5, 6]
    assert curve[-1]["loss"] < curve[0]["loss"] - 0.3
    assert ("entropy" in curve[0]) == (criterion is OURS)
    for epoch in (curve[:3], curve[3:]):  # each pair exactly once per epoch
        assert sum(line["bsz"] for line in epoch) == len(pairs)

    weights, alone = (learned(tmp_path / name / "checkpoint_last.pt") for name in ("two", "one"))
    assert weights.keys() == alone.keys()
    for name, value in weights.items():
        assert torch.allclose(value, alone[name], rtol=1e-4, atol=1e-5), name


def assert_same_numbers(curve, other):
    assert len(curve) == len(other) > 0
    for line, expected in zip(curve, other):
        assert line == pytest.approx(expected, rel=1e-3, abs=2e-3)  # as rounded in the log


def test_two_processes_continue_from_the_same_intact_checkpoint(sessions_and_data, tmp_path):
    _, data = sessions_and_data
    flags = f"{SMALL} --dropout 0.1 --save-interval-updates 1 --disable-validation"
    train_together(data, tmp_path / "straight", f"{flags} --max-update 5")
    train_together(data, tmp_path / "parts", f"{flags} --max-update 4")
    last = tmp_path / "parts/checkpoint_last.pt"
    last.write_bytes(last.read_bytes()[:20_000])
    first, _ = train_together(data, tmp_path / "parts", f"{flags} --max-update 5")
    assert f"{last}: damaged checkpoint" in first
    straight, parts = (learned(tmp_path / name / last.name) for name in ("straight", "parts"))
    assert same_weights(straight, parts)


def test_two_processes_stop_together_if_no_checkpoint_is_intact(sessions_and_data, tmp_path):
    _, data = sessions_and_data
    save = tmp_path / "save"
    save.mkdir()
    (save / "checkpoint_last.pt").touch()
    for said in train_together(data, save, f"{SMALL} --max-update 1", status=1):
        assert f"{save}/checkpoint_last.pt: damaged checkpoint: empty" in said


def test_a_process_that_trains_alone_by_mistake_warns(sessions_and_data, tmp_path):
    flags = f"{SMALL} --max-update 1 --disable-validation"
    log = train(sessions_and_data[1], tmp_path, flags, WORLD_SIZE="2").stdout
    assert "WORLD_SIZE=2, but this process trains alone" in log
