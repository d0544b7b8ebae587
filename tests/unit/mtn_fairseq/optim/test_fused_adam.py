"""`--optimizer fused_adam` takes the same steps as fairseq's `adam`."""

import copy

import pytest
import torch
from fairseq import optim, options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from sessions import assert_close

import mtn_fairseq  # noqa: F401


def optimizer(name, parameters, *flags):
    parser = options.get_training_parser()
    command = ["data", "--optimizer", name, "--arch", "mtn", "--task", "session_to_query"]
    cfg = convert_namespace_to_omegaconf(
        options.parse_args_and_arch(parser, [*command, "--lr", "0.1", *flags])
    )
    return optim.build_optimizer(cfg.optimizer, parameters)


@pytest.mark.parametrize("flags", [[], ["--weight-decay", "0.1"], ["--adam-betas", "(0.5, 0.8)"]])
def test_steps_are_those_of_fairseqs_adam(flags):
    generator = torch.Generator().manual_seed(1)
    start = torch.randn(5, 3, generator=generator)
    found = {}
    for name in ("adam", "fused_adam"):
        weight = torch.nn.Parameter(start.clone())
        steps = optimizer(name, [weight], *flags)
        gradients = torch.Generator().manual_seed(2)
        for step in range(4):
            weight.grad = torch.randn(5, 3, generator=gradients)
            steps.set_lr(0.1 / (step + 1))
            steps.step()
        found[name] = weight.detach()
    assert (found["adam"] - start).abs().mean() > 0.1
    assert_close(found["fused_adam"], found["adam"], 1e-6)


def test_state_is_saved_and_read():
    weight = torch.nn.Parameter(torch.ones(3))
    one = optimizer("fused_adam", [weight])
    weight.grad = torch.ones(3)
    one.step()
    copied = torch.nn.Parameter(weight.detach().clone())
    other = optimizer("fused_adam", [copied])
    other.load_state_dict(copy.deepcopy(one.state_dict()))
    for optimised, parameter in ((one, weight), (other, copied)):
        parameter.grad = torch.full((3,), -2.0)
        optimised.step()
    assert copied.equal(weight)
