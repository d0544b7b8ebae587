"""What training with several processes requires of the models, the data and the task."""

import logging

import pytest
import torch
from fairseq import tasks
from sessions import ALL_MODELS, EOS, W, parse

import mtn_fairseq  # noqa: F401
from mtn_fairseq.tasks.session_to_query import warn_of_training_alone


@pytest.mark.parametrize("name", ALL_MODELS)
def test_every_weight_gets_a_gradient_from_the_smallest_batch(name):
    """fairseq's default, --ddp-backend pytorch_ddp, fails if no loss depends on a weight."""
    args = parse(*ALL_MODELS[name])
    model = tasks.setup_task(args).build_model(args).train()
    one_query = {
        "src_tokens": torch.tensor([[W, EOS]]),
        "src_lengths": torch.tensor([2]),
        "prev_output_tokens": torch.tensor([[EOS]]),
    }
    model.get_normalized_probs(model(**one_query), log_probs=True).sum().backward()
    assert [n for n, p in model.named_parameters() if p.requires_grad and p.grad is None] == []


@pytest.mark.parametrize("name", ["WORLD_SIZE", "SLURM_STEP_NUM_TASKS"])
def test_a_process_that_trains_alone_by_mistake_is_warned(name, monkeypatch, caplog):
    for variable in ("WORLD_SIZE", "SLURM_STEP_NUM_TASKS"):
        monkeypatch.delenv(variable, raising=False)
    with caplog.at_level(logging.WARNING):
        warn_of_training_alone()
        monkeypatch.setenv(name, "1")
        warn_of_training_alone()
        assert not caplog.messages
        monkeypatch.setenv(name, "2")
        warn_of_training_alone()
    assert len(caplog.messages) == 1
    assert f"{name}=2" in caplog.text and "--distributed-world-size 2" in caplog.text
    caplog.clear()
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    warn_of_training_alone()
    assert not caplog.messages
