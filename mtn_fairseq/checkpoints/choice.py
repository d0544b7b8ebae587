"""Choose the checkpoint that a run continues from.

fairseq writes `checkpoint_last.pt` all the time, so a machine failure or a full disk leaves it
damaged or missing. If the file is missing, fairseq starts from scratch, whatever the flags and the
other files in the folder. Here a run continues from the previous checkpoint, with a warning, or
stops with an error.
"""

import logging
import math
import os
import re
from typing import List, Optional, Tuple

from mtn_preprocess.errors import InputError

from .damage import find_damage, require_whole

logger = logging.getLogger(__name__)

LAST = "checkpoint_last.pt"  # fairseq's default for --restore-file
MISSING = "missing, though the folder has other checkpoints"
_EARLIER = re.compile(r"checkpoint_(\d+)_(\d+)\.pt|checkpoint(\d+)\.pt")
_OF_A_RUN = re.compile(rf"{_EARLIER.pattern}|checkpoint_best\.pt|checkpoint\.best_.+\.pt")


def whole_checkpoint(restore_file: str, save_dir: str, first: Optional[str] = None) -> str:
    """The value for --restore-file: unchanged, unless the last checkpoint is damaged or missing.

    In that case it is the newest intact `checkpoint_EPOCH_UPDATE.pt` or `checkpointEPOCH.pt`. A
    file that the user named is never replaced.

    Args:
        first: the checkpoint that a run starts from (--finetune-from-model, --continue-once)
    """
    if restore_file != LAST:
        in_save_dir = os.path.join(save_dir, restore_file)
        forgotten = not os.path.isfile(restore_file) and os.path.isfile(in_save_dir)
        better = f"--restore-file {in_save_dir}" if forgotten else "another --restore-file"
        require_whole(restore_file, f"name {better}")
        return restore_file
    fault = _fault_of_the_last(save_dir)
    if fault is None:
        if first is not None and not os.path.isfile(os.path.join(save_dir, LAST)):
            require_whole(first, "name another checkpoint to begin with")
        return LAST
    last = os.path.join(save_dir, LAST)
    for earlier in earlier_checkpoints(save_dir):
        damage = find_damage(earlier)
        if damage is None:
            logger.warning(f"{last}: {fault}; continuing from {earlier}")
            return earlier
        logger.warning(f"{earlier}: damaged checkpoint: {damage}")
    raise InputError(
        f"{fault}, and no intact checkpoint of an earlier update or epoch beside it",
        "copy one to this name (checkpoint_best.pt, if there is one), or start from zero in "
        "another --save-dir",
        last,
    )


def _fault_of_the_last(save_dir: str) -> Optional[str]:
    """What is wrong with `checkpoint_last.pt`; None if it is intact or no checkpoint exists yet."""
    last = os.path.join(save_dir, LAST)
    if os.path.isfile(last):
        damage = find_damage(last)
        return damage and f"damaged checkpoint: {damage}"
    if os.path.lexists(last):
        return "damaged checkpoint: a folder, or a link to nothing"
    if any(map(_OF_A_RUN.fullmatch, _names(save_dir))):
        return MISSING
    return None


def earlier_checkpoints(save_dir: str) -> List[str]:
    """Checkpoints of updates and of epochs, newest first."""
    found = [(_age(name), name) for name in _names(save_dir) if _EARLIER.fullmatch(name)]
    paths = [os.path.join(save_dir, name) for _, name in sorted(found, reverse=True)]
    return list(filter(os.path.isfile, paths))


def refuse_missing_part(restore_file: str, save_dir: str, suffix: str) -> None:
    """With a suffix, each process reads its own file: none may start from scratch."""
    name = restore_file.replace(".pt", f"{suffix}.pt")
    if restore_file != LAST:
        require_whole(name, "name another --restore-file")
        return
    ours = re.compile(rf"checkpoint.*{re.escape(suffix)}\.pt")
    written = list(filter(ours.fullmatch, _names(save_dir)))
    if written and name not in written:
        raise InputError(
            MISSING,
            "copy one to this name, or start from zero in another --save-dir",
            os.path.join(save_dir, name),
        )


def _names(save_dir: str) -> List[str]:
    return os.listdir(save_dir) if os.path.isdir(save_dir) else []  # not created yet, or a URL


def _age(name: str) -> Tuple[int, float]:
    """(epoch, update); the checkpoint at the end of an epoch comes after all of its updates."""
    numbers = _EARLIER.fullmatch(name)
    assert numbers is not None
    epoch, update, whole_epoch = numbers.groups()
    return (int(whole_epoch), math.inf) if whole_epoch else (int(epoch), int(update))
