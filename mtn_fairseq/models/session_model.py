"""What every model of this package has in common."""

from argparse import Namespace
from typing import Dict, List, NamedTuple, Optional

from fairseq.dataclass import FairseqDataclass
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.tasks import FairseqTask
from torch import Tensor

from ..errors import InputError
from .checkpoints import refuse_foreign_checkpoint


class SessionModel(FairseqEncoderDecoderModel):
    """A session in, the next query out."""

    def load_state_dict(
        self,
        state_dict: Dict[str, Tensor],
        strict: bool = True,
        model_cfg: Optional[FairseqDataclass] = None,
        args: Optional[Namespace] = None,
    ) -> NamedTuple:
        if strict:
            refuse_foreign_checkpoint(self, state_dict)
        return super().load_state_dict(state_dict, strict, model_cfg, args)


def separators_of(task: FairseqTask) -> List[int]:
    """Dictionary indices of `<q>`, `<session>`, …, which only our task knows."""
    separators = getattr(task, "separators", None)
    if separators is None:
        raise InputError(
            "this architecture reads the separators of session data",
            "train with --task session_to_query",
        )
    return separators
