"""The best words of a mixture, in beam search: no matrix as wide as the vocabulary is mixed."""

from math import inf
from typing import NamedTuple, Optional, Tuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from .pointer import Copying
from .words import NO_COLUMN


class CopyableColumns(NamedTuple):
    """Of K places of its session, for each hypothesis. Most steps can do with those of the last."""

    read_from: Tensor  # (B, 1, K)
    columns: Tensor  # (R, K)
    known: Tensor  # (R, K) those of the vocabulary, each once; else 0
    no_logit: Tensor  # (R, K) where there is none

    @classmethod
    def of(
        cls, columns: Tensor, logits: Tensor, last: Optional["CopyableColumns"]
    ) -> "CopyableColumns":
        """columns (B, 1, K), logits (R, V)"""
        rows, vocabulary = logits.shape
        if last is not None and last.read_from is columns and len(last.columns) == rows:
            return last
        of_rows = columns.expand(-1, rows // len(columns), -1).flatten(0, 1)
        no_logit = of_rows.eq(NO_COLUMN) | of_rows.ge(vocabulary)
        return cls(columns, of_rows, of_rows.masked_fill(no_logit, 0), no_logit)

    def generated(self, logits: Tensor) -> Tensor:
        """(R, V) -> (R, K): the logits of the copied words"""
        return logits.gather(1, self.known).masked_fill_(self.no_logit, -inf)

    def mix(
        self, scores: Tensor, words: Tensor, total: Tensor, generated: Tensor, copying: Copying
    ) -> Tuple[Tensor, Tensor, Tensor]:
        """Scores and words of the mixture, and its total.

        A word that is not copied keeps its place among such words. So those that can be best are
        the best of the vocabulary and the copied ones.

        Args:
            scores: logits of special symbols, which are never copied, and of the best words
            words: (R, W) which words these are
            total: (R, 1) log Σ exp of all logits
            generated: of the copied words
        """
        gate, share = (part.flatten(0, 1).float() for part in (copying.gate, copying.share))
        # The logit that copying alone would be: the gate is log(g / (1 - g)).
        copied = share.log() + (total - gate)
        count = words.size(1)
        specials, best = scores.split([scores.size(1) - count, count], 1)
        twice = words.unsqueeze(2).eq(self.known.unsqueeze(1)).any(2)
        best = torch.cat([best.masked_fill_(twice, -inf), torch.logaddexp(generated, copied)], 1)
        best, places = best.topk(count, dim=1)
        words = torch.cat([words, self.columns], 1).gather(1, places)
        return torch.cat([specials, best], 1), words, total - logsigmoid(gate)
