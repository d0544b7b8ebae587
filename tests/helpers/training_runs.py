"""The results of a training run: its curve and weights."""

import json
import re

import torch

# Figures of time, and of batches that each process builds itself.
_NOT_COMPARED = re.compile(r"(valid_)?(wps|ups|wall|train_wall)|valid_(wpb|bsz)")


def logged(output, kind="train_inner"):
    """The numbers of each log line of a kind, with --log-format json --log-interval 1."""
    lines = re.findall(rf"\| {kind} \| (\{{.*\}})$", output, re.MULTILINE)
    return [
        {name: float(value) for name, value in json.loads(line).items() if not skipped(name)}
        for line in lines
    ]


def skipped(name):
    return _NOT_COMPARED.fullmatch(name) is not None


def load(checkpoint):
    return torch.load(str(checkpoint))


def learned(checkpoint):
    """The weights of a checkpoint, by name."""
    state = load(checkpoint)["model"]
    # fairseq's sinusoidal positions save an uninitialised number; only its type is used.
    return {name: value for name, value in state.items() if not name.endswith("_float_tensor")}


def same_weights(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
