"""`--optimizer fused_adam`: Adam with decoupled weight decay, in torch's fused kernel.

Without a GPU, fairseq's `adam` runs about ten operations over each parameter.
"""

import logging
from dataclasses import dataclass, field
from typing import Any, Iterable, List

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.optim import FairseqOptimizer, register_optimizer
from fairseq.optim.adam import FairseqAdam
from omegaconf import II

logger = logging.getLogger(__name__)


@dataclass
class FusedAdamConfig(FairseqDataclass):
    adam_betas: Any = field(default=(0.9, 0.999), metadata={"help": "betas for Adam optimizer"})
    adam_eps: float = field(default=1e-8, metadata={"help": "epsilon for Adam optimizer"})
    weight_decay: float = field(default=0.0, metadata={"help": "weight decay"})
    lr: List[float] = field(default=II("optimization.lr"))


@register_optimizer("fused_adam", dataclass=FusedAdamConfig)
class FusedAdam(FairseqOptimizer):
    """The same updates as `adam`, except for epsilon: here it is constant, as in the Adam paper;
    fairseq's is larger in early steps."""

    def __init__(self, cfg: FusedAdamConfig, params: Iterable[torch.nn.Parameter]) -> None:
        super().__init__(cfg)
        params = list(params)
        try:
            self._optimizer = torch.optim.AdamW(params, fused=True, **self.optimizer_config)
        except (RuntimeError, TypeError) as reason:  # no kernel for this device; torch < 2
            logger.warning(f"torch {torch.__version__} has no fused Adam here: {reason}")
            self._optimizer = torch.optim.AdamW(params, **self.optimizer_config)

    optimizer_config = FairseqAdam.optimizer_config

    @property
    def supports_flat_params(self) -> bool:
        return True
