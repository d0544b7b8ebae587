"""What newer versions of torch need. Each entry says which version, and why."""

import numpy as np
import torch


def allow_plain_types_in_checkpoints() -> None:
    """torch >= 2.6 unpickles checkpoints with `weights_only=True`.

    fairseq saves its meters in them, and `--eval-bleu` keeps numpy counts there. These are plain
    data types; allowing them by name keeps the check switched on for all else.
    """
    if not hasattr(torch.serialization, "add_safe_globals"):
        return
    core = getattr(np, "_core", None) or np.core  # renamed in numpy 2
    types = [np.ndarray, np.dtype, core.multiarray._reconstruct, core.multiarray.scalar]
    types += [type(np.dtype(name)) for name in ("int64", "int32", "float64", "float32", "bool")]
    torch.serialization.add_safe_globals(types)
