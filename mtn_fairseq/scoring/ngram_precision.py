"""`--scoring ngram_precision`: the paper's four precisions and BLEU, at the end of
`fairseq-generate`, in both ways to treat unknown words; the same figures as `mtn-evaluate` gives.
"""

from dataclasses import dataclass
from typing import Dict, List

from fairseq.dataclass import FairseqDataclass
from fairseq.scoring import BaseScorer, register_scorer

from .suggestion_scores import ORDERS, score_lists, signature
from .unknown_words import UNKNOWN


@dataclass
class NgramPrecisionConfig(FairseqDataclass):
    """No options: the registry of scorers wants a dataclass."""


@register_scorer("ngram_precision", dataclass=NgramPrecisionConfig)
class NgramPrecisionScorer(BaseScorer):
    """`fairseq-generate` gives it the first suggestion of each pair.

    A word that the model does not know is `<unk>` in a suggestion, but `<<unk>>` in a next query.
    """

    def score(self) -> float:
        """BLEU on raw text."""
        return self._figures(self.ref)["bleu"] if self.ref else 0.0

    def result_string(self) -> str:
        if not self.ref:
            return "no pairs"  # a shard may have none
        matching = [next_query.replace(f"<{UNKNOWN}>", UNKNOWN) for next_query in self.ref]
        return (
            f"{self._describe(self.ref)}; with {UNKNOWN} as a token, {self._describe(matching)}; "
            f"{signature()}"
        )

    def _describe(self, next_queries: List[str]) -> str:
        found = self._figures(next_queries)
        precisions = "/".join(f"{found[f'{order}-gram']:.2f}" for order in ORDERS)
        return f"1/2/3/4-gram {precisions}, BLEU {found['bleu']:.2f}"

    def _figures(self, next_queries: List[str]) -> Dict[str, float]:
        return score_lists([[suggestion] for suggestion in self.pred], next_queries)
