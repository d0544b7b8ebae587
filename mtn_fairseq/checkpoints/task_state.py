"""What a task left in a checkpoint."""

import inspect
import os
from typing import Any, Dict

import torch


def read_task_state(path: str) -> Dict[str, Any]:
    """Empty where the file has none, is missing or damaged: fairseq reads it again, and says so.

    With torch >= 2.1 no weights are read for it.
    """
    if not os.path.isfile(path):
        return {}
    mapped = {"mmap": True} if "mmap" in inspect.signature(torch.load).parameters else {}
    try:
        return torch.load(path, map_location="cpu", **mapped).get("task_state") or {}
    except Exception:
        return {}
