"""The best words of the mixture, for beam search, without mixing over the whole vocabulary."""

from math import inf
from typing import NamedTuple, Optional, Tuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from .pointer import Copying
from .words import NO_COLUMN


class CopyableColumns(NamedTuple):
    """Columns of the K places of a session, for each hypothesis. Most steps reuse the last ones."""

    read_from: Tensor  # (B, 1, K)
    columns: Tensor  # (R, K)
    known: Tensor  # (R, K) columns of vocabulary words, each once; otherwise 0
    no_logit: Tensor  # (R, K) True at places without a vocabulary column

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

        Words that are not copied keep their order. So the best words are among the best of the
        vocabulary and the copied words.

        Args:
            scores: logits of special symbols, which are never copied, and of the best words
            words: (R, W) the best words
            total: (R, 1) log Σ exp of all logits
            generated: (R, K) logits of the copied words
        """
        gate, share = (part.flatten(0, 1).float() for part in (copying.gate, copying.share))
        # The logit of copying alone; the gate is log(g / (1 - g)).
        copied = share.log() + (total - gate)
        count = words.size(1)
        specials, best = scores.split([scores.size(1) - count, count], 1)
        can_copy = words.unsqueeze(2).eq(self.known.unsqueeze(1)).any(2)
        best = torch.cat([best.masked_fill_(can_copy, -inf), torch.logaddexp(generated, copied)], 1)
        best, places = best.topk(count, dim=1)
        words = torch.cat([words, self.columns], 1).gather(1, places)
        return torch.cat([specials, best], 1), words, total - logsigmoid(gate)
