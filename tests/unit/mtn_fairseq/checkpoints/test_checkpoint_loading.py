"""Loading trained models, as all commands do: a bad file is a one-line error."""

import re
import shutil

import pytest
import torch
from fairseq import checkpoint_utils, tasks
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from omegaconf import OmegaConf
from sessions import DATA, SMALL, parse
from test_resuming import DAMAGES

from mtn_preprocess.errors import InputError
from mtn_fairseq.checkpoints.loading import load_model


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A checkpoint with the parts of fairseq-train's that loading reads."""
    args = parse("mtn", f"{SMALL} --level-layers 1,1")
    state = {
        "args": None,
        "cfg": OmegaConf.to_container(convert_namespace_to_omegaconf(args)),
        "model": tasks.setup_task(args).build_model(args).state_dict(),
        "optimizer_history": [
            {"optimizer_name": "FairseqAdam", "lr_scheduler_state": {}, "num_updates": 1}
        ],
        "extra_state": {"train_iterator": {"epoch": 1}},
    }
    path = tmp_path_factory.mktemp("trained") / "checkpoint_best.pt"
    torch.save(state, str(path))
    return path


@pytest.fixture
def checkpoint(saved, tmp_path):
    """A copy that the test may change."""
    return shutil.copy(saved, tmp_path / saved.name)


def change(checkpoint, **parts):
    state = torch.load(str(checkpoint))
    torch.save({**state, **parts}, str(checkpoint))


def as_generate_does(*checkpoints, overrides=None):
    task = tasks.setup_task(parse("mtn", f"{SMALL} --level-layers 1,1"))
    return checkpoint_utils.load_model_ensemble(list(map(str, checkpoints)), overrides, task)


def as_validate_does(checkpoint):
    return checkpoint_utils.load_model_ensemble_and_task([str(checkpoint)])


def as_suggest_and_report_do(checkpoint):
    return load_model(checkpoint, DATA)


WAYS = [as_generate_does, as_validate_does, as_suggest_and_report_do]
each_way = pytest.mark.parametrize("open_it", WAYS)


def refused(checkpoint, reason):
    """Expect an error in one line that names the file, with a remedy."""
    return pytest.raises(InputError, match=rf"^{re.escape(str(checkpoint))}: {reason}.*; give .*$")


@each_way
def test_an_intact_checkpoint(saved, open_it):
    assert open_it(saved)


def test_an_ensemble_and_the_settings_of_its_last_model(saved, checkpoint):
    models, settings = as_generate_does(saved, checkpoint, saved)
    assert len(models) == len(set(map(id, models))) == 3
    assert settings.task.data == str(DATA)


@each_way
@pytest.mark.parametrize("damage", [d for d in DAMAGES if d.__name__ != "one_weight_changed"])
def test_a_damaged_file(checkpoint, open_it, damage):
    checkpoint.write_bytes(damage(checkpoint.read_bytes()))
    with refused(checkpoint, "damaged checkpoint: "):
        open_it(checkpoint)


@each_way
def test_one_bit_of_a_weight(checkpoint, open_it):
    """torch reads such a file, and the model would generate."""
    weights = torch.load(str(checkpoint))["model"]["decoder.embed_tokens.weight"]
    content = bytearray(checkpoint.read_bytes())
    content[content.index(weights.numpy().tobytes()) + 100] ^= 1
    checkpoint.write_bytes(content)
    assert not torch.equal(
        torch.load(str(checkpoint))["model"]["decoder.embed_tokens.weight"], weights
    )
    with refused(checkpoint, r"damaged checkpoint: .*\(checksum of "):
        open_it(checkpoint)


@each_way
def test_missing_file(tmp_path, open_it):
    with refused(tmp_path / "checkpoint9.pt", "no such checkpoint"):
        open_it(tmp_path / "checkpoint9.pt")


@each_way
@pytest.mark.parametrize("content", [[1, 2], {"model": {}}, {"model": InputError}], ids=repr)
def test_torch_saved_something_else(tmp_path, open_it, content):
    path = tmp_path / "other.pt"
    torch.save(content, str(path))
    with refused(path, r"not a checkpoint (of the data in \S+|for this command) \(") as error:
        open_it(path)
    assert "weights_only" not in str(error.value)  # no advice to turn off the check


def test_the_file_at_fault_is_named(saved, tmp_path):
    with refused(tmp_path / "2.pt", "no such checkpoint"):
        as_generate_does(saved, tmp_path / "2.pt")


def test_another_size(saved):
    with refused(saved, rf"not a checkpoint of the data in {DATA} \(checkpoint of another arch"):
        as_generate_does(saved, overrides={"level_layers": "1,2"})


@each_way
def test_an_unregistered_architecture(checkpoint, open_it):
    cfg = torch.load(str(checkpoint))["cfg"]
    change(checkpoint, cfg={**cfg, "model": {**cfg["model"], "_name": "of_another_plugin"}})
    with refused(checkpoint, r"not a checkpoint .* \(\w+: "):
        open_it(checkpoint)


@each_way
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite(checkpoint, open_it, value):
    weights = torch.load(str(checkpoint))["model"]
    weights["decoder.layers.0.fc1.bias"][3] = value
    change(checkpoint, model=weights)
    reason = r"the training .* failed: decoder\.layers\.0\.fc1\.bias is not finite"
    with refused(checkpoint, reason):
        open_it(checkpoint)
