"""Read the state of a task from a checkpoint."""

import inspect
import os
from typing import Any, Dict

import torch


def read_task_state(path: str) -> Dict[str, Any]:
    """Empty if the file has no state, is missing or damaged: fairseq reports the error later.

    With torch >= 2.1 this reads no weights.
    """
    if not os.path.isfile(path):
        return {}
    mapped = {"mmap": True} if "mmap" in inspect.signature(torch.load).parameters else {}
    try:
        return torch.load(path, map_location="cpu", **mapped).get("task_state") or {}
    except Exception:
        return {}
