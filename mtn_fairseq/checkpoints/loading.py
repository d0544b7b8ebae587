"""Load trained models from intact checkpoints with finite weights, or report a one-line error."""

import pickle
import textwrap
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import torch
from fairseq import checkpoint_utils
from fairseq.checkpoint_utils import get_maybe_sharded_checkpoint_filename
from fairseq.models import BaseFairseqModel
from fairseq.tasks import FairseqTask
from torch import nn

from mtn_preprocess.errors import InputError

from .damage import require_whole

Loaded = Tuple[List[BaseFairseqModel], Any, FairseqTask]  # models, settings of the last one, task


def load_model(checkpoint: Path, data: Path) -> Tuple[BaseFairseqModel, FairseqTask]:
    """A model in evaluation mode, and its task.

    Args:
        data: folder of the binarised data it was trained on, for its dictionary
    """
    models, _, task = checkpoint_utils.load_model_ensemble_and_task(
        [str(checkpoint)], arg_overrides={"data": str(data)}
    )
    return models[0].eval(), task


def one_by_one(load: Callable[..., Loaded]) -> Callable[..., Loaded]:
    """fairseq's `load_model_ensemble_and_task`, with errors that name the file at fault."""

    @wraps(load)
    def load_all(
        filenames: Sequence[str],
        arg_overrides: Optional[Dict[str, Any]] = None,
        task: Optional[FairseqTask] = None,
        strict: bool = True,
        suffix: str = "",
        num_shards: int = 1,
        state: Optional[Dict[str, Any]] = None,
    ) -> Loaded:
        models: List[BaseFairseqModel] = []
        settings = None
        for filename in filenames:
            for shard in range(num_shards if state is None else 0):
                part = get_maybe_sharded_checkpoint_filename(filename, suffix, shard, num_shards)
                require_whole(part, "give a checkpoint that fairseq-train saved")
            with _errors_of(filename, (arg_overrides or {}).get("data") or _data_of(task)):
                loaded, settings, task = load(
                    [filename], arg_overrides, task, strict, suffix, num_shards, state
                )
            for model in loaded:
                refuse_broken_weights(model, filename)
            models += loaded
        return models, settings, task

    return load_all


def _data_of(task: Optional[FairseqTask]) -> Optional[str]:
    return getattr(getattr(task, "cfg", None), "data", None)


@contextmanager
def _errors_of(filename: str, data: Optional[str]) -> Iterator[None]:
    """Report errors in one line, with the name of the checkpoint."""
    try:
        yield
    except InputError as error:
        if error.file is not None:
            raise
        raise InputError(error.reason, error.remedy, filename) from error
    except (Exception, SystemExit) as error:  # fairseq and torch raise many types
        where = f"of the data in {data}" if data else "for this command"
        raise InputError(
            f"not a checkpoint {where} ({_in_short(error)})",
            "give the checkpoint that fairseq-train saved, and as `data` the folder it trained on",
            filename,
        ) from error


def _in_short(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return str(error)
    if isinstance(error, pickle.UnpicklingError):  # its message advises to turn off a safety check
        return "it has Python objects in it that torch does not load"
    return textwrap.shorten(f"{type(error).__name__}: {error}", 300)


def refuse_broken_weights(model: nn.Module, filename: str) -> None:
    """Refuse weights that are not finite: beam search would fail, but only at its last step."""
    for name, weights in model.named_parameters():
        if not torch.isfinite(weights).all():
            raise InputError(
                f"the training of this checkpoint failed: {name} is not finite (NaN or infinite)",
                "give an earlier checkpoint, or train again with a smaller --lr or a --clip-norm",
                filename,
            )
