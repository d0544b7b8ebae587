"""A checkpoint refuses other dictionaries than its own, even of the same size."""

import shutil

import pytest
import torch
from fairseq import checkpoint_utils, tasks
from fairseq.data import Dictionary
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.trainer import Trainer
from sessions import DATA, DICTIONARY, SMALL, parse

from mtn_fairseq.checkpoints.task_state import read_task_state
from mtn_preprocess.errors import InputError
from mtn_fairseq.checkpoints.loading import load_model

MESSAGE = r"{}/dict\.session\.txt: not the dictionary that the checkpoint was trained with; "


def trainer_of(data):
    flags = f"{SMALL} --level-layers 1,1 --cpu --optimizer adam"
    cfg = convert_namespace_to_omegaconf(parse("mtn", flags))
    cfg.task.data = str(data)
    task = tasks.setup_task(cfg.task)
    return Trainer(cfg, task, task.build_model(cfg.model), task.build_criterion(cfg.criterion))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "checkpoint_last.pt"
    iterator = {"version": 2, "epoch": 1, "iterations_in_epoch": 0}
    trainer = trainer_of(DATA)
    trainer.consolidate_optimizer()
    trainer.save_checkpoint(str(path), {"train_iterator": iterator})
    return path


@pytest.fixture(scope="module")
def old(checkpoint):
    """A checkpoint of an earlier version."""
    state = torch.load(str(checkpoint))
    del state["task_state"]["dictionary"]
    path = checkpoint.with_name("old.pt")
    torch.save(state, str(path))
    return path


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Data of a dictionary with the words in another order."""
    folder = tmp_path_factory.mktemp("other")
    for language in ("session", "next"):
        words = (DATA / f"dict.{language}.txt").read_text().splitlines()
        (folder / f"dict.{language}.txt").write_text("\n".join([*words[:3], *words[:2:-1]]))
    assert len(Dictionary.load(str(folder / "dict.next.txt"))) == len(DICTIONARY)
    return folder


def test_the_same_dictionary_elsewhere(checkpoint, tmp_path):
    shutil.copytree(DATA, tmp_path / "moved")
    load_model(checkpoint, tmp_path / "moved")
    assert trainer_of(tmp_path / "moved").load_checkpoint(str(checkpoint)) is not None


def test_generation_refuses_another_dictionary(checkpoint, other):
    """fairseq-generate and -interactive pass a task, fairseq-validate and our commands do not."""
    message = MESSAGE.format(other)
    task = trainer_of(other).task
    with pytest.raises(InputError, match=f"^{message}"):
        checkpoint_utils.load_model_ensemble([str(checkpoint)], task=task)
    with pytest.raises(InputError, match=f"^{message}"):
        checkpoint_utils.load_model_ensemble_and_task(
            [str(checkpoint)], arg_overrides={"data": str(other)}
        )
    with pytest.raises(InputError, match=message):
        load_model(checkpoint, other)


@pytest.mark.parametrize("fresh", [False, True])  # True: --finetune-from-model
def test_training_refuses_another_dictionary(checkpoint, other, fresh):
    trainer = trainer_of(other)
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    with pytest.raises(InputError, match=f"^{MESSAGE.format(other)}"):
        trainer.load_checkpoint(str(checkpoint), reset_optimizer=fresh, reset_meters=fresh)
    after = trainer.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_older_checkpoints_have_no_fingerprint(old, other):
    load_model(old, other)
    assert trainer_of(other).load_checkpoint(str(old)) is not None


def test_the_state_of_a_task(checkpoint, old, tmp_path):
    assert len(read_task_state(str(checkpoint))["dictionary"]) == 64
    assert read_task_state(str(old)) == {}
    assert read_task_state(str(tmp_path / "missing.pt")) == {}
    (tmp_path / "damaged.pt").write_bytes(checkpoint.read_bytes()[:5000])
    assert read_task_state(str(tmp_path / "damaged.pt")) == {}
    torch.save({"model": {}}, str(tmp_path / "averaged.pt"))
    assert read_task_state(str(tmp_path / "averaged.pt")) == {}
