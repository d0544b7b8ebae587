"""What versions of torch and fairseq need. Each entry says which version, and why."""

import logging
from argparse import Namespace

import numpy as np
import torch


def allow_plain_types_in_checkpoints() -> None:
    """torch >= 2.6 unpickles checkpoints with `weights_only=True`.

    fairseq saves its meters in them, where `--eval-bleu` keeps numpy counts, and the flags of some
    optimizers and architectures as a `Namespace`. These are plain data types; allowing them by name
    keeps the check switched on for all else.
    """
    if not hasattr(torch.serialization, "add_safe_globals"):
        return
    core = getattr(np, "_core", None) or np.core  # renamed in numpy 2
    types = [np.ndarray, np.dtype, core.multiarray._reconstruct, core.multiarray.scalar, Namespace]
    types += [type(np.dtype(name)) for name in ("int64", "int32", "float64", "float32", "bool")]
    torch.serialization.add_safe_globals(types)


def import_fairseq_quietly() -> None:
    """fairseq 0.12 asks for tensorboardX when imported, also by our own commands; none uses it."""
    logging.getLogger("fairseq.tasks.text_to_speech").setLevel(logging.WARNING)
