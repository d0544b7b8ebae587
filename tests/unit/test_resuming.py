"""Damaged checkpoints: noticed whatever the damage, and replaced by the right one, or by none."""

import logging
import os
import random
import shutil

import numpy as np
import pytest
import torch
from fairseq import tasks
from fairseq.data import ListDataset
from fairseq.file_io import PathManager
from sessions import DICTIONARY, EOS, SEPARATORS, SIZES, W, parse

from mtn_fairseq.data.session_to_query_dataset import SessionSource, SessionToQueryDataset
from mtn_fairseq.errors import InputError
from mtn_fairseq.resuming.choice import earlier_checkpoints, whole_checkpoint
from mtn_fairseq.resuming.damage import find_damage

LAST = "checkpoint_last.pt"


def write(path, updates=0):
    """Like a checkpoint: tensors, large and small, and plain values."""
    weights = torch.arange(3000.0) + updates
    torch.save({"model": {"weight": weights, "bias": weights[:3]}, "updates": updates}, str(path))


# --- is it whole? ---------------------------------------------------------------------------------


def empty(content):
    return b""


def cut_in_the_middle(content):
    return content[: len(content) // 2]


def cut_by_a_byte(content):
    return content[:-1]


def garbage(content):
    return random.Random(1).getrandbits(8 * len(content)).to_bytes(len(content), "big")


def never_flushed(content):
    """The right size, but the machine went down before the rest reached the disk."""
    return content[:4096].ljust(len(content), b"\0")


def one_weight_changed(content):
    place = content.index(torch.tensor([1234.0, 1235.0]).numpy().tobytes())
    return content[:place] + b"?" + content[place + 1 :]


DAMAGES = [empty, cut_in_the_middle, cut_by_a_byte, garbage, never_flushed, one_weight_changed]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found(tmp_path, damage):
    path = tmp_path / LAST
    write(path)
    assert find_damage(str(path)) is None
    path.write_bytes(damage(path.read_bytes()))
    found = find_damage(str(path))
    assert found == "empty" if damage is empty else found.startswith("cut off or overwritten")


def test_no_other_byte_matters(tmp_path):
    """A changed byte is found; or torch refuses the file; or the weights are the same without it:
    padding, dates. What never happens is that training goes on with other weights."""
    path = tmp_path / LAST
    write(path)
    whole = path.read_bytes()
    state = torch.load(str(path))
    rng = random.Random(2)
    found = 0
    for _ in range(300):
        place = rng.randrange(len(whole))
        changed = bytearray(whole)
        changed[place] ^= rng.randint(1, 255)
        path.write_bytes(changed)
        if find_damage(str(path)):
            found += 1
            continue
        try:
            same = torch.load(str(path))
        except Exception:
            continue
        for name in ("weight", "bias"):
            assert torch.equal(same["model"][name], state["model"][name])
        assert same["updates"] == state["updates"]
    assert found > 250


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_not_damaged(tmp_path):
    path = tmp_path / LAST
    write(path)
    path.chmod(0)
    with pytest.raises(PermissionError):
        find_damage(str(path))


# --- which one instead? ---------------------------------------------------------------------------


def test_newest_first_by_epoch_and_update_not_by_name(tmp_path):
    in_order = ["10", "_10_1200", "_10_999", "9", "_9_998", "_2_30", "_2_4", "1"]
    others = ["_best", "_last", "_1_5.pt.tmp", ".best_loss_2.31", "_averaged", "-shard0"]
    for name in [*sorted(in_order), *others]:
        (tmp_path / f"checkpoint{name}.pt").touch()
    names = [os.path.basename(path) for path in earlier_checkpoints(str(tmp_path))]
    assert names == [f"checkpoint{name}.pt" for name in in_order]


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_newest_whole_one_replaces_a_damaged_last_one(tmp_path, caplog, damage):
    for name in ("checkpoint_1_3.pt", "checkpoint_1_4.pt", "checkpoint_1_10.pt", LAST):
        write(tmp_path / name)
    for name in (LAST, "checkpoint_1_10.pt"):
        (tmp_path / name).write_bytes(damage((tmp_path / name).read_bytes()))
    with caplog.at_level(logging.WARNING):
        chosen = whole_checkpoint(LAST, str(tmp_path))
    assert chosen == str(tmp_path / "checkpoint_1_4.pt")
    first, second = caplog.messages
    assert first.startswith(f"{tmp_path}/checkpoint_1_10.pt: damaged checkpoint: ")
    assert second.startswith(f"{tmp_path}/{LAST}: damaged checkpoint: ")
    assert second.endswith(f"; going on from {chosen}")


def test_a_whole_last_one_is_kept_whatever_else_is_there(tmp_path, caplog):
    write(tmp_path / LAST)
    (tmp_path / "checkpoint_1_10.pt").write_bytes(b"")
    assert whole_checkpoint(LAST, str(tmp_path)) == LAST
    assert not caplog.messages


def test_the_first_start_of_a_run(tmp_path):
    assert whole_checkpoint(LAST, str(tmp_path / "not made yet")) == LAST


def test_a_file_of_another_kind_is_for_fairseq_to_refuse(tmp_path):
    torch.save([1, 2], str(tmp_path / LAST))
    assert whole_checkpoint(LAST, str(tmp_path)) == LAST


def test_a_named_file_is_never_replaced(tmp_path):
    named = tmp_path / "checkpoint_1_4.pt"
    write(tmp_path / "checkpoint_1_3.pt")
    named.write_bytes(b"")
    with pytest.raises(InputError) as error:
        whole_checkpoint(str(named), str(tmp_path))
    assert str(error.value) == (f"{named}: damaged checkpoint: empty; name another --restore-file")


def test_nothing_left_is_not_a_new_beginning(tmp_path):
    write(tmp_path / "checkpoint_best.pt")
    (tmp_path / LAST).write_bytes(b"")
    with pytest.raises(InputError, match=r"damaged checkpoint: empty, and no whole one.* copy one"):
        whole_checkpoint(LAST, str(tmp_path))


# --- what is read after it ------------------------------------------------------------------------


def test_the_batches_of_an_epoch_do_not_depend_on_when_the_run_was_started():
    queries = [torch.tensor([W + i % 7, EOS]) for i in range(40)]
    data = SessionToQueryDataset(
        SessionSource(queries, SEPARATORS, SIZES, 1024, False, "train.session"),
        DICTIONARY,
        ListDataset(queries, np.full(40, 2)),
        shuffle=True,
    )

    def batches(epochs):
        """Those of the last of these epochs."""
        task = tasks.setup_task(parse("mtn"))
        task.datasets["train"] = data
        for epoch in epochs:
            iterator = task.get_batch_iterator(data, max_sentences=3, seed=1, epoch=epoch)
            read = [batch["id"].tolist() for batch in iterator.next_epoch_itr()]
        return read

    assert batches([1, 2, 3]) == batches([3])
    assert batches([2]) != batches([3])
    assert sorted(line for batch in batches([3]) for line in batch) == list(range(40))


# --- how fairseq copies ---------------------------------------------------------------------------


def test_a_copy_that_is_interrupted_leaves_the_last_checkpoint_as_it_was(tmp_path, monkeypatch):
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
            PathManager.copy(str(new), str(last), overwrite=True)
    assert last.read_bytes() == before
    assert PathManager.copy(str(new), str(last), overwrite=True)
    assert last.read_bytes() == new.read_bytes()
    assert sorted(os.listdir(tmp_path)) == [new.name, LAST]
