"""One run per --save-dir: two runs would overwrite each other's checkpoints."""

import fcntl
import logging
import os
import socket
import weakref
from pathlib import Path

from fairseq.file_io import PathManager
from fairseq.trainer import Trainer

from mtn_preprocess.errors import InputError

from .saving import remove_unfinished

logger = logging.getLogger(__name__)


def claim(save_dir: str, trainer: Trainer) -> None:
    """Lock `save_dir` against other runs for the lifetime of `trainer`; call it on rank 0 only.

    The operating system releases the lock (`lockf`) when the process ends, however it ends. Data
    loading workers do not inherit the lock: they survive a killed run for some seconds.
    """
    if not PathManager.supports_rename(save_dir):  # not on a disk, so there are no locks
        return
    # Processes with their own suffix (parts of a large model) write their own files.
    path = os.path.join(save_dir, f"training{trainer.checkpoint_suffix}.lock")
    try:
        lock = open(path, "a+", encoding="utf-8")  # noqa: SIM115  (closed with the trainer)
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}")
        lock.flush()
    except BlockingIOError as error:
        raise InputError(
            f"another run is training into this folder ({Path(path).read_text(encoding='utf-8')})",
            "wait until it ends, or pass another --save-dir",
            path,
        ) from error
    except OSError as error:
        logger.warning(f"{path}: cannot lock this file ({error.strerror}); start no other run here")
        return
    weakref.finalize(trainer, lock.close)
    remove_unfinished(save_dir)
