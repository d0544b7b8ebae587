"""The shares of a worker's time, by kind of torch operation."""

from typing import Dict

from measure import Worker
from torch.profiler import ProfilerActivity, profile

# An operation belongs to the first kind with a matching part of its name, else to "other".
KINDS = {
    "log softmax": ("log_softmax", "nll_loss", "logsumexp", "exp_"),
    "attention": ("scaled_dot_product", "_softmax"),
    "matrix multiplication": ("aten::mm", "addmm", "bmm", "matmul", "linear"),
    "dropout": ("bernoulli", "dropout"),
    "optimizer": ("optimizer", "adam", "_foreach"),
    "layer norm": ("layer_norm",),
    "best words": ("topk", "sort"),
    "moving and filling": ("copy", "index", "gather", "scatter", "cat", "fill", "zero", "clone"),
}


def time_shares(worker: Worker, steps: int) -> Dict[str, float]:
    """The share of each kind; an operation's time excludes the operations it calls."""
    worker.step()
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        for _ in range(steps):
            worker.step()
    times = dict.fromkeys([*KINDS, "other"], 0.0)
    for operation in profiled.key_averages():
        times[_kind(operation.key.lower())] += operation.self_cpu_time_total
    total = sum(times.values())
    return {kind: time / total for kind, time in times.items()}


def _kind(name: str) -> str:
    for kind, parts in KINDS.items():
        if any(part in name for part in parts):
            return kind
    return "other"
