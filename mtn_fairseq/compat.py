"""Work-arounds for versions of torch and fairseq. Each names the version and the reason."""

import atexit
import fileinput
import logging
import queue
import sys
import time
from argparse import Namespace
from contextlib import redirect_stdout, suppress
from copy import deepcopy
from functools import wraps
from pathlib import Path
from typing import Any, Callable, Iterator, List
from weakref import WeakSet

import numpy as np
import torch

from mtn_preprocess.errors import InputError
from mtn_preprocess.files.standard_streams import standard_output

SECONDS_TO_STOP = 10.0  # enough to finish reading a batch; after that, Python exits anyway


def allow_plain_types_in_checkpoints() -> None:
    """torch >= 2.6 unpickles checkpoints with `weights_only=True`.

    fairseq saves meters in checkpoints (with numpy counts for `--eval-bleu`) and the flags of some
    optimizers and architectures as a `Namespace`. These are plain data types. Allowing them by name
    keeps the check for everything else.
    """
    if not hasattr(torch.serialization, "add_safe_globals"):
        return
    core = getattr(np, "_core", None) or np.core  # renamed in numpy 2
    types = [np.ndarray, np.dtype, core.multiarray._reconstruct, core.multiarray.scalar, Namespace]
    types += [type(np.dtype(name)) for name in ("int64", "int32", "float64", "float32", "bool")]
    torch.serialization.add_safe_globals(types)


def import_fairseq_quietly() -> None:
    """fairseq 0.12 asks for tensorboardX on import, even in our commands, which do not use it."""
    logging.getLogger("fairseq.tasks.text_to_speech").setLevel(logging.WARNING)


def resume_more_than_one_process() -> None:
    """torch >= 2.6 refuses the checkpoint that rank 0 reads and broadcasts to the other ranks.

    fairseq broadcasts a pickle that contains the settings of the run (omegaconf), which
    `weights_only=True` forbids. That check is for files; rank 0 read its file with the check on.
    """
    if not hasattr(torch.serialization, "add_safe_globals"):
        return
    from fairseq.distributed import utils

    def broadcast(obj: Any, src_rank: int, group: Any, dist_device: torch.device) -> Any:
        box = [obj]
        torch.distributed.broadcast_object_list(box, src_rank, group, dist_device)
        return box[0]

    utils._broadcast_object_slow = broadcast


def write_checkpoints_in_one_step() -> None:
    """fairseq, all versions: `checkpoint_last.pt` is copied from the checkpoint just written.

    A run that is killed during the copy leaves half a file under that name. With a temporary name
    until the copy is complete, the previous file stays intact. fairseq saves the first copy this
    way, but under a name that all runs share. On a full disk it appends three times to the partial
    file and ends in two tracebacks.
    """
    from fairseq import checkpoint_utils
    from fairseq.file_io import PathManager

    from .checkpoints.saving import opened_for_torch, replacing

    copy_in_place, save_elsewhere = PathManager.copy, checkpoint_utils.torch_persistent_save

    def copy(src_path: str, dst_path: str, overwrite: bool = False) -> bool:
        if not PathManager.supports_rename(dst_path):
            return copy_in_place(src_path, dst_path, overwrite)
        with replacing(dst_path) as temporary:
            copy_in_place(src_path, temporary, True)
        return True

    @wraps(save_elsewhere)
    def save(obj: Any, filename: str, async_write: bool = False) -> None:
        if async_write or not PathManager.supports_rename(filename):
            return save_elsewhere(obj, filename, async_write)
        with replacing(filename) as temporary, opened_for_torch(temporary) as stream:
            torch.save(obj, stream)

    verify = checkpoint_utils.verify_checkpoint_directory

    @wraps(verify)
    def verify_in_one_line(save_dir: str) -> None:
        try:
            verify(save_dir)
        except OSError as error:
            reason = f"no checkpoints can be saved here ({error.strerror})"
            raise InputError(reason, "pass another --save-dir", save_dir) from None

    PathManager.copy = staticmethod(copy)
    checkpoint_utils.torch_persistent_save = save
    checkpoint_utils.verify_checkpoint_directory = verify_in_one_line


def resume_with_the_same_dictionary() -> None:
    """fairseq, all versions: saves the state of a task, but does not read it when training resumes.

    Only rank 0 reads checkpoints, so it checks for all. Sharded checkpoints are left to fairseq.
    """
    from fairseq.trainer import Trainer

    from .checkpoints.agreement import chosen_by_rank_0
    from .checkpoints.task_state import read_task_state

    load = Trainer.load_checkpoint

    @wraps(load)
    def load_checked(self: Trainer, filename: str, *args: Any, **options: Any) -> Any:
        def check() -> str:
            self.task.check_state_dict(read_task_state(filename))
            return filename

        if hasattr(self.task, "check_state_dict") and not self.checkpoint_suffix:
            chosen_by_rank_0(self, check)
        try:
            return load(self, filename, *args, **options)
        except SystemExit as refused:  # from checkpoints/foreign.py, which does not know the file
            if isinstance(refused, InputError) or not isinstance(refused.code, str):
                raise
            raise SystemExit(f"{filename}: {refused.code}") from None

    Trainer.load_checkpoint = load_checked


