"""How good ranked suggestions are; n-grams are counted by sacrebleu."""

from typing import Dict, Optional, Sequence

from sacrebleu.metrics import BLEU

from .generate_log import Suggestions


def rank_of_next_query(pair: Suggestions) -> Optional[int]:
    """1 where the first suggestion is what was asked next, None where no suggestion is."""
    return pair.ranked.index(pair.next_query) + 1 if pair.next_query in pair.ranked else None


def score(pairs: Sequence[Suggestions]) -> Dict[str, float]:
    """Percentages over all pairs: exact match, hit and mean reciprocal rank, BLEU, n-grams."""
    ranks = [rank_of_next_query(pair) for pair in pairs]
    # The text is tokenised already, and its words are what is counted.
    bleu = BLEU(tokenize="none", force=True).corpus_score(
        [pair.ranked[0] for pair in pairs], [[pair.next_query for pair in pairs]]
    )
    percent = 100 / len(pairs)
    return {
        "exact": percent * sum(rank == 1 for rank in ranks),
        "hit": percent * sum(rank is not None for rank in ranks),
        "mrr": percent * sum(1 / rank for rank in ranks if rank is not None),
        "bleu": bleu.score,
        **{f"{n}-gram": precision for n, precision in enumerate(bleu.precisions, 1)},
    }
