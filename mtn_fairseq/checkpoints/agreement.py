"""All processes of a run go on from the same checkpoint, or stop with the same error."""

from typing import Callable, Union

import torch
from fairseq.distributed import utils
from fairseq.trainer import Trainer

from mtn_preprocess.errors import InputError


def chosen_by_rank_0(trainer: Trainer, choose: Callable[[], str]) -> str:
    """The choice of the process that reads checkpoints, in each of them."""
    if trainer.data_parallel_world_size == 1:
        return choose()
    chosen: Union[str, InputError, None] = None
    if trainer.data_parallel_rank == 0:
        try:
            chosen = choose()
        except InputError as error:  # the others are waiting for a word, and must stop too
            chosen = error
    chosen = utils.broadcast_object(
        chosen,
        src_rank=0,
        group=trainer.data_parallel_process_group,
        dist_device=trainer.device,
    )
    if isinstance(chosen, InputError):
        # This ends the process. A thread of a group that has not ended by then may abort it, with
        # another exit code.
        torch.distributed.destroy_process_group()
        raise chosen
    return chosen
