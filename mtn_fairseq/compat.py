"""What versions of torch and fairseq need. Each entry says which version, and why."""

import logging
from argparse import Namespace
from copy import deepcopy
from functools import wraps
from typing import Any

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


def resume_more_than_one_process() -> None:
    """torch >= 2.6 refuses what fairseq sends from rank 0, who reads a checkpoint, to the others.

    It is a pickle with the settings of the run (omegaconf) in it, and `weights_only=True` is for
    files. No file is involved here, and rank 0 has read its one with the check switched on.
    """
    if not hasattr(torch.serialization, "add_safe_globals"):
        return
    from fairseq.distributed import utils

    def broadcast(obj: Any, src_rank: int, group: Any, dist_device: torch.device) -> Any:
        box = [obj]
        torch.distributed.broadcast_object_list(box, src_rank, group, dist_device)
        return box[0]

    utils._broadcast_object_slow = broadcast


def copy_checkpoints_in_one_step() -> None:
    """fairseq, all versions: `checkpoint_last.pt` is copied from the checkpoint just written.

    A run that is killed meanwhile leaves half a file under that name. With another name until all
    of it is there, it leaves the last one as it was.
    """
    from fairseq.file_io import PathManager

    copy_in_place = PathManager.copy

    def copy(src_path: str, dst_path: str, overwrite: bool = False) -> bool:
        if not PathManager.supports_rename(dst_path):
            return copy_in_place(src_path, dst_path, overwrite)
        copy_in_place(src_path, f"{dst_path}.tmp", True)
        PathManager.rename(f"{dst_path}.tmp", dst_path)
        return True

    PathManager.copy = staticmethod(copy)


def resume_from_whole_checkpoints() -> None:
    """fairseq, all versions: a damaged `checkpoint_last.pt` ends every later start in a traceback.

    Rank 0 chooses for all, as it alone reads checkpoints. Checkpoints in several files (those of
    fully_sharded, with a suffix) are left to fairseq.
    """
    from fairseq import checkpoint_utils

    from .resuming.agreement import chosen_by_rank_0
    from .resuming.choice import whole_checkpoint

    load = checkpoint_utils.load_checkpoint

    @wraps(load)
    def load_whole(cfg: Any, trainer: Any, **options: Any) -> Any:
        if trainer.checkpoint_suffix:
            return load(cfg, trainer, **options)
        named = cfg.restore_file
        chosen = chosen_by_rank_0(trainer, lambda: whole_checkpoint(named, cfg.save_dir))
        if chosen != named:
            cfg = deepcopy(cfg)  # the run's own settings stay: they are saved with it
            cfg.restore_file, cfg.finetune_from_model = chosen, None
        return load(cfg, trainer, **options)

    checkpoint_utils.load_checkpoint = load_whole
