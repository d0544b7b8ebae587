"""Cross entropy that also rewards output distributions of high entropy (M-NSRF)."""

import math
from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Tuple

from fairseq import utils
from fairseq.criterions import register_criterion
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
    LabelSmoothedCrossEntropyCriterionConfig,
    label_smoothed_nll_loss,
)
from fairseq.logging import metrics
from fairseq.models import BaseFairseqModel
from fairseq.tasks import FairseqTask
from torch import Tensor


class Loss(NamedTuple):
    """Sums over the real target positions, in nats."""

    loss: Tensor  # what is minimised
    nll: Tensor  # cross entropy without smoothing
    entropy: Tensor  # of the output distributions


def entropy_regularized_nll_loss(
    lprobs: Tensor, target: Tensor, padding_idx: int, weight: float, smoothing: float = 0.0
) -> Loss:
    """Cross entropy minus `weight` times entropy; log-probabilities (N, V), target (N,)."""
    real = target.ne(padding_idx)
    lprobs, target = lprobs[real], target[real]
    smoothed, nll = label_smoothed_nll_loss(lprobs, target, smoothing)
    entropy = -(lprobs.exp() * lprobs).sum()
    return Loss(smoothed.sum() - weight * entropy, nll.sum(), entropy)


@dataclass
class EntropyRegularizedCrossEntropyConfig(LabelSmoothedCrossEntropyCriterionConfig):
    entropy_weight: float = field(
        default=0.1,
        metadata={"help": "how much the entropy of each output distribution counts; 0: not at all"},
    )


@register_criterion(
    "entropy_regularized_cross_entropy", dataclass=EntropyRegularizedCrossEntropyConfig
)
class EntropyRegularizedCrossEntropyCriterion(LabelSmoothedCrossEntropyCriterion):
    """For any architecture with a full softmax."""

    def __init__(
        self,
        task: FairseqTask,
        sentence_avg: bool,
        label_smoothing: float,
        ignore_prefix_size: int = 0,
        report_accuracy: bool = False,
        entropy_weight: float = 0.1,
    ) -> None:
        super().__init__(task, sentence_avg, label_smoothing, ignore_prefix_size, report_accuracy)
        self.entropy_weight = entropy_weight

    def forward(
        self, model: BaseFairseqModel, sample: Dict[str, Any], reduce: bool = True
    ) -> Tuple[Tensor, int, Dict[str, Any]]:
        net_output = model(**sample["net_input"])
        lprobs, target = self.get_lprobs_and_target(model, net_output, sample)
        loss, nll, entropy = entropy_regularized_nll_loss(
            lprobs, target, self.padding_idx, self.entropy_weight, self.eps
        )
        sample_size = sample["target"].size(0) if self.sentence_avg else sample["ntokens"]
        logging_output = {
            "loss": loss.data,
            "nll_loss": nll.data,
            "entropy": entropy.data,
            "ntokens": sample["ntokens"],
            "nsentences": sample["target"].size(0),
            "sample_size": sample_size,
        }
        if self.report_accuracy:
            n_correct, total = self.compute_accuracy(model, net_output, sample)
            logging_output["n_correct"] = utils.item(n_correct.data)
            logging_output["total"] = utils.item(total.data)
        return loss, sample_size, logging_output

    @classmethod
    def reduce_metrics(cls, logging_outputs: List[Dict[str, Any]]) -> None:
        super().reduce_metrics(logging_outputs)
        entropy = sum(log["entropy"] for log in logging_outputs)
        tokens = sum(log["ntokens"] for log in logging_outputs)
        metrics.log_scalar("entropy", entropy / tokens / math.log(2), tokens, round=3)
