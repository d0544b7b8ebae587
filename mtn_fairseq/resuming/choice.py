"""Which checkpoint does a run go on from?

fairseq writes `checkpoint_last.pt` all the time, so a machine that fails or a disk that is full
leaves it damaged. The run then goes on from the one before, and says so.
"""

import logging
import math
import os
import re
from typing import List, Tuple

from ..errors import InputError
from .damage import find_damage

logger = logging.getLogger(__name__)

LAST = "checkpoint_last.pt"  # fairseq's default for --restore-file
_EARLIER = re.compile(r"checkpoint_(\d+)_(\d+)\.pt|checkpoint(\d+)\.pt")


def whole_checkpoint(restore_file: str, save_dir: str) -> str:
    """What to pass as --restore-file: the same, unless that is the last checkpoint and damaged.

    Then the newest of `checkpoint_EPOCH_UPDATE.pt` and `checkpointEPOCH.pt` that is whole. A file
    that the user named is never replaced by another.
    """
    path = os.path.join(save_dir, LAST) if restore_file == LAST else restore_file
    damage = find_damage(path) if os.path.isfile(path) else None
    if damage is None:
        return restore_file
    if restore_file != LAST:
        raise InputError(f"damaged checkpoint: {damage}", "name another --restore-file", path)
    for earlier in earlier_checkpoints(save_dir):
        damage_there = find_damage(earlier)
        if damage_there is None:
            logger.warning(f"{path}: damaged checkpoint: {damage}; going on from {earlier}")
            return earlier
        logger.warning(f"{earlier}: damaged checkpoint: {damage_there}")
    raise InputError(
        f"damaged checkpoint: {damage}, and no whole one of an earlier update or epoch beside it",
        "copy one over it (checkpoint_best.pt, if there is one), or remove it to begin anew",
        path,
    )


def earlier_checkpoints(save_dir: str) -> List[str]:
    """Checkpoints by update and by epoch, newest first."""
    found = [(_age(name), name) for name in os.listdir(save_dir) if _EARLIER.fullmatch(name)]
    return [os.path.join(save_dir, name) for _, name in sorted(found, reverse=True)]


def _age(name: str) -> Tuple[int, float]:
    """(epoch, update); the checkpoint at the end of an epoch comes after all of its updates."""
    numbers = _EARLIER.fullmatch(name)
    assert numbers is not None
    epoch, update, whole_epoch = numbers.groups()
    return (int(whole_epoch), math.inf) if whole_epoch else (int(epoch), int(update))
