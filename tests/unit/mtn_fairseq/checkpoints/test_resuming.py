"""Damaged checkpoints are found, and replaced by the right one or refused."""

import logging
import os
import random
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq import checkpoint_utils, tasks
from fairseq.data import ListDataset
from fairseq.dataclass.configs import CheckpointConfig
from sessions import DICTIONARY, EOS, SEPARATORS, SIZES, W, parse

from mtn_fairseq.checkpoints.choice import earlier_checkpoints, whole_checkpoint
from mtn_fairseq.checkpoints.damage import find_damage
from mtn_fairseq.data.session_to_query_dataset import SessionSource, SessionToQueryDataset
from mtn_preprocess.errors import InputError

LAST = "checkpoint_last.pt"


def write(path, updates=0):
    """Like a checkpoint: tensors, large and small, and plain values."""
    weights = torch.arange(3000.0) + updates
    torch.save({"model": {"weight": weights, "bias": weights[:3]}, "updates": updates}, str(path))


# --- damage ---------------------------------------------------------------------------------------


def empty(content):
    return b""


def cut_in_the_middle(content):
    return content[: len(content) // 2]


def cut_by_a_byte(content):
    return content[:-1]


def garbage(content):
    return random.Random(1).getrandbits(8 * len(content)).to_bytes(len(content), "big")


def never_flushed(content):
    """The right size, but the machine crashed before all data reached the disk."""
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


def test_a_changed_byte_never_changes_the_weights(tmp_path):
    """A changed byte is found, or torch refuses the file, or the weights stay the same (padding,
    dates). Training never continues with changed weights."""
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
def test_a_file_without_read_permission_is_not_damaged(tmp_path):
    path = tmp_path / LAST
    write(path)
    path.chmod(0)
    with pytest.raises(PermissionError):
        find_damage(str(path))


# --- replacement ----------------------------------------------------------------------------------


def test_earlier_checkpoints_are_sorted_by_epoch_and_update_not_by_name(tmp_path):
    in_order = ["10", "_10_1200", "_10_999", "9", "_9_998", "_2_30", "_2_4", "1"]
    others = ["_best", "_last", "_1_5.pt.tmp", ".best_loss_2.31", "_averaged", "-shard0"]
    for name in [*sorted(in_order), *others]:
        (tmp_path / f"checkpoint{name}.pt").touch()
    names = [os.path.basename(path) for path in earlier_checkpoints(str(tmp_path))]
    assert names == [f"checkpoint{name}.pt" for name in in_order]


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_newest_intact_checkpoint_replaces_a_damaged_last_one(tmp_path, caplog, damage):
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
    assert second.endswith(f"; continuing from {chosen}")


def test_an_intact_last_checkpoint_is_kept(tmp_path, caplog):
    write(tmp_path / LAST)
    (tmp_path / "checkpoint_1_10.pt").write_bytes(b"")
    assert whole_checkpoint(LAST, str(tmp_path)) == LAST
    assert not caplog.messages


def test_the_first_start_of_a_run(tmp_path):
    assert whole_checkpoint(LAST, str(tmp_path / "not made yet")) == LAST


def test_a_file_of_another_kind_is_left_to_fairseq(tmp_path):
    torch.save([1, 2], str(tmp_path / LAST))
    assert whole_checkpoint(LAST, str(tmp_path)) == LAST


def test_a_named_file_is_never_replaced(tmp_path):
    named = tmp_path / "checkpoint_1_4.pt"
    write(tmp_path / "checkpoint_1_3.pt")
    named.write_bytes(b"")
    with pytest.raises(InputError) as error:
        whole_checkpoint(str(named), str(tmp_path))
    assert str(error.value) == (f"{named}: damaged checkpoint: empty; name another --restore-file")


def test_no_intact_checkpoint_is_an_error(tmp_path):
    write(tmp_path / "checkpoint_best.pt")
    (tmp_path / LAST).write_bytes(b"")
    with pytest.raises(InputError, match=r"damaged checkpoint: empty, and no intact checkpoint.* copy one"):
        whole_checkpoint(LAST, str(tmp_path))


# --- no unintended start from scratch -------------------------------------------------------------


class Trainer:
    """The methods that fairseq's `load_checkpoint` calls; `loaded` is the file it passes."""

    data_parallel_world_size = 1

    def __init__(self, suffix=""):
        self.checkpoint_suffix = suffix
        self.loaded = None

    def load_checkpoint(self, path, *_, **__):
        self.loaded = path if os.path.isfile(path) else None  # silently, as in fairseq

    def get_train_iterator(self, epoch, **_):
        return SimpleNamespace(epoch=epoch)

    def lr_step(self, epoch):
        pass


def resume(save_dir, suffix="", **settings):
    """The file that `fairseq-train` continues from; None if it starts from scratch."""
    trainer = Trainer(suffix)
    config = CheckpointConfig(save_dir=str(save_dir), **settings)
    checkpoint_utils.load_checkpoint(config, trainer)
    return trainer.loaded


def test_the_first_start_in_an_empty_folder(tmp_path):
    assert resume(tmp_path) is None
    (tmp_path / "notes.txt").touch()
    (tmp_path / "checkpoint_averaged.pt").touch()  # not written by fairseq-train
    assert resume(tmp_path) is None


@pytest.mark.parametrize("flag", ["restore_file", "finetune_from_model", "continue_once"])
@pytest.mark.parametrize("kind", ["missing", "a folder", "damaged"])
def test_a_named_file_that_cannot_be_read_is_refused(tmp_path, flag, kind):
    named, save = tmp_path / "named.pt", tmp_path / "save"
    save.mkdir()
    if kind == "a folder":
        named.mkdir()
    elif kind == "damaged":
        named.write_bytes(b"")
    reason = "damaged checkpoint: empty" if kind == "damaged" else "no such checkpoint"
    with pytest.raises(InputError, match=rf"^{re.escape(str(named))}: {reason}; name another "):
        resume(save, **{flag: str(named)})


def test_the_first_checkpoint_of_a_run_is_not_needed_to_resume(tmp_path):
    write(tmp_path / LAST)
    assert resume(tmp_path, finetune_from_model="missing.pt") == str(tmp_path / LAST)


def test_the_error_suggests_the_name_with_its_folder(tmp_path):
    write(tmp_path / "checkpoint_best.pt")
    remedy = re.escape(f"; name --restore-file {tmp_path}/checkpoint_best.pt")
    with pytest.raises(InputError, match=f"^checkpoint_best.pt: no such checkpoint{remedy}$"):
        resume(tmp_path, restore_file="checkpoint_best.pt")


@pytest.mark.parametrize(
    "settings",
    [{}, {"reset_optimizer": True}, {"finetune_from_model": "missing.pt"}],
    ids=["plain", "reset", "fine-tuning"],
)
def test_without_the_last_checkpoint_the_newest_intact_one_is_used(tmp_path, caplog, settings):
    for name in ("checkpoint1.pt", "checkpoint_2_30.pt", "checkpoint_best.pt"):
        write(tmp_path / name)
    (tmp_path / "checkpoint_2_40.pt").write_bytes(b"")
    before = str(tmp_path / "checkpoint_2_30.pt")
    assert resume(tmp_path, **settings) == before
    assert caplog.messages[-1] == (
        f"{tmp_path}/{LAST}: missing, though the folder has other checkpoints; continuing from "
        f"{before}"
    )


@pytest.mark.parametrize("name", ["checkpoint_best.pt", "checkpoint.best_loss_2.310.pt"])
def test_the_best_checkpoint_may_be_old_and_is_not_used_by_default(tmp_path, name):
    write(tmp_path / name)
    with pytest.raises(InputError, match=r"checkpoint_last.pt: missing, .*; copy one to this name"):
        resume(tmp_path)
    assert resume(tmp_path, restore_file=str(tmp_path / name)) == str(tmp_path / name)


def test_no_intact_checkpoint_among_earlier_ones(tmp_path):
    (tmp_path / "checkpoint_1_2.pt").write_bytes(b"")
    with pytest.raises(InputError, match=r"_last.pt: missing, .* or start from zero in another --save-"):
        resume(tmp_path)


def test_a_dangling_link_is_an_error(tmp_path):
    (tmp_path / LAST).symlink_to(tmp_path / "another disk")
    with pytest.raises(InputError, match=r"damaged checkpoint: a folder, or a link to nothing"):
        resume(tmp_path)


def test_names_with_a_suffix(tmp_path):
    assert resume(tmp_path, "-part1") is None
    write(tmp_path / "checkpoint_1_2-part1.pt")
    with pytest.raises(InputError, match=r"checkpoint_last-part1.pt: missing, .*; copy one"):
        resume(tmp_path, "-part1")
    assert resume(tmp_path, "-part2") is None
    with pytest.raises(InputError, match=r"x-part1.pt: no such checkpoint; name another"):
        resume(tmp_path, "-part1", restore_file=str(tmp_path / "x.pt"))
    write(tmp_path / "checkpoint_last-part1.pt")
    assert resume(tmp_path, "-part1") == str(tmp_path / "checkpoint_last-part1.pt")


# --- batches after resuming -----------------------------------------------------------------------


def test_the_batches_of_an_epoch_do_not_depend_on_when_the_run_was_started():
    queries = [torch.tensor([W + i % 7, EOS]) for i in range(40)]
    data = SessionToQueryDataset(
        SessionSource(queries, SEPARATORS, SIZES, 1024, False, "train.session"),
        DICTIONARY,
        ListDataset(queries, np.full(40, 2)),
        shuffle=True,
    )

    def batches(epochs):
        """The batches of the last of these epochs."""
        task = tasks.setup_task(parse("mtn"))
        task.datasets["train"] = data
        for epoch in epochs:
            iterator = task.get_batch_iterator(data, max_sentences=3, seed=1, epoch=epoch)
            read = [batch["id"].tolist() for batch in iterator.next_epoch_itr()]
        return read

    assert batches([1, 2, 3]) == batches([3])
    assert batches([2]) != batches([3])
    assert sorted(line for batch in batches([3]) for line in batch) == list(range(40))
