"""`--scoring ngram_precision`: the paper's four precisions and BLEU at the end of
`fairseq-generate`, with both treatments of unknown words. The figures equal those of
`mtn-evaluate`.
"""

from dataclasses import dataclass
from typing import Container, Dict, Optional, Sequence

from fairseq import utils
from fairseq.data import Dictionary
from fairseq.dataclass import FairseqDataclass
from fairseq.scoring import BaseScorer, register_scorer
from omegaconf import II

from mtn_evaluation.suggestion_scores import ORDERS, score_lists, signature
from mtn_evaluation.unknown_words import UNKNOWN, UnknownAsToken
from mtn_preprocess.text.word_pieces import has_pieces


@dataclass
class NgramPrecisionConfig(FairseqDataclass):
    """No options of its own: both locate the dictionary of the task."""

    data: str = II("task.data")
    target_lang: str = II("task.target_lang")


@register_scorer("ngram_precision", dataclass=NgramPrecisionConfig)
class NgramPrecisionScorer(BaseScorer):
    """Scores the first suggestion of each pair.

    An out-of-vocabulary word is `<unk>` in a suggestion, but `<<unk>>` in a next query. Models that
    copy show the word as it was typed, so the dictionary decides which words are unknown.
    """

    def score(self) -> float:
        """BLEU on raw text."""
        return _figures(self.pred, self.ref)["bleu"] if self.ref else 0.0

    def result_string(self) -> str:
        if not self.ref:
            return "no pairs"  # a shard may have none
        suggested = self.pred
        next_queries = [next_query.replace(f"<{UNKNOWN}>", UNKNOWN) for next_query in self.ref]
        folder = utils.split_paths(self.cfg.data)[0]
        known = _words(f"{folder}/dict.{self.cfg.target_lang}.txt")
        if known is not None:
            way = UnknownAsToken(known)
            suggested = list(map(way.suggestion, suggested))
            next_queries = list(map(way.next_query, next_queries))
        return (
            f"{_describe(self.pred, self.ref)}; with {UNKNOWN} as a token, "
            f"{_describe(suggested, next_queries)}; {signature()}"
        )


def _words(dictionary: str) -> Optional[Container[str]]:
    """The words of a dictionary; None if it has word pieces, because scores compare words."""
    symbols = Dictionary.load(dictionary).symbols
    return None if has_pieces(symbols) else frozenset(symbols)


def _describe(suggested: Sequence[str], next_queries: Sequence[str]) -> str:
    found = _figures(suggested, next_queries)
    precisions = "/".join(f"{found[f'{order}-gram']:.2f}" for order in ORDERS)
    return f"1/2/3/4-gram {precisions}, BLEU {found['bleu']:.2f}"


def _figures(suggested: Sequence[str], next_queries: Sequence[str]) -> Dict[str, float]:
    return score_lists([[suggestion] for suggestion in suggested], next_queries)