def check_text_before_binarising() -> None:
    """fairseq, all versions: lets a task check training text only, and with --srcdict no text.

    Without this check fairseq would binarise an empty test set, text that contains `<pad>` or a
    separator missing from the dictionary, and text that was prepared with other settings.
    """
    from fairseq.binarizer import FileBinarizer

    from mtn_preprocess.text.text_checks import check_text

    from .data.session_dictionary import SessionDictionary, check_settings_of, separators_of

    binarise = FileBinarizer.multiprocess_dataset

    def binarise_checked(
        input_file: str, dataset_impl: str, binarizer: Any, *args: Any, **options: Any
    ) -> Any:
        dictionary = getattr(binarizer, "dict", None)
        if isinstance(dictionary, SessionDictionary):
            check_text(Path(input_file), separators_of(dictionary))
            check_settings_of(Path(input_file), dictionary)
        return binarise(input_file, dataset_impl, binarizer, *args, **options)

    FileBinarizer.multiprocess_dataset = staticmethod(binarise_checked)


def resume_from_whole_checkpoints() -> None:
    """fairseq, all versions: a damaged `checkpoint_last.pt` ends every later start in a traceback,
    and if the file to restore is missing, training starts from scratch.

    Only rank 0 reads checkpoints, so it chooses for all.
    """
    from fairseq import checkpoint_utils

    from .checkpoints.agreement import chosen_by_rank_0
    from .checkpoints.choice import refuse_missing_part, whole_checkpoint
    from .checkpoints.one_run import claim

    load = checkpoint_utils.load_checkpoint

    @wraps(load)
    def load_whole(cfg: Any, trainer: Any, **options: Any) -> Any:
        named, suffix = cfg.restore_file, trainer.checkpoint_suffix
        first = getattr(cfg, "continue_once", None) or cfg.finetune_from_model

        def choose() -> str:
            if not cfg.no_save:
                claim(cfg.save_dir, trainer)
            # Sharded checkpoints, whose names have a suffix, are left to fairseq.
            return named if suffix else whole_checkpoint(named, cfg.save_dir, first)

        chosen = chosen_by_rank_0(trainer, choose)
        if suffix:
            refuse_missing_part(named, cfg.save_dir, suffix)
        if chosen != named:
            cfg = deepcopy(cfg)  # the run's own settings are saved, so they must not change
            cfg.restore_file, cfg.finetune_from_model = chosen, None
        return load(cfg, trainer, **options)

    checkpoint_utils.load_checkpoint = load_whole


def load_whole_checkpoints() -> None:
    """fairseq, all versions: commands that load a trained model (`fairseq-generate`, …) accept a
    damaged file if torch does, and otherwise end in a traceback.

    `load_model_ensemble` and similar functions all call the function that is replaced here.
    """
    from fairseq import checkpoint_utils

    from .checkpoints.loading import one_by_one

    checkpoint_utils.load_model_ensemble_and_task = one_by_one(
        checkpoint_utils.load_model_ensemble_and_task
    )


def stop_reading_ahead_at_the_end() -> None:
    """fairseq, all versions: the thread that prefetches batches still runs when training ends
    within an epoch.

    Python, up to 3.13 at least, stops such a thread at exit, wherever it is. Inside torch, that
    aborts the process (exit code 134) after its work is done.
    """
    from fairseq.data.iterators import BackgroundConsumer

    started: WeakSet[BackgroundConsumer] = WeakSet()
    start = BackgroundConsumer.start

    @wraps(start)
    def start_remembered(self: BackgroundConsumer) -> None:
        started.add(self)
        start(self)

    def stop() -> None:
        deadline = time.monotonic() + SECONDS_TO_STOP
        for reader in list(started):
            reader._max_len = 0  # the thread ends after its current batch
            while reader.is_alive() and time.monotonic() < deadline:
                with suppress(queue.Empty):
                    reader._queue.get(timeout=0.05)  # the thread may wait for room in the queue

    BackgroundConsumer.start = start_remembered
    atexit.register(stop)


def use_standard_streams_as_our_commands_do() -> None:
    """fairseq, all versions: `fairseq-generate` and `-interactive` end in a traceback if standard
    output is full or has lost its reader, and silently if it is closed.
    """
    for name in ("fairseq_cli.generate", "fairseq_cli.interactive", "__main__"):
        command = sys.modules.get(name)
        path = str(getattr(command, "__file__", None))
        if Path(path).parent.name != "fairseq_cli" or not hasattr(command, "main"):
            continue
        if Path(path).name in ("generate.py", "interactive.py"):
            command.main = _with_standard_output(command.main)  # type: ignore[union-attr]


def _with_standard_output(main: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(main)
    def wrapped(*args: Any, **options: Any) -> Any:
        with standard_output(line_by_line=True) as out, redirect_stdout(out):
            return main(*args, **options)

    return wrapped


def read_any_bytes_interactively() -> None:
    """fairseq, all versions: `fairseq-interactive` stops at the first byte that is not UTF-8.

    The lines after it would get no answer. The command reads standard input and `--input` with a
    function of its own, which a task cannot replace.
    """
    for name in ("fairseq_cli.interactive", "__main__"):  # as a command, or with `python -m`
        command = sys.modules.get(name)
        if hasattr(command, "buffered_read") and hasattr(command, "make_batches"):
            command.buffered_read = buffered_read  # type: ignore[union-attr]


def buffered_read(input: str, buffer_size: int) -> Iterator[List[str]]:
    """fairseq's function, with question marks for bytes that are not UTF-8."""
    buffer: List[str] = []
    if input == "-" and sys.stdin is None:
        raise InputError("standard input is closed", "leave it open, or pass --input FILE", "-")
    try:
        if input != "-":
            open(input, "rb").close()
    except OSError as error:
        reason = f"cannot be read ({error.strerror})"
        raise InputError(reason, "check --input", input) from None
    with fileinput.input(files=[input], mode="rb") as lines:
        for line in lines:
            text = line.decode("utf-8", "surrogateescape").encode("utf-8", "replace")
            buffer.append(text.decode("utf-8").strip())
            if len(buffer) >= buffer_size:
                yield buffer
                buffer = []
    if buffer:
        yield buffer
