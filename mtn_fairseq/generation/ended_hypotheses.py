"""The ended hypotheses of a beam search, and when a session has enough of them.

fairseq stops a search when --beam hypotheses have ended. Queries are short: that many unlikely ones
(`google`, `yoga`, `yoga results`) can end before the likeliest one, `weight lifting benefits`,
which is then never found. Here a search continues while any unfinished hypothesis is likelier than
the least likely hypothesis that would be returned.
"""

from math import inf
from typing import Any, Dict, List, Optional

import torch
from torch import Tensor

from .without_unknown import Hypotheses


class EndedHypotheses:
    """The ended hypotheses of a batch, of which B sessions are still searched.

    Args:
        beam: hypotheses to return per session
        first: return the first hypotheses that end, as in fairseq, instead of the likeliest
        length_power: the likeliest hypotheses are those with the greatest sum of log probabilities;
            they are ranked by this sum divided by length to this power
        eos: index of `</s>`
    """

    def __init__(
        self,
        sessions: int,
        beam: int,
        first: bool,
        length_power: float,
        eos: int,
        device: torch.device,
    ) -> None:
        self.beam, self.first, self.length_power, self.eos = beam, first, length_power, eos
        self.of_session: Hypotheses = [[] for _ in range(sessions)]
        self.searched: List[int] = list(range(sessions))
        self.likeliest = torch.full((sessions, beam), -inf, device=device)  # (B, beam), sorted

    def add(
        self,
        ends: Tensor,
        likelihood: Tensor,
        row: Tensor,
        tokens: Tensor,
        scores: Tensor,
        too_long: Optional[Tensor] = None,
    ) -> None:
        """Add hypotheses that end in this step.

        Args:
            ends: (B, beam) mask of the hypotheses that have ended
            likelihood: (B, beam) sum of log probabilities
            row: (B, beam) row of each hypothesis in `tokens` and `scores`
            tokens: (R, T) with the start token, without the end
            scores: (R, T - 1) likelihood up to each token
            too_long: (B,) sessions whose hypotheses of this length are ranked last
        """
        added = ends if self.first else ends & likelihood.gt(self.likeliest[:, -1:])
        length = tokens.size(1)
        rows, sums = row[added], likelihood[added]
        words = torch.cat([tokens[rows, 1:], tokens.new_full((len(rows), 1), self.eos)], 1)
        steps = torch.cat([scores[rows], sums.unsqueeze(1)], 1)
        steps = torch.cat([steps[:, :1], steps.diff(dim=1)], 1)
        final = sums / length**self.length_power
        session = added.nonzero()[:, 0]
        if too_long is not None:
            final = final.masked_fill(too_long[session], -inf)
        for number, *parts in zip(session.tolist(), words, final, steps):
            found = self.of_session[self.searched[number]]
            if not self.first or len(found) < self.beam:
                found.append(_hypothesis(*parts))
        both = torch.cat([self.likeliest, likelihood.masked_fill(~added, -inf)], 1)
        self.likeliest = both.topk(self.beam, dim=1).values

    def are_enough(self, unfinished: Tensor) -> Tensor:
        """Greatest likelihood of an unfinished hypothesis (B,) -> whether a session is done (B,)"""
        counts = [len(self.of_session[number]) for number in self.searched]
        if self.first:
            return torch.tensor(counts, device=unfinished.device).ge(self.beam)
        some = self.likeliest[:, 0].gt(-inf)
        return some & self.likeliest[:, -1].ge(unfinished)

    def go_on_with(self, kept: Tensor) -> None:
        """Continue with these sessions (B',) of the B."""
        self.likeliest = self.likeliest[kept]
        self.searched = [self.searched[number] for number in kept.tolist()]

    def ranked(self) -> Hypotheses:
        """The hypotheses to return for each session, best first."""
        return [
            sorted(
                sorted(each, key=_likelihood, reverse=True)[: self.beam],
                key=lambda one: -float(one["score"]),
            )
            for each in self.of_session
        ]


def _likelihood(hypothesis: Dict[str, Any]) -> float:
    return float(hypothesis["positional_scores"].sum())


def _hypothesis(tokens: Tensor, score: Tensor, positional_scores: Tensor) -> Dict[str, Any]:
    """A hypothesis in the form that fairseq's commands read."""
    return {
        "tokens": tokens,
        "score": score,
        "attention": torch.empty(0),
        "alignment": torch.empty(0),
        "positional_scores": positional_scores,
    }
