"""All processes of a run continue from the same checkpoint, or stop with the same error."""

from typing import Callable, Union

import torch
from fairseq.distributed import utils
from fairseq.trainer import Trainer

from mtn_preprocess.errors import InputError


def chosen_by_rank_0(trainer: Trainer, choose: Callable[[], str]) -> str:
    """Return the choice of rank 0, which reads checkpoints, in every process."""
    if trainer.data_parallel_world_size == 1:
        return choose()
    chosen: Union[str, InputError, None] = None
    if trainer.data_parallel_rank == 0:
        try:
            chosen = choose()
        except InputError as error:  # the other processes wait for it, and must stop, too
            chosen = error
    chosen = utils.broadcast_object(
        chosen,
        src_rank=0,
        group=trainer.data_parallel_process_group,
        dist_device=trainer.device,
    )
    if isinstance(chosen, InputError):
        # The error ends the process. A thread of an open process group might abort it, with another
        # exit code.
        torch.distributed.destroy_process_group()
        raise chosen
    return chosen
